//! `numbers([offset,] count [, step])`, `zeros(count)`: rows made from nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, UInt8Array, UInt64Array};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use parking_lot::Mutex;

use super::arguments::Arguments;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};
use crate::tables::{Table, VirtualTable};

/// The estimated rows of an endless sequence.
const ENDLESS_ROWS: u64 = 1 << 60;

/// The numbers to count.
#[derive(Clone, Copy)]
struct Sequence {
    first: u64,
    /// `u64::MAX` counts for ever, as `system.numbers` does.
    count: u64,
    step: u64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numbers,
    /// Numbers under the name of `generate_series`.
    Series,
    Zeros,
}

pub(super) fn numbers(args: &Arguments<'_>, partitions: usize) -> Result<Arc<dyn Table>> {
    args.check_count(1, 3)?;
    let (first, count) =
        if args.len() == 1 { (0, args.unsigned(0)?) } else { (args.unsigned(0)?, args.unsigned(1)?) };
    let step = if args.len() == 3 { args.unsigned(2)? } else { 1 };
    if step == 0 {
        bail!(BadArguments, "the step of `numbers` is 0");
    }
    // With a step the second argument is how far to go, as ClickHouse has it.
    let count = count.div_ceil(step);
    table("numbers", Sequence { first, count, step, kind: Kind::Numbers }, partitions)
}

/// `generate_series(first, last [, step])`: both ends are in it.
pub(super) fn generate_series(args: &Arguments<'_>) -> Result<Arc<dyn Table>> {
    args.check_count(2, 3)?;
    let (first, last) = (args.unsigned(0)?, args.unsigned(1)?);
    let step = if args.len() == 3 { args.unsigned(2)? } else { 1 };
    if step == 0 {
        bail!(BadArguments, "the step of `generate_series` is 0");
    }
    let count = if last < first { 0 } else { ((last - first) / step).saturating_add(1) };
    table("generate_series", Sequence { first, count, step, kind: Kind::Series }, 1)
}

pub(super) fn zeros(args: &Arguments<'_>, partitions: usize) -> Result<Arc<dyn Table>> {
    args.check_count(1, 1)?;
    table("zeros", Sequence { first: 0, count: args.unsigned(0)?, step: 1, kind: Kind::Zeros }, partitions)
}

/// `system.numbers`: all of them.
pub(crate) fn numbers_table() -> Result<Arc<dyn Table>> {
    table("numbers", Sequence { first: 0, count: u64::MAX, step: 1, kind: Kind::Numbers }, 1)
}

/// `system.zeros`.
pub(crate) fn zeros_table() -> Result<Arc<dyn Table>> {
    table("zeros", Sequence { first: 0, count: u64::MAX, step: 1, kind: Kind::Zeros }, 1)
}

fn table(name: &str, sequence: Sequence, partitions: usize) -> Result<Arc<dyn Table>> {
    let column = match sequence.kind {
        Kind::Numbers => Column::new("number", SqlType::UInt64),
        Kind::Series => Column::new("generate_series", SqlType::UInt64),
        Kind::Zeros => Column::new("zero", SqlType::UInt8),
    };
    let columns = Columns::new(vec![column]);
    let schema = columns.clone();
    let table = VirtualTable::new("SystemNumbers", "system", name, &columns, move |request| {
        Ok(Arc::new(SequenceSource::new(sequence, &schema, request, partitions)))
    })?;
    Ok(Arc::new(table))
}

struct SequenceSource {
    sequence: Sequence,
    columns: Columns,
    partitions: usize,
    block_rows: u64,
    run: Mutex<Run>,
}

/// The blocks that all partitions take from, each the next one when it is ready for it: a partition whose processor is
/// slower, or begins later, takes fewer.
#[derive(Default)]
struct Run {
    next_block: Arc<AtomicU64>,
    /// The partitions that take from it.
    opened: Vec<usize>,
}

impl SequenceSource {
    fn new(
        mut sequence: Sequence,
        columns: &Columns,
        request: &ScanRequest,
        partitions: usize,
    ) -> SequenceSource {
        if let Some(limit) = request.limit {
            sequence.count = sequence.count.min(limit as u64);
        }
        let block_rows = request.query.settings.max_block_size.max(1);
        // Not more partitions than blocks.
        let blocks = sequence.count.div_ceil(block_rows).max(1);
        let partitions = (partitions as u64).clamp(1, blocks) as usize;
        let columns = columns.project(&request.columns);
        SequenceSource { sequence, columns, partitions, block_rows, run: Mutex::default() }
    }

    /// The number of the next block, for `partition`. One that is opened again begins another run.
    fn next_block(&self, partition: usize) -> Arc<AtomicU64> {
        let mut run = self.run.lock();
        if run.opened.contains(&partition) {
            *run = Run::default();
        }
        run.opened.push(partition);
        Arc::clone(&run.next_block)
    }
}

impl BlockSource for SequenceSource {
    fn partition_count(&self) -> usize {
        self.partitions
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        let Sequence { first, count, step, kind } = self.sequence;
        let (block_rows, columns) = (self.block_rows, self.columns.clone());
        let schema = columns.to_arrow();
        let next_block = self.next_block(partition);
        Ok(Box::new(std::iter::from_fn(move || {
            let block = next_block.fetch_add(1, Ordering::Relaxed);
            let begin = block.checked_mul(block_rows).filter(|begin| *begin < count)?;
            let rows = block_rows.min(count - begin);
            let array: ArrayRef = match kind {
                Kind::Numbers | Kind::Series => Arc::new(UInt64Array::from_iter_values(
                    (begin..begin + rows).map(|index| first.wrapping_add(index.wrapping_mul(step))),
                )),
                Kind::Zeros => Arc::new(UInt8Array::from_value(0, rows as usize)),
            };
            let arrays = if columns.is_empty() { Vec::new() } else { vec![array] };
            let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options);
            Some(batch.map_err(Error::logical))
        })))
    }

    fn rows_estimate(&self) -> Option<u64> {
        // An endless sequence must count as more rows than any table, when a join compares its sides.
        Some(self.sequence.count.min(ENDLESS_ROWS))
    }

    fn describe(&self) -> String {
        format!("{} rows", self.sequence.count)
    }
}
