//! Merges the rows of several parts to one stream in key order, in bounded memory.
//!
//! Every input is a cursor over its granules. The cursor with the smallest key gives all its rows that are not
//! above the second smallest key, so inputs that do not overlap are copied in long runs, and only interleaved ones
//! are picked row by row. Equal keys keep the order of insertion.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::row::Rows;

use super::borders::Borders;
use super::gather::RUN_ROWS_LONG;
use super::row_sources::RowSourceLog;
use super::sort::encode_key;
use crate::error::Result;
use crate::key::prune::MarkRanges;
use crate::metrics::ReadMetrics;
use crate::part::scan::PartScan;
use crate::part::view::Part;
use crate::spec::PartSpec;

/// The most batches that the inputs hold together.
const HELD_BATCHES: u64 = 4;

/// Some granules of a part.
pub(crate) struct MergeInput {
    pub(crate) part: Arc<Part>,
    pub(crate) marks: MarkRanges,
    /// See [`PartScan::with_places`].
    pub(crate) first_place: Option<u64>,
}

/// Iterates over the rows of several parts in key order.
pub(crate) struct MergedRows {
    spec: Arc<PartSpec>,
    cursors: Vec<Cursor>,
    /// The batches to which `runs` refer.
    sources: Vec<RecordBatch>,
    runs: Vec<Run>,
    run_rows: usize,
    /// Long runs to return, the next one last.
    ready: Vec<RecordBatch>,
    batch_rows: usize,
    /// Only rows in this range are returned.
    borders: Borders,
    /// Records the input of each row.
    log: Option<RowSourceLog>,
}

/// Consecutive rows of a source.
struct Run {
    /// The number of the input.
    input: usize,
    source: usize,
    start: usize,
    rows: usize,
}

/// The position in one input.
struct Cursor {
    input: usize,
    scan: PartScan,
    batch: RecordBatch,
    /// The keys of the batch; `None` for a table without a key, whose inputs are concatenated.
    keys: Option<Rows>,
    row: usize,
    /// The index of the batch in the sources, once rows of it were taken.
    source: Option<usize>,
}

impl MergedRows {
    /// Merges `inputs`, with the columns of the table at `columns`; `spec` has only these columns.
    pub(crate) fn open(
        inputs: impl IntoIterator<Item = MergeInput>,
        columns: &[usize],
        spec: PartSpec,
        metrics: &Arc<ReadMetrics>,
    ) -> Result<MergedRows> {
        MergedRows::open_between(inputs, columns, spec, Borders::default(), metrics)
    }

    /// Like [`MergedRows::open`], restricted to keys in `borders`.
    pub(super) fn open_between(
        inputs: impl IntoIterator<Item = MergeInput>,
        columns: &[usize],
        spec: PartSpec,
        borders: Borders,
        metrics: &Arc<ReadMetrics>,
    ) -> Result<MergedRows> {
        let inputs: Vec<MergeInput> = inputs.into_iter().collect();
        let limits = &spec.merges;
        let bytes = |part: &Part| -> u64 { columns.iter().map(|&column| part.carrier_bytes(column)).sum() };
        let bytes: u64 = inputs.iter().map(|input| bytes(&input.part)).sum();
        let rows: u64 = inputs.iter().map(|input| input.part.row_count()).sum();
        let batch_rows = rows_within(limits.batch_rows, limits.batch_bytes, bytes, rows);
        let held_bytes = limits.batch_bytes * HELD_BATCHES / inputs.len().max(1) as u64;
        let mut cursors = Vec::new();
        for (input, MergeInput { part, marks, first_place }) in inputs.into_iter().enumerate() {
            let scan = PartScan::new(part, columns.to_vec(), marks, batch_rows, Arc::clone(metrics));
            let scan = match first_place {
                Some(first) => scan.with_places(first),
                None => scan,
            };
            cursors.extend(Cursor::open(input, scan.bounded(held_bytes), &spec, &borders)?);
        }
        Ok(MergedRows {
            spec: Arc::new(spec),
            cursors,
            sources: Vec::new(),
            runs: Vec::new(),
            run_rows: 0,
            ready: Vec::new(),
            batch_rows,
            borders,
            log: None,
        })
    }

    /// Records the input of each row in `log`.
    #[must_use]
    pub(super) fn noted(mut self, log: RowSourceLog) -> MergedRows {
        self.log = Some(log);
        self
    }

    /// Approximate bytes of the inputs and of a batch of the merged rows.
    pub(super) fn held_bytes(&self) -> u64 {
        let held: u64 = self.cursors.iter().map(|cursor| cursor.scan.held_bytes()).sum();
        held + held.min(self.spec.merges.batch_bytes)
    }

