//! `remote('host:port', database, table [, user [, password]])` and `remoteSecure`: a table of another ClickHouse or
//! Basalt server, over the native protocol.
//!
//! - `call`: the arguments; `addresses`: the servers that they name.
//! - `origin`: the table, or a table function there.
//! - `servers`: connections to shards, and to the first of their replicas that answers.
//! - `structure`: the columns of the table there.
//! - `table`, `scan`, `sink`: the table here, its rows, and an INSERT; `condition`: filters that the server applies.

mod addresses;
mod call;
mod condition;
mod origin;
mod scan;
mod servers;
mod sink;
mod structure;
mod table;

pub(super) use call::{Transport, remote};
