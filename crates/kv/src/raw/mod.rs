//! Keys and values that are bytes and mean nothing to the database: a RocksDB without columns, as LevelDB's API has it.
//!
//! A [`RawStore`] is a directory of plain RocksDB files that any program with RocksDB can read. The C library of the
//! crate `leveldb` is a thin layer over this module.
//!
//! # Example
//!
//! ```
//! use basalt_kv::raw::{RawBatch, RawOptions, RawStore, ReadOptions, WriteOptions};
//!
//! # fn main() -> basalt_base::Result<()> {
//! # let place = tempfile::tempdir().expect("a directory");
//! # let dir = place.path().join("fruit");
//! let options = RawOptions { create_if_missing: true, ..RawOptions::default() };
//! let store = RawStore::open(&dir, &options)?;
//! store.put(b"apple", b"red", WriteOptions::default())?;
//!
//! let before = store.snapshot();
//! let mut batch = RawBatch::default();
//! batch.put(b"pear", b"green");
//! batch.delete(b"apple");
//! store.write(&batch, WriteOptions { sync: true })?;
//!
//! assert_eq!(store.get(b"apple", &ReadOptions::default(), <[u8]>::to_vec)?, None);
//! let old = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
//! assert_eq!(store.get(b"apple", &old, <[u8]>::to_vec)?.as_deref(), Some(&b"red"[..]));
//!
//! let mut rows = store.iterator(&ReadOptions::default())?;
//! rows.seek(b"b");
//! assert_eq!((rows.key(), rows.value()), (Some(&b"pear"[..]), Some(&b"green"[..])));
//! rows.next();
//! assert!(!rows.is_valid());
//! rows.status()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Durability
//!
//! A change is in the log when its call returns: it survives the end of the process. With [`WriteOptions::sync`] the log
//! is synced too, and the change and all before it survive the end of the machine. A batch is atomic.
//!
//! # Concurrency
//!
//! A store has one process. Its threads may call all methods at the same time; an iterator has one thread at a time.
//! Iterators and snapshots keep the store open.
//!
//! # Not here
//!
//! No record of what was acknowledged, as a [`Store`](crate::Store) has it: after damage, RocksDB's own checks decide.

mod batch;
mod error;
mod foreign;
mod iterator;
mod options;
mod reading;
mod store;

#[cfg(test)]
mod tests;

pub use basalt_kvfilter::FilterPolicy;
pub use batch::{BatchEntry, RawBatch};
pub use iterator::RawIterator;
pub use options::{Comparator, Compression, Filter, RawCache, RawOptions};
pub use reading::{RawSnapshot, ReadOptions};
pub use store::{RawStore, WriteOptions};
