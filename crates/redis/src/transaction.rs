//! The rows of a database with the changes of a command, or of several, that are not written yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;
use std::sync::Arc;

use basalt_base::Result;
use basalt_kv::encoding::StoredRow;
use basalt_kv::{ByteRange, Direction, Durability, RowBatch, Store};

/// Rows by encoded key.
pub(crate) struct Transaction {
    store: Arc<Store>,
    /// The new row of a key, or `None` if it has none any more.
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Ranges whose stored rows are gone.
    gone: Vec<ByteRange>,
    /// The keys of Redis that were changed.
    pub(crate) changed_keys: Vec<Vec<u8>>,
    /// Milliseconds since 1970, the same for all commands of a transaction.
    pub(crate) now: u64,
}

/// Whether a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Stop,
}

impl Transaction {
    pub(crate) fn new(store: Arc<Store>, now: u64) -> Transaction {
        Transaction { store, changes: BTreeMap::new(), gone: Vec::new(), changed_keys: Vec::new(), now }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.gone.is_empty()
    }

    /// Calls `visit` with the row of a key.
    pub(crate) fn get<T>(&self, key: &[u8], visit: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        if !self.is_empty() {
            match self.changes.get(key) {
                Some(Some(row)) => return Ok(Some(visit(row))),
                Some(None) => return Ok(None),
                None if self.is_gone(key) => return Ok(None),
                None => {}
            }
        }
        let row = self.store.row(key)?;
        Ok(row.and_then(|row| match row.row() {
            StoredRow::Row(row) => Some(visit(row)),
            StoredRow::Tombstone => None,
        }))
    }

    pub(crate) fn has(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key, |_| ())?.is_some())
    }

    pub(crate) fn put(&mut self, key: Vec<u8>, row: Vec<u8>) {
        self.changes.insert(key, Some(row));
    }

    pub(crate) fn delete(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }

    /// Removes all rows of a range.
    pub(crate) fn delete_range(&mut self, range: ByteRange) {
        let inside: Vec<Vec<u8>> = changes_in(&self.changes, &range).map(|(key, _)| key.clone()).collect();
        inside.iter().for_each(|key| drop(self.changes.remove(key)));
        self.gone.push(range);
    }

    /// Calls `visit` with the rows of a range in order, until it stops.
    pub(crate) fn scan<E: From<basalt_base::Error>>(
        &self,
        range: &ByteRange,
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<Flow, E>,
    ) -> Result<(), E> {
        let mut rows = self.store.encoded_rows(range, direction);
        let mut changes = changes_in(&self.changes, range);
        let next_change = |changes: &mut Range<'_, Vec<u8>, Option<Vec<u8>>>| match direction {
            Direction::Ascending => changes.next().map(|(key, row)| (key.clone(), row.clone())),
            Direction::Descending => changes.next_back().map(|(key, row)| (key.clone(), row.clone())),
        };
        let mut change = next_change(&mut changes);
        loop {
            let stored = rows.current()?;
            let flow = match (&stored, &change) {
                (None, None) => return Ok(()),
                (Some((key, row)), other)
                    if other.as_ref().is_none_or(|(changed, _)| direction.compare(key, changed).is_lt()) =>
                {
                    let flow = match row {
                        StoredRow::Row(row) if !self.is_gone(key) => visit(key, row)?,
                        _ => Flow::Next,
                    };
                    rows.advance();
                    flow
                }
                (_, Some((key, row))) => {
                    let flow = match row {
                        Some(row) => visit(key, row)?,
                        None => Flow::Next,
                    };
                    if stored.is_some_and(|(stored, _)| stored == key.as_slice()) {
                        rows.advance();
                    }
                    change = next_change(&mut changes);
                    flow
                }
                (Some(_), None) => return Ok(()),
            };
            if flow == Flow::Stop {
                return Ok(());
            }
        }
    }

    /// Writes all changes at once. Returns whether there were any.
    pub(crate) fn write(&mut self, sync: Durability) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let mut batch = RowBatch::default();
        for range in self.gone.drain(..) {
            batch.delete_range(&range.lower, range.upper.as_deref().unwrap_or_default());
        }
        for (key, row) in std::mem::take(&mut self.changes) {
            match row {
                Some(row) => batch.put(&key, &row),
                None => batch.delete(&key),
            }
        }
        self.store.write_rows(batch, sync)?;
        Ok(true)
    }

    fn is_gone(&self, key: &[u8]) -> bool {
        self.gone.iter().any(|range| {
            range.lower.as_slice() <= key && range.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
        })
    }
}

fn changes_in<'a>(
    changes: &'a BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    range: &ByteRange,
) -> Range<'a, Vec<u8>, Option<Vec<u8>>> {
    let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    changes.range::<[u8], _>((Bound::Included(range.lower.as_slice()), upper))
}
