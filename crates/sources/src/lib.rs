//! I have the address of something outside: give me its rows, or its bytes.
//!
//! Other databases answer a query with rows of text ([`Rows`]); HTTP servers and programs answer with
//! bytes, which a format makes rows of elsewhere. Everything here blocks, and ends at its [`Limits`].
//!
//! - [`postgresql`], [`mysql`], [`redis`]: as much of their protocols as reading takes.
//! - [`sqlite`]: a file of SQLite.
//! - [`http`]: a request and the body of its answer.
//! - [`process`]: a program and what it writes.
//! - [`TlsOptions`]: how a connection is protected, whichever of them it is.
//!
//! # Not here
//!
//! Types: a row is text, as the other side writes it.

pub mod http;
mod limits;
pub mod mysql;
pub mod postgresql;
pub mod process;
pub mod redis;
mod row;
mod socket;
pub mod sqlite;
mod tls;

use std::path::PathBuf;

pub use limits::Limits;
pub use row::{Row, Rows};
pub use tls::{Identity, TlsMode, TlsOptions};

/// Where another database is, and who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
    /// A socket of this machine, in the place of host and port.
    pub socket: Option<PathBuf>,
    /// Of what travels, where the other side can: MySQL alone has it.
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
