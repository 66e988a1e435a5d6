//! Changes that are made together.

use rocksdb::{WriteBatch, WriteBatchIterator};

/// Puts and deletes in order: of several changes of one key the last wins. Writing it keeps it, so that it may be
/// written again.
#[derive(Default)]
pub struct RawBatch {
    changes: WriteBatch,
}

/// A change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEntry<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
}

impl RawBatch {
    /// Sets the value of `key`, whether or not it has one.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.changes.put(key, value);
    }

    /// Removes `key`, if it is there.
    pub fn delete(&mut self, key: &[u8]) {
        self.changes.delete(key);
    }

    /// Removes all changes.
    pub fn clear(&mut self) {
        self.changes.clear();
    }

    /// Adds the changes of `other` after those that are there.
    pub fn append(&mut self, other: &RawBatch) {
        other.for_each(|entry| match entry {
            BatchEntry::Put { key, value } => self.put(key, value),
            BatchEntry::Delete { key } => self.delete(key),
        });
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Calls `visit` with each change, in order.
    pub fn for_each(&self, visit: impl FnMut(BatchEntry<'_>)) {
        self.changes.iterate(&mut Visitor(visit));
    }

    /// A copy for RocksDB, which takes a batch that it writes.
    pub(super) fn to_rocksdb(&self) -> WriteBatch {
        WriteBatch::from_data(self.changes.data())
    }
}

struct Visitor<F>(F);

impl<F: FnMut(BatchEntry<'_>)> WriteBatchIterator for Visitor<F> {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        (self.0)(BatchEntry::Put { key, value });
    }

    fn delete(&mut self, key: &[u8]) {
        (self.0)(BatchEntry::Delete { key });
    }
}
