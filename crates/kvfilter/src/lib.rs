//! I have a filter of my own: have RocksDB make it of the keys of each file, and ask it before it reads the file.
//!
//! RocksDB's C API, and with it the crate `rocksdb`, has RocksDB's own filters only. Here is the class of C++ behind any
//! [`FilterPolicy`]. It is a crate of its own because it needs `unsafe`, which the crate `kv` does not have.
//!
//! # Invariants
//!
//! - **A filter is asked by its maker**: RocksDB stores the policy's name with a filter. Files with filters of another
//!   name are read without them.
//! - **A panic is no answer**: a policy that panics makes no filter, and a filter that panics may have every key.

mod calls;

#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::sync::Arc;

use rocksdb::Options;

/// A summary of the keys of a file: it says that the file cannot have a key. Called by several threads at once.
pub trait FilterPolicy: Send + Sync {
    /// It is stored with each filter. A policy that reads filters in another way needs another name.
    fn name(&self) -> &CStr;

    /// The filter of a file with these keys, in the order of the database and without duplicates; `None` for no filter.
    fn create(&self, keys: &[&[u8]]) -> Option<Vec<u8>>;

    /// Whether `key` may be among the keys that `filter` was made of. `false` hides the key of that file.
    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool;
}

/// Gives the block-based tables of `options` this policy. Returns `false` if the options have tables of another kind.
/// Call it after the table format is set; the options keep the policy.
#[must_use]
pub fn set_filter_policy(options: &mut Options, policy: Arc<dyn FilterPolicy>) -> bool {
    calls::set(options, policy)
}
