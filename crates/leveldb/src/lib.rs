//! I am a program for LevelDB: give me its C functions over Basalt's key/value stores.
//!
//! The functions of include/leveldb/c.h, which documents them, and nothing else: no logic of storage. A database is a raw
//! store of the crate `kv`, or a Succinct table of one String by another. `make kv-library`
//! makes a shared and a static library of this crate; they have RocksDB's own C functions too. docs/kv-library.md is
//! the guide.
//!
//! # Invariants
//!
//! - **No panic crosses the border**: [`border`] turns it into an error, or into the answer of an empty database.
//! - **NULL is no crash**: a pointer that may not be NULL gives an error where the function has one, and otherwise
//!   nothing is done. So parameters are `Option<&T>` and `Option<Box<T>>`, which have the ABI of a pointer.
//! - **What is returned is the caller's**: values, errors and texts are of `malloc`, handles are boxes.
//! - **A handle that is gone is not used**: options refer weakly to snapshots, comparators and filter policies.
//!
//! # Safety
//!
//! Every function with a raw pointer is unsafe in the same way. A pointer is NULL or what the header says: a text that
//! ends with NUL, or an address with the number of bytes that comes with it. A reference or a box is NULL or a handle
//! of its type that is not destroyed, and one thread at a time has those that a function changes.

mod background;
mod batch;
mod border;
mod cache;
mod comparator;
mod database;
mod env;
mod filter;
mod handle;
mod iterator;
mod management;
mod options;
mod reading;
mod succinct;
mod version;

#[cfg(test)]
mod tests;
