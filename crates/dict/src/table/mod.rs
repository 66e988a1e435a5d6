//! The hash table of all hashed layouts: 64-bit hashes to payloads of up to eight bytes.
//!
//! - [`packed`]: one table: cells without padding, in order of hash.
//! - [`partitions`]: the rows of a table while it loads, and its construction.
//! - [`sharded`]: several tables, each loaded by its own thread, that answer as one.

mod packed;
mod partitions;
mod sharded;

pub(crate) use packed::PackedTable;
pub(crate) use partitions::Partitions;
pub(crate) use sharded::{ShardedTable, SortedShards, TableBuilder, TableShape};

/// What a lookup of a block of keys found: one entry a key.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// The payload of the key, 0 where it is missing.
    pub(crate) payloads: Vec<u64>,
    pub(crate) found: Vec<bool>,
}

impl Hits {
    pub(crate) fn with_capacity(keys: usize) -> Hits {
        Hits { payloads: Vec::with_capacity(keys), found: Vec::with_capacity(keys) }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, payload: Option<u64>) {
        self.payloads.push(payload.unwrap_or_default());
        self.found.push(payload.is_some());
    }
}
