//! The rows of an EmbeddedRocksDB table: keys that are looked up, or a range of keys, in key order or its reverse.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::SortOptions;
use arrow::record_batch::RecordBatch;
use basalt_base::Result;
use basalt_base::query::carried;
use basalt_kv::{Direction, KeyRange, Store};
use tokio::sync::mpsc;

use super::reach::{Reach, reach};
use super::source::{BlockIterator, BlockSource, ScanRequest};
use crate::context::{ProfileEvents, QueryContext};

/// Keys of one look-up.
const KEYS_A_BLOCK: usize = 65_536;
/// Blocks that wait between a scan and its reader.
const BLOCKS_WAITING: usize = 2;

/// The rows that a scan of a store reads.
#[derive(Clone)]
pub(crate) struct KeyValueSource {
    store: Arc<Store>,
    rows: KeyValueRows,
    /// Positions of the columns of the blocks.
    columns: Vec<usize>,
    /// Positions of the key columns.
    key: Vec<usize>,
    query: Arc<QueryContext>,
}

#[derive(Clone)]
enum KeyValueRows {
    Keys { keys: Vec<ArrayRef>, partitions: usize },
    Range { range: KeyRange, direction: Direction, rows_max: usize },
}

impl KeyValueSource {
    /// The source that answers `request`; `key` are the positions of the key columns.
    pub(crate) fn of(
        store: Arc<Store>,
        key: &[usize],
        request: &ScanRequest,
    ) -> Result<Arc<dyn BlockSource>> {
        let rows = match reach(key, &request.conditions)? {
            Reach::Keys(keys) => KeyValueRows::Keys {
                partitions: request.query.threads().min(keys[0].len().div_ceil(KEYS_A_BLOCK)).max(1),
                keys,
            },
            Reach::Range(range) => {
                KeyValueRows::Range { range, direction: Direction::Ascending, rows_max: usize::MAX }
            }
        };
        let (columns, key, query) = (request.columns.clone(), key.to_vec(), Arc::clone(&request.query));
        Ok(Arc::new(KeyValueSource { store, rows, columns, key, query }))
    }

    /// The direction of the key in which rows are in this order of columns of the blocks; `None` if there is none. No
    /// column of a key is NULL.
    fn direction(&self, order: &[(usize, SortOptions)]) -> Option<Direction> {
        let is_descending = order.first()?.1.descending;
        let fits = |(own, (column, options)): (&usize, &(usize, SortOptions))| {
            self.columns.get(*column) == Some(own) && options.descending == is_descending
        };
        let is_order = order.len() <= self.key.len() && self.key.iter().zip(order).all(fits);
        is_order.then_some(if is_descending { Direction::Descending } else { Direction::Ascending })
    }
}

impl BlockSource for KeyValueSource {
    fn partition_count(&self) -> usize {
        match &self.rows {
            KeyValueRows::Keys { partitions, .. } => *partitions,
            KeyValueRows::Range { .. } => 1,
        }
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        match &self.rows {
            KeyValueRows::Keys { keys, partitions } => {
                let (source, keys) = (self.clone(), keys.clone());
                let starts = (0..keys[0].len()).step_by(KEYS_A_BLOCK).skip(partition).step_by(*partitions);
                Ok(Box::new(starts.map(move |start| {
                    let count = KEYS_A_BLOCK.min(keys[0].len() - start);
                    let slice: Vec<ArrayRef> = keys.iter().map(|key| key.slice(start, count)).collect();
                    ProfileEvents::add(&source.query.events.key_lookups, count as u64);
                    Ok(source.store.get(&slice, &source.columns, source.query.threads())?.rows)
                })))
            }
            KeyValueRows::Range { range, direction, rows_max } => {
                Ok(Box::new(scan_aside(self.clone(), range.clone(), *direction, *rows_max)))
            }
        }
    }

    fn rows_estimate(&self) -> Option<u64> {
        match &self.rows {
            KeyValueRows::Keys { keys, .. } => Some(keys[0].len() as u64),
            KeyValueRows::Range { rows_max, .. } => {
                let rows = self.store.approximate_rows().ok()?;
                Some(rows.min(u64::try_from(*rows_max).unwrap_or(u64::MAX)))
            }
        }
    }

    /// The estimate, for those who have asked for it.
    fn rows_exactly(&self) -> Option<u64> {
        match &self.rows {
            KeyValueRows::Range { range, rows_max: usize::MAX, .. }
                if range.is_all() && self.query.settings.optimize_trivial_approximate_count_query =>
            {
                self.rows_estimate()
            }
            _ => None,
        }
    }

    fn in_order(&self, order: &[(usize, SortOptions)]) -> Result<Option<Arc<dyn BlockSource>>> {
        let KeyValueRows::Range { range, rows_max, .. } = &self.rows else { return Ok(None) };
        let Some(direction) = self.direction(order).filter(|_| self.query.settings.optimize_read_in_order)
        else {
            return Ok(None);
        };
        let rows = KeyValueRows::Range { range: range.clone(), direction, rows_max: *rows_max };
        Ok(Some(Arc::new(KeyValueSource { rows, ..self.clone() })))
    }

    fn with_limit(&self, limit: usize) -> Result<Option<Arc<dyn BlockSource>>> {
        let KeyValueRows::Range { range, direction, rows_max } = &self.rows else { return Ok(None) };
        let rows = KeyValueRows::Range {
            range: range.clone(),
            direction: *direction,
            rows_max: limit.min(*rows_max),
        };
        Ok(Some(Arc::new(KeyValueSource { rows, ..self.clone() })))
    }

    fn describe(&self) -> String {
        match &self.rows {
            KeyValueRows::Keys { keys, .. } => format!("{} keys looked up", keys[0].len()),
            KeyValueRows::Range { range, direction, rows_max } => {
                let mut text = format!("keys {range}");
                if *direction == Direction::Descending {
                    text.push_str(", in reverse order");
                }
                if *rows_max < usize::MAX {
                    let _ = write!(text, ", the first {rows_max}");
                }
                text
            }
        }
    }
}

/// Scans on a thread of its own, which holds the snapshot; the blocks come through a channel.
fn scan_aside(
    source: KeyValueSource,
    range: KeyRange,
    direction: Direction,
    rows_max: usize,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let (sender, mut receiver) = mpsc::channel(BLOCKS_WAITING);
    let scan = move || {
        let blocks = match source.store.scan_in(&range, &source.columns, direction, rows_max) {
            Ok(blocks) => blocks,
            Err(error) => {
                // The receiver may be gone.
                let _ = sender.blocking_send(Err(error));
                return;
            }
        };
        for block in blocks {
            if sender.blocking_send(block).is_err() {
                return;
            }
        }
    };
    tokio::task::spawn_blocking(carried(scan));
    std::iter::from_fn(move || tokio::task::block_in_place(|| receiver.blocking_recv()))
}
