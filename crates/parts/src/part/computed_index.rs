//! Writes expression and multi-column skip indexes: those of a new part, and those of a rewritten part.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::Columns;

use super::view::Part;
use crate::error::{Error, Result};
use crate::index::skip_index::{SkipIndex, SkipIndexWriter};
use crate::spec::PartSpec;

/// A skip index of a part that is being written.
pub(super) struct ComputedIndex {
    writer: SkipIndexWriter,
    /// Rows in the current granule; earlier granules are complete.
    open_rows: usize,
    granule_rows: usize,
}

impl ComputedIndex {
    /// The indexes of `spec` that no column writes.
    pub(super) fn all(spec: &PartSpec) -> Vec<ComputedIndex> {
        let computed = spec.indexes.iter().filter(|index| index.as_column().is_none());
        computed.filter_map(|index| ComputedIndex::of(index, spec)).collect()
    }

    /// `None` if a column of the index is missing.
    fn of(index: &SkipIndex, spec: &PartSpec) -> Option<ComputedIndex> {
        let writer = SkipIndexWriter::new(index, index.fields(&spec.columns)?);
        Some(ComputedIndex { writer, open_rows: 0, granule_rows: spec.granule_rows })
    }

    /// Appends the rows of `batch`, which has `columns`.
    pub(super) fn write(&mut self, batch: &RecordBatch, columns: &Columns) -> Result<()> {
        let values = self.writer.values(batch, columns)?;
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = (self.granule_rows - self.open_rows).min(batch.num_rows() - start);
            let slices: Vec<_> = values.iter().map(|values| values.slice(start, rows)).collect();
            self.writer.append(&slices)?;
            start += rows;
            self.open_rows += rows;
            if self.open_rows == self.granule_rows {
                self.open_rows = 0;
                self.writer.end_granule()?;
            }
        }
        Ok(())
    }

    /// The index, and the bytes of its file.
    pub(super) fn finish(mut self) -> Result<(SkipIndex, Vec<u8>)> {
        if self.open_rows > 0 {
            self.writer.end_granule()?;
        }
        Ok((self.writer.index.clone(), self.writer.finish()?))
    }
}

/// Skip indexes of an existing part that depend on columns with new values.
pub(super) struct RecomputedIndexes {
    part: Arc<Part>,
    indexes: Vec<ComputedIndex>,
    /// The columns that they read, as a table of its own.
    columns: Columns,
    places: Vec<usize>,
    /// Complete granules.
    marks: usize,
}

impl RecomputedIndexes {
    /// The `indexes` of `part`, with the granules of `spec`.
    pub(super) fn new<'a>(
        part: &Arc<Part>,
        spec: &PartSpec,
        indexes: impl Iterator<Item = &'a SkipIndex> + Clone,
    ) -> RecomputedIndexes {
        let is_read = |at: &usize| indexes.clone().any(|index| index.reads(&spec.columns[*at].name));
        let places: Vec<usize> = (0..spec.columns.len()).filter(is_read).collect();
        RecomputedIndexes {
            part: Arc::clone(part),
            indexes: indexes.clone().filter_map(|index| ComputedIndex::of(index, spec)).collect(),
            columns: places.iter().map(|&at| spec.columns[at].clone()).collect(),
            places,
            marks: 0,
        }
    }

    /// Appends the next rows, which are whole granules. `new` has the new values of columns by their positions; the
    /// others are read.
    pub(super) fn write(&mut self, rows: usize, new: &[(usize, ArrayRef)]) -> Result<()> {
        if self.indexes.is_empty() {
            return Ok(());
        }
        let row = self.part.mark_rows(&(self.marks..self.marks)).start;
        let is_before_end = |mark: &usize| self.part.mark_rows(&(*mark..*mark)).start < row + rows as u64;
        let end = (self.marks..self.part.mark_count()).take_while(is_before_end).last();
        let marks = self.marks..end.map_or(self.marks, |last| last + 1);
        self.marks = marks.end;
        let is_old = |at: &&usize| new.iter().all(|(other, _)| other != *at);
        let old: Vec<usize> = self.places.iter().filter(is_old).copied().collect();
        let read = self.part.read(&old, marks, &Arc::default())?;
        if read.num_rows() != rows {
            return Err(Error::BlockMismatch { what: "the rows are not whole granules".to_owned() });
        }
        let value = |at: &usize| {
            let new = new.iter().find(|(other, _)| other == at).map(|(_, values)| Arc::clone(values));
            let place = old.iter().position(|other| other == at);
            new.or_else(|| place.map(|place| Arc::clone(read.column(place))))
        };
        let values: Vec<ArrayRef> = self.places.iter().filter_map(value).collect();
        let batch = RecordBatch::try_new(self.columns.to_arrow(), values)?;
        self.indexes.iter_mut().try_for_each(|index| index.write(&batch, &self.columns))
    }

    /// The indexes, and the bytes of their files.
    pub(super) fn finish(self) -> Result<Vec<(SkipIndex, Vec<u8>)>> {
        self.indexes.into_iter().map(ComputedIndex::finish).collect()
    }
}
