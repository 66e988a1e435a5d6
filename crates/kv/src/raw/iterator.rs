//! A position among the keys of a store, in their order.

use std::sync::Arc;

use basalt_base::Result;
use rocksdb::{DB, DBRawIteratorWithThreadMode};
use self_cell::self_cell;

use super::reading::{RawSnapshot, ReadOptions};
use super::store::RawStore;

type RocksdbIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

/// The store, and the snapshot if the iterator reads one.
struct Read {
    store: Arc<RawStore>,
    _snapshot: Option<Arc<RawSnapshot>>,
}

self_cell!(
    struct OwnedIterator {
        owner: Read,

        #[covariant]
        dependent: RocksdbIterator,
    }
);

/// An iterator over the keys as they were when it was made. It begins at no key: seek first. A step beyond either end
/// leaves it at no key, and so does an error, which [`RawIterator::status`] returns.
pub struct RawIterator(OwnedIterator);

impl RawIterator {
    pub(super) fn new(store: &Arc<RawStore>, options: &ReadOptions) -> Result<RawIterator> {
        let rocksdb = options.to_rocksdb(store)?;
        let read = Read { store: Arc::clone(store), _snapshot: options.snapshot.clone() };
        Ok(RawIterator(OwnedIterator::new(read, |read| read.store.db().raw_iterator_opt(rocksdb))))
    }

    /// Whether it is at a key.
    pub fn is_valid(&self) -> bool {
        self.0.borrow_dependent().valid()
    }

    pub fn seek_to_first(&mut self) {
        self.0.with_dependent_mut(|_, rows| rows.seek_to_first());
    }

    pub fn seek_to_last(&mut self) {
        self.0.with_dependent_mut(|_, rows| rows.seek_to_last());
    }

    /// Moves to the first key that is not before `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.0.with_dependent_mut(|_, rows| rows.seek(key));
    }

    /// Moves to the next key. At no key it does nothing.
    pub fn next(&mut self) {
        self.0.with_dependent_mut(|_, rows| rows.next());
    }

    /// Moves to the previous key. At no key it does nothing.
    pub fn prev(&mut self) {
        self.0.with_dependent_mut(|_, rows| rows.prev());
    }

    /// `None` at no key.
    pub fn key(&self) -> Option<&[u8]> {
        self.0.borrow_dependent().key()
    }

    /// `None` at no key.
    pub fn value(&self) -> Option<&[u8]> {
        self.0.borrow_dependent().value()
    }

    /// The error that left the iterator at no key, if it was one.
    pub fn status(&self) -> Result<()> {
        let store = &self.0.borrow_owner().store;
        self.0.borrow_dependent().status().map_err(|error| store.failed("reading in key order", &error))
    }
}
