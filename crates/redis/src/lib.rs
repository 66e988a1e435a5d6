//! The commands of Redis over key/value tables: from the words of a command to the bytes of its reply.
//!
//! A database of Redis is a table in RocksDB of fixed columns ([`table`]), which SQL reads and writes too. A
//! [`Database`] is such a table with the locks of its keys; a [`Client`] is what a connection remembers. The server
//! gives a client the bytes that have arrived ([`Client::serve`]) and sends what it appends. It is a [`Host`]: it knows
//! the databases, the time, and the SQL tables whose rows have keys like `table:key`.
//!
//! # Durability
//!
//! [`Client::serve`] syncs the log once for all commands that it has run, before their replies can be sent, or leaves
//! that to [`Database::sync_log`]; see [`SyncPolicy`].
//!
//! # Concurrency
//!
//! A key belongs to one of the locks of its database. A command that changes keys has their locks alone, one that reads
//! several rows shares them. All changes of a command, or of a transaction in one database, are one batch of RocksDB, so
//! a reader of a single row needs no lock.
//!
//! # Not here
//!
//! No sockets, no passwords, no SQL: publish/subscribe, scripts and streams do not exist.

mod call;
mod client;
mod command;
mod commands;
mod cursors;
mod database;
mod failure;
mod glob;
mod host;
mod keyspace;
mod locks;
mod long_double;
mod number;
mod queue;
mod random;
mod rows_by_name;
mod state;
pub mod table;
mod transaction;

pub use client::Served;
pub use database::{Database, SyncPolicy};
pub use host::{ClientFacts, Host, RowTable, ServerFacts, Tables};
pub use state::{Client, Next};
