//! Connections: an engine in this process, or a server.
//!
//! The shell and the scripts know only [`Connection`], so that both behave the same on either.

mod http;
mod interrupt;
mod local;
mod native;
mod statement;

pub(crate) use http::{HttpConnection, HttpOptions};
pub(crate) use local::LocalConnection;
pub(crate) use native::{NativeConnection, NativeOptions};
use statement::{COMPLETION_QUERIES, cancelled_by_user};
pub(crate) use statement::{Connection, Finished, Statement};
