//! Clients of outside data: databases, HTTP servers, programs.
//!
//! Other databases answer a query with rows of text ([`RowStream`]), ClickHouse and Basalt with blocks; HTTP servers and
//! programs answer with bytes, which a format turns into rows elsewhere. Everything here blocks, within its [`Limits`]
//! and until the query of the thread is killed.
//!
//! - [`clickhouse`]: blocks from and to other servers of the native protocol.
//! - [`postgresql`], [`mysql`], [`redis`]: the parts of their protocols that reading needs.
//! - [`sqlite`]: a file of SQLite.
//! - [`http`]: a request and the body of its answer.
//! - [`process`]: a program and what it writes.
//! - [`TlsOptions`]: the TLS of a connection, for every client.
//!
//! # Not here
//!
//! Types: a row is text, as the other side wrote it, and a block has the types that it says.

pub mod clickhouse;
pub mod http;
mod limits;
pub mod mysql;
pub mod postgresql;
pub mod process;
pub mod redis;
mod row;
mod socket;
pub mod sqlite;
mod timed;
mod tls;

use std::path::PathBuf;

pub use limits::Limits;
pub use row::{Row, RowStream};
pub use tls::{Identity, TlsMode, TlsOptions};

/// The address of another database, and the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
    /// A Unix socket, instead of host and port.
    pub socket: Option<PathBuf>,
    /// The name under which ClickHouse counts the use of a quota.
    pub quota_key: String,
    /// Compress the connection if the server can; only MySQL supports it.
    pub compression: bool,
    pub tls: TlsOptions,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.socket {
            Some(path) => write!(f, "{}", path.display()),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
