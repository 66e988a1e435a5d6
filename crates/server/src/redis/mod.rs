//! The protocol of Redis (RESP): connections, logins and what INFO and CLIENT LIST tell. The commands are in the crate
//! `redis`, and what they reach in [`basalt_engine::RedisUser`].
//!
//! - [`protocol`]: a connection from its first command to its end.
//! - [`host`]: the server as the commands of one connection see it.
//! - [`clients`]: the open connections.
//!
//! # Concurrency
//!
//! Commands run on threads of sockets that serve Redis alone: a read takes less time than a change of threads.

mod clients;
mod host;
mod protocol;

pub(crate) use protocol::{Redis, maintain};
