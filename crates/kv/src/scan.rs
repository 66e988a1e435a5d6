//! Rows in key order, a batch at a time.

use arrow::array::RecordBatch;
use basalt_base::Result;
use rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions};

use crate::range::KeyRange;
use crate::row_assembler::RowAssembler;
use crate::snapshot::Direction;
use crate::store::Store;

const BATCH_ROWS: usize = 8192;
/// A batch ends at this size even if it has few rows.
const BATCH_BYTES: usize = 16 << 20;

/// Batches of a range's rows from a snapshot at the start of the scan.
pub struct Scan<'a> {
    store: &'a Store,
    /// `None` at the end, or if the range is empty.
    rows: Option<DBRawIteratorWithThreadMode<'a, DB>>,
    direction: Direction,
    /// Rows that are still wanted.
    left: usize,
    assembler: RowAssembler,
}

impl Store {
    /// The columns at `projection` of the rows in `range`, in key order.
    pub fn scan(&self, range: &KeyRange, projection: &[usize]) -> Result<Scan<'_>> {
        self.scan_in(range, projection, Direction::Ascending, usize::MAX)
    }

    /// The columns at `projection` of the first `rows_max` rows in `range`, in key order or its reverse.
    pub fn scan_in(
        &self,
        range: &KeyRange,
        projection: &[usize],
        direction: Direction,
        rows_max: usize,
    ) -> Result<Scan<'_>> {
        let spec = self.spec();
        let assembler = RowAssembler::new(&spec, projection)?;
        let rows = range.encode(&spec.key_encoder()?)?.map(|range| {
            let mut options = ReadOptions::default();
            // A pass over many blocks would evict the blocks that lookups need.
            options.fill_cache(false);
            options.set_auto_readahead_size(true);
            options.set_iterate_lower_bound(range.lower.as_slice());
            if let Some(upper) = range.upper {
                options.set_iterate_upper_bound(upper);
            }
            let mut rows = self.db().raw_iterator_opt(options);
            match direction {
                Direction::Ascending => rows.seek(range.lower),
                Direction::Descending => rows.seek_to_last(),
            }
            rows
        });
        Ok(Scan { store: self, rows, direction, left: rows_max, assembler })
    }
}

impl Scan<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let mut bytes = 0;
        let rows_max = BATCH_ROWS.min(self.left);
        while self.assembler.len() < rows_max && bytes < BATCH_BYTES {
            let Some((key, row)) = rows.item() else {
                let status = rows.status();
                self.rows = None;
                status.map_err(|error| self.store.failed("scanning rows", &error))?;
                break;
            };
            if !self.store.is_expired(row) {
                self.assembler.push(key, row).map_err(|corrupt| corrupt.at(self.store.path(), key))?;
                bytes += key.len() + row.len();
            }
            match self.direction {
                Direction::Ascending => rows.next(),
                Direction::Descending => rows.prev(),
            }
        }
        self.left -= self.assembler.len();
        if self.assembler.is_empty() { Ok(None) } else { self.assembler.finish().map(Some) }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.next_batch().transpose();
        if matches!(batch, Some(Err(_))) {
            self.rows = None;
        }
        batch
    }
}
