//! Reads the rows of a part batch by batch, without deleted rows: the input of merges.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::reader::PartReader;
use super::view::Part;
use crate::column::plain::plain;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::Result;
use crate::key::prune::MarkRanges;
use crate::metrics::ReadMetrics;

/// The name of the column of row positions. It is always the last column, so it hides no column of the table.
pub(crate) const PLACE_COLUMN: &str = "_place";

/// Iterates over the rows of some granules of a part. Files are opened at the first batch.
///
/// The scan holds the granules that it has read. It reads fewer granules of wide rows at a time, see
/// [`PartScan::bounded`]; a column with longer blocks then holds the values of its block.
#[derive(Debug)]
pub struct PartScan {
    part: Arc<Part>,
    columns: Vec<usize>,
    schema: SchemaRef,
    /// The granules still to read, the next range last.
    ranges: Vec<Range<usize>>,
    rows_max: usize,
    /// Granules that are read together.
    granules: usize,
    metrics: Arc<ReadMetrics>,
    reader: Option<PartReader>,
    /// By index in `columns`: values that were read beyond the last granules.
    held: Vec<Option<Held>>,
    /// The position of the part's first row, if the batches have positions.
    first_place: Option<u64>,
    /// Rows that were read and not returned yet.
    buffered: Option<RecordBatch>,
}

/// The values of a column in some granules.
#[derive(Debug)]
struct Held {
    marks: Range<usize>,
    values: ArrayRef,
}

impl PartScan {
    /// A scan of `columns` (positions in the table) in `marks`, in batches of at most `rows_max` rows.
    ///
    /// # Panics
    ///
    /// If `rows_max` is 0, or a column or mark does not exist.
    pub fn new(
        part: Arc<Part>,
        columns: Vec<usize>,
        marks: MarkRanges,
        rows_max: usize,
        metrics: Arc<ReadMetrics>,
    ) -> PartScan {
        assert!(rows_max > 0, "a batch has rows");
        assert!(marks.ranges.iter().all(|range| range.end <= part.mark_count()), "the marks exist");
        let schema = part.projected_schema(&columns);
        let mut ranges = marks.ranges;
        ranges.reverse();
        let held = std::iter::repeat_with(|| None).take(columns.len()).collect();
        let (reader, buffered) = (None, None);
        let granules = BLOCK_GRANULES_MAX;
        PartScan {
            part,
            columns,
            schema,
            ranges,
            rows_max,
            granules,
            metrics,
            reader,
            held,
            first_place: None,
            buffered,
        }
    }

    /// Adds each row's position as the last column: its index among all rows of the part, plus `first_place`.
    #[must_use]
    pub(crate) fn with_places(mut self, first_place: u64) -> PartScan {
        let place = Arc::new(Field::new(PLACE_COLUMN, DataType::UInt64, false));
        let fields = self.schema.fields().iter().cloned().chain([place]);
        self.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self.first_place = Some(first_place);
        self
    }

    /// Limits the held values to about `bytes_max` bytes: fewer granules of wide rows are read at a time, but at
    /// least one.
    #[must_use]
    pub fn bounded(mut self, bytes_max: u64) -> PartScan {
        let granules = self.part.mark_count().max(1) as u64;
        let bytes: u64 = self.columns.iter().map(|&column| self.part.carrier_bytes(column)).sum();
        while self.granules > 1 && bytes / granules * self.granules as u64 > bytes_max {
            self.granules /= 2;
        }
        self
    }

    /// Approximate bytes of the granules that are read together.
    pub(crate) fn held_bytes(&self) -> u64 {
        let marks = self.part.mark_count().max(1);
        let bytes: u64 = self.columns.iter().map(|&column| self.part.carrier_bytes(column)).sum();
        bytes / marks as u64 * self.granules.min(marks) as u64
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next granules to read together. They end at the end of blocks of that many granules.
    fn next_marks(&mut self) -> Option<Range<usize>> {
        let range = self.ranges.last_mut()?;
        let aligned_end = (range.start / self.granules + 1) * self.granules;
        let marks = range.start..range.end.min(aligned_end);
        range.start = marks.end;
        if range.start == range.end {
            self.ranges.pop();
        }
        Some(marks)
    }

    fn read(&mut self, marks: Range<usize>) -> Result<RecordBatch> {
        let rows = self.part.mark_rows(&marks);
        let row_count = (rows.end - rows.start) as usize;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for place in 0..self.columns.len() {
            arrays.push(plain(&self.values(place, &marks)?));
        }
        if let Some(first) = self.first_place {
            arrays.push(Arc::new(UInt64Array::from_iter_values(rows.clone().map(|row| first + row))));
        }
        self.metrics.count_rows(row_count, marks.len());
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        match self.part.deleted()? {
            Some(deleted) => {
                let live = !&deleted.slice(rows.start as usize, row_count);
                Ok(filter_record_batch(&batch, &BooleanArray::new(live, None))?)
            }
            None => Ok(batch),
        }
    }

    /// The values of the column at `place`. Decodes no block twice.
    fn values(&mut self, place: usize, marks: &Range<usize>) -> Result<ArrayRef> {
        let column = self.columns[place];
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(PartReader::open(&self.part, None, &self.metrics)),
        };
        let block_granules = reader.block_granules(column)?;
        if block_granules <= self.granules {
            return reader.read(column, marks.clone());
        }
        let held = match self.held[place].take().filter(|held| held.marks.contains(&marks.start)) {
            Some(held) => held,
            None => {
                let start = marks.start / block_granules * block_granules;
                let block = start..(start + block_granules).min(self.part.mark_count());
                Held { values: reader.read(column, block.clone())?, marks: block }
            }
        };
        let (rows, first) = (self.part.mark_rows(marks), self.part.mark_rows(&held.marks).start);
        let values = held.values.slice((rows.start - first) as usize, (rows.end - rows.start) as usize);
        self.held[place] = Some(held);
        Ok(values)
    }

    fn take_buffered(&mut self) -> Option<RecordBatch> {
        let batch = self.buffered.take()?;
        if batch.num_rows() <= self.rows_max {
            return Some(batch);
        }
        let rest = batch.num_rows() - self.rows_max;
        self.buffered = Some(batch.slice(self.rows_max, rest));
        Some(batch.slice(0, self.rows_max))
    }
}

impl Iterator for PartScan {
    type Item = Result<RecordBatch>;

    /// After an error the scan ends.
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(batch) = self.take_buffered() {
            return Some(Ok(batch));
        }
        loop {
            let marks = self.next_marks()?;
            match self.read(marks) {
                // All rows of these granules are deleted.
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => {
                    self.buffered = Some(batch);
                    return self.take_buffered().map(Ok);
                }
                Err(error) => {
                    self.ranges.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}
