//! Commands through [`basalt_redis::Client`], alone and against redis-server.

mod against_redis;
mod behaviour;
mod crash;
mod host;
