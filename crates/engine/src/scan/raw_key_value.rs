//! The rows of a RocksDB of bytes: keys that are looked up, or a range of keys, in key order or its reverse.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder};
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result, SqlType};
use basalt_kv::encoding::KeyEncoder;
use basalt_kv::raw::{RawIterator, RawStore, ReadOptions};
use basalt_kv::{ByteRange, Direction, Found};

use super::reach::{Reach, reach};
use super::source::{BlockIterator, BlockSource, ScanRequest};
use crate::context::{ProfileEvents, QueryContext};

const BATCH_ROWS: usize = 8192;
/// A block ends at this size even if it has few rows.
const BATCH_BYTES: usize = 16 << 20;

#[derive(Clone)]
enum RawRows {
    /// The keys, once each and ascending.
    Keys(ArrayRef),
    /// No range is one without keys.
    Range { range: Option<ByteRange>, text: String },
}

/// The rows that a scan reads.
#[derive(Clone)]
pub(crate) struct RawSource {
    store: Arc<RawStore>,
    rows: RawRows,
    direction: Direction,
    rows_max: usize,
    columns: Vec<usize>,
    key: usize,
    schema: SchemaRef,
    query: Arc<QueryContext>,
}

impl RawSource {
    /// The source that answers `request`; `key` is the position of the key column.
    pub(crate) fn of(
        store: Arc<RawStore>,
        key: [usize; 1],
        request: &ScanRequest,
    ) -> Result<Arc<dyn BlockSource>> {
        let rows = match reach(&key, &request.conditions)? {
            Reach::Keys(keys) => RawRows::Keys(Arc::clone(&keys[0])),
            Reach::Range(range) => {
                // The encoding of a key of one string is its bytes.
                let encoder = KeyEncoder::new([&SqlType::String].into_iter())?;
                RawRows::Range { range: range.encode(&encoder)?, text: range.to_string() }
            }
        };
        let schema = request.stored.to_arrow().project(&request.columns).map_err(Error::logical)?;
        Ok(Arc::new(RawSource {
            store,
            rows,
            direction: Direction::Ascending,
            rows_max: usize::MAX,
            columns: request.columns.clone(),
            key: key[0],
            schema: Arc::new(schema),
            query: Arc::clone(&request.query),
        }))
    }
}

impl BlockSource for RawSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        match &self.rows {
            RawRows::Keys(keys) => {
                ProfileEvents::add(&self.query.events.key_lookups, keys.len() as u64);
                let found = look_up(&self.store, keys, &self.columns, self.key, Arc::clone(&self.schema));
                Ok(Box::new(std::iter::once(found.map(|found| found.rows))))
            }
            RawRows::Range { range: None, .. } => Ok(Box::new(std::iter::empty())),
            RawRows::Range { range: Some(range), .. } => {
                let mut rows =
                    self.store.iterator(&ReadOptions { fill_cache: false, ..ReadOptions::default() })?;
                seek(&mut rows, range, self.direction);
                Ok(Box::new(RawBlocks { rows: Some(rows), range: range.clone(), source: self.clone() }))
            }
        }
    }

    fn in_order(&self, order: &[(usize, SortOptions)]) -> Result<Option<Arc<dyn BlockSource>>> {
        let [(column, options)] = order else { return Ok(None) };
        let fits = self.columns.get(*column) == Some(&self.key) && self.query.settings.optimize_read_in_order;
        if !fits || matches!(self.rows, RawRows::Keys(_)) {
            return Ok(None);
        }
        let direction = if options.descending { Direction::Descending } else { Direction::Ascending };
        Ok(Some(Arc::new(RawSource { direction, ..self.clone() })))
    }

    fn with_limit(&self, limit: usize) -> Result<Option<Arc<dyn BlockSource>>> {
        Ok(Some(Arc::new(RawSource { rows_max: limit.min(self.rows_max), ..self.clone() })))
    }

    fn describe(&self) -> String {
        match &self.rows {
            RawRows::Keys(keys) => format!("{} keys looked up", keys.len()),
            RawRows::Range { text, .. } => format!("keys {text}"),
        }
    }
}

