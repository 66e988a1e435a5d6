//! One thread of a scan: takes tasks, reads them chunk by chunk, hands out blocks of a useful size.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::UInt32Array;
use arrow::compute::{concat_batches, take_record_batch};
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};

use super::chunk::read_chunk;
use super::dynamic_filter::DynamicFilter;
use super::mode::Mode;
use super::plan::ScanPlan;
use super::reader::ColumnReader;
use super::tasks::{CHUNK_MARKS, Task, TaskQueues};

/// Blocks of fewer rows wait for more, so that a selective filter does not make many tiny ones.
const ROWS_MIN: usize = 8192;

/// An iterator of blocks. An empty block is a chunk without rows: it lets other work run.
pub(super) struct Worker {
    plan: Arc<ScanPlan>,
    tasks: Arc<TaskQueues>,
    thread: usize,
    dynamic: Vec<DynamicFilter>,
    /// Rows that left through this thread.
    emitted: u64,
    /// The part of the current task, and what is left of it.
    reader: Option<ColumnReader>,
    marks: Range<usize>,
    /// Small blocks that wait to become one.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    /// The rest of a block that is larger than `max_block_size`.
    rest: Option<RecordBatch>,
    is_done: bool,
}

impl Worker {
    pub(super) fn new(plan: Arc<ScanPlan>, tasks: Arc<TaskQueues>, thread: usize) -> Worker {
        Worker {
            dynamic: plan.dynamic.iter().map(DynamicFilter::new).collect(),
            plan,
            tasks,
            thread,
            emitted: 0,
            reader: None,
            marks: 0..0,
            waiting: Vec::new(),
            waiting_rows: 0,
            rest: None,
            is_done: false,
        }
    }

    /// Makes sure that there is something left to read; `false` at the end of all tasks.
    fn advance(&mut self) -> bool {
        if self.limit_left() == Some(0) {
            return false;
        }
        if self.reader.is_some() && !self.marks.is_empty() {
            return true;
        }
        let Some(Task { part, index, marks, .. }) = self.tasks.take(self.thread) else { return false };
        if self.reader.as_ref().is_none_or(|reader| reader.index != index) {
            self.reader = Some(ColumnReader::new(&part, index, &self.plan));
        }
        self.marks = marks;
        true
    }

    fn limit_left(&self) -> Option<u64> {
        let emitted = match self.plan.mode {
            // The first rows of each thread are needed, not those of the fastest.
            Mode::InOrder | Mode::InReverse => self.emitted,
            Mode::Anyhow | Mode::WithPlaces => self.plan.emitted.load(Ordering::Relaxed),
        };
        self.plan.limit.map(|limit| (limit as u64).saturating_sub(emitted))
    }

    /// The next granules to read together: up to where blocks end, or as few as the limit needs.
    fn next_marks(&mut self, reader: &ColumnReader) -> Range<usize> {
        if self.plan.mode == Mode::InReverse {
            return self.last_marks(reader);
        }
        let start = self.marks.start;
        let mut end = (start / CHUNK_MARKS + 1) * CHUNK_MARKS;
        if !self.plan.filters()
            && let Some(left) = self.limit_left()
        {
            let rows = reader.row_count(&(start..start + 1)).max(1) as u64;
            end = end.min(start + left.div_ceil(rows).max(1) as usize);
        }
        self.marks.start = end.min(self.marks.end);
        start..self.marks.start
    }

    /// Like [`Worker::next_marks`], from the end on.
    fn last_marks(&mut self, reader: &ColumnReader) -> Range<usize> {
        let end = self.marks.end;
        let mut start = (end - 1) / CHUNK_MARKS * CHUNK_MARKS;
        if !self.plan.filters()
            && let Some(left) = self.limit_left()
        {
            // The last granule of a part may have fewer rows, none of the others has.
            let rows = reader.row_count(&(end - 1..end)).max(1) as u64;
            start = start.max(end.saturating_sub(left.div_ceil(rows).max(1) as usize));
        }
        self.marks.end = start.max(self.marks.start);
        self.marks.end..end
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        self.plan.query.check()?;
        let mut reader = self.reader.take().ok_or_else(|| Error::logical("no part to read"))?;
        let marks = self.next_marks(&reader);
        self.dynamic.iter_mut().try_for_each(|filter| filter.refresh(&self.plan))?;
        let (rows, bytes) = (reader.row_count(&marks), reader.bytes);
        let block = read_chunk(&self.plan, &self.dynamic, &mut reader, marks)?;
        self.plan.query.count_read(rows as u64, reader.bytes - bytes)?;
        self.reader = Some(reader);
        Ok(block)
    }

    /// Adds a block; returns one when enough rows have come together.
    fn collect(&mut self, mut block: RecordBatch) -> Result<Option<RecordBatch>> {
        if self.plan.mode == Mode::InReverse {
            block = reversed(&block)?;
        }
        if let Some(left) = self.limit_left() {
            block = block.slice(0, block.num_rows().min(left as usize));
        }
        self.emitted += block.num_rows() as u64;
        self.plan.emitted.fetch_add(block.num_rows() as u64, Ordering::Relaxed);
        // An operator above that narrows its filter by the rows that it sees gets them at once.
        let rows_min = if self.dynamic.is_empty() { ROWS_MIN } else { 1 };
        if self.waiting.is_empty() && block.num_rows() >= rows_min / 2 {
            return Ok(Some(block));
        }
        self.waiting_rows += block.num_rows();
        self.waiting.push(block);
        let enough = self.waiting_rows >= rows_min || self.limit_left() == Some(0);
        if enough { self.flush() } else { Ok(None) }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.waiting_rows = 0;
        let waiting = std::mem::take(&mut self.waiting);
        match &waiting[..] {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            many => concat_batches(&self.plan.schema, many).map(Some).map_err(Error::logical),
        }
    }

    /// The next block of any size, or an empty one.
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_done {
            return Ok(None);
        }
        if !self.advance() {
            self.is_done = true;
            return self.flush();
        }
        let collected = match self.read()? {
            Some(block) => self.collect(block)?,
            None => None,
        };
        Ok(Some(collected.unwrap_or_else(|| self.plan.empty.clone())))
    }

    /// About `max_block_size` rows of `block`; the rest waits.
    fn cut(&mut self, block: RecordBatch) -> RecordBatch {
        let rows_max = self.plan.query.settings.max_block_size.clamp(1, 1 << 20) as usize;
        // A slightly larger block is better than a tiny one after it.
        if block.num_rows() <= rows_max + rows_max / 8 {
            return block;
        }
        self.rest = Some(block.slice(rows_max, block.num_rows() - rows_max));
        block.slice(0, rows_max)
    }
}

/// The rows of `block` from the last one on.
fn reversed(block: &RecordBatch) -> Result<RecordBatch> {
    let rows = block.num_rows() as u32;
    take_record_batch(block, &UInt32Array::from_iter_values((0..rows).rev())).map_err(Error::logical)
}

impl Iterator for Worker {
    type Item = Result<RecordBatch>;

    /// After an error the worker is at its end.
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(rest) = self.rest.take() {
            return Some(Ok(self.cut(rest)));
        }
        match self.step() {
            Ok(block) => block.map(|block| Ok(self.cut(block))),
            Err(error) => {
                self.is_done = true;
                self.waiting.clear();
                Some(Err(error))
            }
        }
    }
}
