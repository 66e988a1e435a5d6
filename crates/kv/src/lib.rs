//! I have a key: give me the row, change the row, durably.
//!
//! [`Store`] is one table in one RocksDB: rows of typed columns, some of which are the key. Inserting a
//! present key replaces its row.
//!
//! # On disk
//!
//! A row is one RocksDB entry. Its key is the key columns, encoded so that byte order is logical order
//! ([`key_encoding`]); its value is the other columns in a row format of our own ([`row_encoding`]).
//!
//! # Durability
//!
//! When [`Store::insert`] or [`Store::delete`] returns, the change is in the synced write-ahead log; a
//! batch is there whole or not at all. [`Store::insert_bulk`] writes sorted files beside the table and
//! takes them in together at the end.
//!
//! # Not here
//!
//! No SQL, no planning: the engine turns conditions into keys and [`KeyRange`]s.

mod bulk;
mod columns;
mod error;
mod key_encoding;
mod lookup;
mod options;
mod range;
mod row_encoding;
mod scan;
mod spec;
mod statistics;
mod store;
mod write;

#[cfg(test)]
mod model;

pub use lookup::Found;
pub use options::{KvOptions, SharedCache};
pub use range::KeyRange;
pub use scan::Scan;
pub use spec::KvSpec;
pub use store::Store;