/// Goes to the first row in this direction.
fn seek(rows: &mut RawIterator, range: &ByteRange, direction: Direction) {
    match (direction, &range.upper) {
        (Direction::Ascending, _) => rows.seek(&range.lower),
        (Direction::Descending, None) => rows.seek_to_last(),
        (Direction::Descending, Some(upper)) => {
            rows.seek(upper);
            if rows.is_valid() { rows.prev() } else { rows.seek_to_last() }
        }
    }
}

/// The blocks of a range.
struct RawBlocks {
    /// `None` after the last row.
    rows: Option<RawIterator>,
    range: ByteRange,
    source: RawSource,
}

impl RawBlocks {
    fn next_block(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let mut block = Block::new(&self.source.columns, self.source.key);
        let rows_max = BATCH_ROWS.min(self.source.rows_max);
        let mut is_last = rows_max == 0;
        while block.rows < rows_max && block.bytes < BATCH_BYTES {
            let is_inside = |key: &[u8]| match (self.source.direction, &self.range.upper) {
                (Direction::Descending, _) => key >= self.range.lower.as_slice(),
                (Direction::Ascending, Some(upper)) => key < upper.as_slice(),
                (Direction::Ascending, None) => true,
            };
            let (Some(key), Some(value)) = (rows.key().filter(|key| is_inside(key)), rows.value()) else {
                rows.status()?;
                is_last = true;
                break;
            };
            block.push(key, value);
            match self.source.direction {
                Direction::Ascending => rows.next(),
                Direction::Descending => rows.prev(),
            }
        }
        self.source.rows_max -= block.rows;
        if is_last || self.source.rows_max == 0 {
            self.rows = None;
        }
        if block.rows == 0 {
            return Ok(None);
        }
        block.finish(Arc::clone(&self.source.schema)).map(Some)
    }
}

impl Iterator for RawBlocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let block = self.next_block().transpose();
        if matches!(block, Some(Err(_))) {
            self.rows = None;
        }
        block
    }
}

/// A block that is being filled.
struct Block {
    /// For each column, whether it is the key.
    columns: Vec<(bool, BinaryViewBuilder)>,
    rows: usize,
    bytes: usize,
}

impl Block {
    fn new(columns: &[usize], key: usize) -> Block {
        let builder = |&column: &usize| (column == key, BinaryViewBuilder::new());
        Block { columns: columns.iter().map(builder).collect(), rows: 0, bytes: 0 }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        for (is_key, column) in &mut self.columns {
            column.append_value(if *is_key { key } else { value });
        }
        self.rows += 1;
        self.bytes += key.len() + value.len();
    }

    fn finish(self, schema: SchemaRef) -> Result<RecordBatch> {
        let columns = self.columns.into_iter().map(|(_, mut column)| {
            let array: BinaryViewArray = column.finish();
            Arc::new(array) as ArrayRef
        });
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(schema, columns.collect(), &options).map_err(Error::logical)
    }
}

/// The rows with these keys, each once in key order, and the row of each key.
pub(crate) fn look_up(
    store: &RawStore,
    keys: &ArrayRef,
    columns: &[usize],
    key: usize,
    schema: SchemaRef,
) -> Result<Found> {
    let keys = keys.as_binary_view();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&at| keys.value(at));
    let mut block = Block::new(columns, key);
    let mut row_of_key = vec![None; keys.len()];
    for same in order.chunk_by(|&left, &right| keys.value(left) == keys.value(right)) {
        let wanted = keys.value(same[0]);
        let found = store.get(wanted, &ReadOptions::default(), |value| block.push(wanted, value))?;
        if found.is_some() {
            let row = u32::try_from(block.rows - 1).map_err(Error::logical)?;
            same.iter().for_each(|&at| row_of_key[at] = Some(row));
        }
    }
    Ok(Found { rows: block.finish(schema)?, row_of_key })
}
