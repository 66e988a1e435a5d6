//! Rows in key order, a batch at a time.

use arrow::array::RecordBatch;
use basalt_base::Result;
use rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions};

use crate::range::KeyRange;
use crate::row_assembler::RowAssembler;
use crate::store::Store;

const BATCH_ROWS: usize = 8192;
/// A batch ends at this size even if it has few rows.
const BATCH_BYTES: usize = 16 << 20;

/// Batches of a range's rows from a snapshot at the start of the scan.
pub struct Scan<'a> {
    store: &'a Store,
    /// `None` at the end, or if the range is empty.
    rows: Option<DBRawIteratorWithThreadMode<'a, DB>>,
    assembler: RowAssembler,
}

impl Store {
    /// The columns at `projection` of the rows in `range`, in key order.
    pub fn scan(&self, range: &KeyRange, projection: &[usize]) -> Result<Scan<'_>> {
        let spec = self.spec();
        let assembler = RowAssembler::new(&spec, projection)?;
        let rows = range.encode(&spec.key_encoder()?)?.map(|range| {
            let mut options = ReadOptions::default();
            // A pass over many blocks would evict the blocks that lookups need.
            options.fill_cache(false);
            options.set_auto_readahead_size(true);
            if let Some(upper) = range.upper {
                options.set_iterate_upper_bound(upper);
            }
            let mut rows = self.db().raw_iterator_opt(options);
            rows.seek(range.lower);
            rows
        });
        Ok(Scan { store: self, rows, assembler })
    }
}

impl Scan<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let mut bytes = 0;
        while self.assembler.len() < BATCH_ROWS && bytes < BATCH_BYTES {
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
            rows.next();
        }
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
