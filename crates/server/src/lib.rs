//! How does a program reach it over a socket? The interfaces of an open [`basalt_engine::Engine`].
//!
//! [`Server::bind`] takes the ports, [`Server::run`] answers until it is stopped. `http` is the HTTP interface, `native`
//! ClickHouse's native protocol, `postgres` the protocol of PostgreSQL, `redis` that of Redis; `tls` encrypts them; `sessions` holds sessions that outlive a request; `users` says who may come in.
//!
//! # Concurrency
//!
//! Sockets have threads of their own: connections, heads, bodies, `/ping`. Statements run on the runtime that the
//! engine was opened in and pass on their answers piece by piece. A slow client therefore blocks no thread, and no
//! query delays other clients.
//!
//! # Limits
//!
//! The HTTP library refuses a URL over 64 KiB (414) and a head over 128 KiB (431). A body has no limit: it streams
//! into the engine, with backpressure. `connections` defines the maximum number of connections, and how long a client
//! may make the server wait.
//!
//! # Not here
//!
//! No SQL, no formats, no storage: a request is converted to [`basalt_engine::Request`], and an
//! [`basalt_engine::Outcome`] to a response.

mod connections;
mod guesses;
mod http;
mod native;
mod options;
mod password;
mod ports;
mod postgres;
mod redis;
mod server;
mod sessions;
mod shared;
mod tls;
mod users;
mod waits;

pub use crate::options::{RedisSync, ServerOptions};
pub use crate::password::Password;
pub use crate::ports::{Port, Ports};
pub use crate::server::Server;
pub use crate::tls::{ClientVerification, TlsOptions};
