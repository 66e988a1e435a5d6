//! Encoded rows, one at a time: for callers that know the encoding and want no arrays.

use basalt_base::Result;
use rocksdb::{DB, DBPinnableSlice, DBRawIteratorWithThreadMode, ReadOptions, WriteBatch};

use crate::database::Durability;
use crate::range::ByteRange;
use crate::row_encoding::StoredRow;
use crate::snapshot::Direction;
use crate::store::Store;

/// A row in RocksDB's own memory.
pub struct PinnedRow<'a>(DBPinnableSlice<'a>);

/// Encoded puts and deletes that are written at once. Of several changes of a key the last wins.
#[derive(Default)]
pub struct RowBatch {
    changes: WriteBatch,
}

/// The rows of a range, in the order of their encoded keys or in its reverse.
pub struct EncodedRows<'a> {
    store: &'a Store,
    rows: DBRawIteratorWithThreadMode<'a, DB>,
    direction: Direction,
}

impl PinnedRow<'_> {
    pub fn row(&self) -> StoredRow<'_> {
        StoredRow::of(&self.0)
    }
}

impl RowBatch {
    pub fn put(&mut self, key: &[u8], row: &[u8]) {
        self.changes.put(key, row);
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.changes.delete(key);
    }

    /// Removes the rows from `lower` to before `upper`.
    pub fn delete_range(&mut self, lower: &[u8], upper: &[u8]) {
        self.changes.delete_range(lower, upper);
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl Store {
    /// The row of an encoded key.
    pub fn row(&self, key: &[u8]) -> Result<Option<PinnedRow<'_>>> {
        let row = self.db().get_pinned(key).map_err(|error| self.failed("looking up a key", &error))?;
        Ok(row.filter(|row| !self.is_expired(row)).map(PinnedRow))
    }

    /// The rows of a range as they are now, from its beginning, or from its end in the reverse order.
    pub fn encoded_rows(&self, range: &ByteRange, direction: Direction) -> EncodedRows<'_> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(range.lower.as_slice());
        if let Some(upper) = &range.upper {
            options.set_iterate_upper_bound(upper.as_slice());
        }
        let mut rows = self.db().raw_iterator_opt(options);
        match direction {
            Direction::Ascending => rows.seek(&range.lower),
            Direction::Descending => rows.seek_to_last(),
        }
        EncodedRows { store: self, rows, direction }
    }

    /// Makes all changes of `batch` at once.
    pub fn write_rows(&self, batch: RowBatch, sync: Durability) -> Result<()> {
        self.database().check_writable()?;
        match sync {
            Durability::Synced => self.database().write(batch.changes, "changing rows"),
            Durability::Logged => self.database().write_unsynced(batch.changes, "changing rows"),
        }
    }

    /// Makes all changes so far durable.
    pub fn sync_log(&self) -> Result<()> {
        self.database().sync_log()
    }
}

impl EncodedRows<'_> {
    /// The current key and row; `None` at the end.
    pub fn current(&self) -> Result<Option<(&[u8], StoredRow<'_>)>> {
        match self.rows.item() {
            Some((key, row)) => Ok(Some((key, StoredRow::of(row)))),
            None => {
                let status = self.rows.status();
                status.map(|()| None).map_err(|error| self.store.failed("scanning rows", &error))
            }
        }
    }

    pub fn advance(&mut self) {
        if !self.rows.valid() {
            return;
        }
        match self.direction {
            Direction::Ascending => self.rows.next(),
            Direction::Descending => self.rows.prev(),
        }
    }

    /// Moves to the first row not before `key`, in the order of this.
    pub fn seek(&mut self, key: &[u8]) {
        match self.direction {
            Direction::Ascending => self.rows.seek(key),
            Direction::Descending => self.rows.seek_for_prev(key),
        }
    }
}
