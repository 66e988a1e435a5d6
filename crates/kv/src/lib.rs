//! A key/value table: rows by key, read and changed durably.
//!
//! [`Store`] is one table in one RocksDB: rows of typed columns, some of which are the key. Inserting an existing
//! key replaces its row. [`Database`] is a RocksDB with several families of such rows, for a table that keeps
//! generations of them; [`encoding`] has what it needs to read their keys and rows. [`raw`] is a RocksDB without
//! columns: its keys and values are bytes.
//!
//! # On disk
//!
//! A row is one RocksDB entry. Its key is the key columns, encoded so that byte order is value order
//! ([`key_encoding`]); its value is the other columns in our own row format ([`row_encoding`]).
//!
//! # Durability
//!
//! When [`Store::insert`], [`Load::commit`] or [`Store::delete`] returns, the change is durable and complete. Few
//! rows are one batch in the synced write-ahead log; many rows are sorted files, written and synced outside the
//! table and ingested together. Without [`KvOptions::syncs_log`], and with [`Durability::Logged`], few rows are durable
//! after [`Database::sync_log`]. A store whose files lack acknowledged changes is refused, not opened without them;
//! [`Store::restore`] saves what can be read.
//!
//! # Not here
//!
//! No SQL, no planning: the engine turns conditions into keys and [`KeyRange`]s.

mod check;
mod columns;
mod database;
pub mod encoding;
mod error;
mod finder;
mod key_encoding;
mod load;
mod lookup;
mod options;
mod range;
pub mod raw;
mod recovery;
mod reopening;
mod row_assembler;
mod row_encoding;
mod rows;
mod run;
mod scan;
mod snapshot;
mod spec;
mod statistics;
mod store;
mod string_row;
mod write;

#[cfg(test)]
mod model;

pub use database::{Database, Durability};
pub use load::Load;
pub use lookup::Found;
pub use options::{KvOptions, SharedCache};
pub use range::{ByteRange, KeyRange};
pub use reopening::{OpenFor, OverRocksdb, Reopening, ReopeningStore};
pub use rows::{EncodedRows, PinnedRow, RowBatch};
pub use scan::Scan;
pub use snapshot::{Direction, FamilyRows, Snapshot};
pub use spec::{ComputedDefault, KvSpec};
pub use store::Store;