    /// Takes the next run of rows; `false` at the end of all inputs.
    fn take_run(&mut self) -> Result<bool> {
        let Some((first, second)) = self.smallest_two() else { return Ok(false) };
        let end = match second {
            Some(second) => self.run_end(first, second),
            None => self.cursors[first].batch.num_rows(),
        };
        let end = end.min(self.cursors[first].row + self.batch_rows - self.run_rows);
        let cursor = &mut self.cursors[first];
        let source = *cursor.source.get_or_insert_with(|| {
            self.sources.push(cursor.batch.clone());
            self.sources.len() - 1
        });
        self.runs.push(Run { input: cursor.input, source, start: cursor.row, rows: end - cursor.row });
        self.run_rows += end - cursor.row;
        cursor.row = end;
        if cursor.row == cursor.batch.num_rows() && !cursor.advance(&self.spec, &self.borders)? {
            self.cursors.remove(first);
        }
        Ok(true)
    }

    /// The cursors with the smallest and the second smallest key; among equal keys the earlier part's.
    fn smallest_two(&self) -> Option<(usize, Option<usize>)> {
        if self.cursors.first()?.keys.is_none() {
            return Some((0, None));
        }
        let (mut first, mut second) = (0, None);
        for index in 1..self.cursors.len() {
            if self.cursors[index].key() < self.cursors[first].key() {
                second = Some(first);
                first = index;
            } else if second
                .is_none_or(|second: usize| self.cursors[index].key() < self.cursors[second].key())
            {
                second = Some(index);
            }
        }
        Some((first, second))
    }

    /// The end of the rows of `first` that precede the row of `second`.
    fn run_end(&self, first: usize, second: usize) -> usize {
        let limit = self.cursors[second].key();
        let cursor = &self.cursors[first];
        let Some(keys) = &cursor.keys else { return cursor.batch.num_rows() };
        let comes_first = |row: usize| {
            let key = Some(keys.row(row));
            key < limit || (key == limit && first < second)
        };
        // Most runs of interleaved inputs are short: gallop before the binary search.
        let mut step = 1;
        let mut low = cursor.row + 1;
        while low + step <= cursor.batch.num_rows() && comes_first(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step - 1).min(cursor.batch.num_rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if comes_first(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Makes batches of the taken runs, in reverse order.
    fn flush(&mut self) -> Result<()> {
        if let Some(log) = &self.log {
            self.runs.iter().for_each(|run| log.push(run.input, run.rows));
        }
        if self.run_rows >= self.runs.len() * RUN_ROWS_LONG {
            let slices = self.runs.iter().map(|run| self.sources[run.source].slice(run.start, run.rows));
            self.ready.extend(slices.rev());
        } else {
            let batch = self.interleave()?;
            self.ready.push(batch);
        }
        self.runs.clear();
        self.run_rows = 0;
        self.sources.clear();
        for cursor in &mut self.cursors {
            cursor.source = None;
        }
        Ok(())
    }

    fn interleave(&self) -> Result<RecordBatch> {
        let picks: Vec<(usize, usize)> = self
            .runs
            .iter()
            .flat_map(|run| (run.start..run.start + run.rows).map(|row| (run.source, row)))
            .collect();
        let mut columns = Vec::with_capacity(self.spec.columns.len());
        for column in 0..self.spec.columns.len() {
            let arrays: Vec<&dyn Array> = self.sources.iter().map(|batch| &**batch.column(column)).collect();
            columns.push(interleave(&arrays, &picks)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
        Ok(RecordBatch::try_new_with_options(self.spec.schema(), columns, &options)?)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.ready.pop() {
            return Ok(Some(batch));
        }
        while self.run_rows < self.batch_rows && self.take_run()? {}
        if self.runs.is_empty() {
            return Ok(None);
        }
        self.flush()?;
        Ok(self.ready.pop())
    }
}

impl Iterator for MergedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

impl Cursor {
    /// `None` for a part without rows.
    fn open(input: usize, scan: PartScan, spec: &PartSpec, borders: &Borders) -> Result<Option<Cursor>> {
        let batch = RecordBatch::new_empty(spec.schema());
        let mut cursor = Cursor { input, scan, batch, keys: None, row: 0, source: None };
        Ok(cursor.advance(spec, borders)?.then_some(cursor))
    }

    /// Moves to the next batch; `false` at the end.
    fn advance(&mut self, spec: &PartSpec, borders: &Borders) -> Result<bool> {
        while let Some(batch) = self.scan.next().transpose()? {
            self.keys = if spec.sort_key.is_empty() { None } else { Some(encode_key(&batch, spec)?) };
            let rows = self.keys.as_ref().map_or(0..batch.num_rows(), |keys| borders.rows(keys));
            if rows.is_empty() {
                continue;
            }
            self.batch = batch.slice(0, rows.end);
            self.row = rows.start;
            self.source = None;
            return Ok(true);
        }
        Ok(false)
    }

    fn key(&self) -> Option<arrow::row::Row<'_>> {
        self.keys.as_ref().map(|keys| keys.row(self.row))
    }
}

/// Rows of a batch: at most `rows_max`, and no more than fit in `bytes_max` bytes, if `rows` rows take `bytes`
/// bytes.
pub(super) fn rows_within(rows_max: usize, bytes_max: u64, bytes: u64, rows: u64) -> usize {
    let row_bytes = bytes.div_ceil(rows.max(1)).max(1);
    ((bytes_max / row_bytes) as usize).clamp(1, rows_max)
}
