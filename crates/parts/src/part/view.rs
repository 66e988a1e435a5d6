//! A part as rows of the table: finds the granules that a query needs and reads them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::meta::{decode_bounds, decode_partition};
use super::reader::PartReader;
use super::stored::{StoredColumn, StoredPart};
use crate::column::pieces::{ColumnReader, ReadContext};
use crate::column::plain::plain;
use crate::column::reader::ReadScratch;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::Result;
use crate::index::skip_index::SkipIndex;
use crate::index::zones::Zones;
use crate::key::partition::PartitionValue;
use crate::key::primary::PrimaryIndex;
use crate::metrics::ReadMetrics;
use crate::name::PartName;
use crate::spec::{Fill, PartSpec};

/// A part of a snapshot. Thread-safe, and readable as long as it is held.
#[derive(Debug)]
pub struct Part {
    pub(crate) stored: Arc<StoredPart>,
    pub(crate) spec: Arc<PartSpec>,
    /// By position in the table; `None` if the part was written before the column was added.
    pub(crate) columns: Vec<Option<Arc<StoredColumn>>>,
}

impl Part {
    pub(crate) fn new(stored: Arc<StoredPart>, spec: Arc<PartSpec>) -> Result<Part> {
        let stored = stored.renamed(&spec.history).map_or(stored, Arc::new);
        let columns = stored.columns(&spec)?;
        Ok(Part { stored, spec, columns })
    }

    pub fn name(&self) -> &PartName {
        &self.stored.name
    }

    /// Rows in the files, including deleted ones.
    pub fn row_count(&self) -> u64 {
        self.stored.meta.row_count
    }

    /// Rows removed by a lightweight DELETE that stay in the files until the next merge.
    pub fn deleted_count(&self) -> u64 {
        self.stored.meta.deleted_count
    }

    /// Rows that queries see.
    pub fn live_row_count(&self) -> u64 {
        self.row_count() - self.deleted_count()
    }

    /// A mask of the deleted rows; `None` if there are none. Readers of single columns ignore it.
    pub fn deleted(&self) -> Result<Option<&BooleanBuffer>> {
        self.stored.deleted()
    }

    /// Number of granules.
    pub fn mark_count(&self) -> usize {
        self.stored.meta.mark_count()
    }

    /// Decoded bytes of the column at `column` of the table; 0 if the part was written without it.
    pub fn column_bytes(&self, column: usize) -> u64 {
        self.columns[column].as_ref().map_or(0, |stored| stored.file.decoded_bytes())
    }

    /// Approximate bytes of the values of all rows in memory.
    pub(crate) fn value_bytes(&self) -> u64 {
        match self.stored.meta.value_bytes {
            0 => self.decoded_bytes(),
            bytes => bytes,
        }
    }

    /// Decoded bytes of all columns in their stored form.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.columns.iter().flatten().map(|stored| stored.file.decoded_bytes()).sum()
    }

    /// Number of files that are open while all columns are read.
    pub(crate) fn open_files(&self) -> usize {
        match self.stored.meta.data_file {
            Some(_) => 1,
            None => self.columns.iter().flatten().count(),
        }
    }

    /// Approximate bytes in memory of the values of the column at `column` of the table: for strings their views,
    /// and their bytes unless they are coded.
    pub(crate) fn carrier_bytes(&self, column: usize) -> u64 {
        let views = match self.spec.columns[column].ty.carrier() {
            DataType::BinaryView => self.row_count() * size_of::<u128>() as u64,
            _ => 0,
        };
        views + self.column_bytes(column)
    }

    /// The most bytes of the distinct strings of the column at `column` of the table, if all its blocks are coded:
    /// [`PartReader`](crate::PartReader) then returns dictionary arrays only. 0 if the part was written without the
    /// column, which then has one value.
    pub fn dictionary_bytes_max(&self, column: usize) -> Result<Option<u64>> {
        match &self.columns[column] {
            Some(stored) if stored.is_converted() => Ok(None),
            Some(stored) => stored.file.dictionary_bytes_max(),
            None => match self.spec.fills[column] {
                Some(Fill::Computed(_)) => Ok(None),
                _ => Ok(Some(0)),
            },
        }
    }

    /// The smallest and the largest value of the column at `column` of the table, as an array of two, and the
    /// number of NULLs. `None` if they are not known exactly: the part was written without the column, it has no
    /// value, or the type's bounds are loose.
    pub fn exact_bounds(&self, column: usize) -> Result<Option<(ArrayRef, u64)>> {
        if self.is_converted(column) {
            return Ok(None);
        }
        let column = &self.spec.columns[column];
        // Bounds of strings are truncated, and those of floats ignore NaN.
        let carrier = column.ty.carrier();
        if !carrier.is_primitive() || carrier.is_floating() {
            return Ok(None);
        }
        let Some(meta) = self.stored.meta.columns.iter().find(|meta| meta.name == column.name) else {
            return Ok(None);
        };
        let path = self.stored.directory.path().join(super::meta::META_FILE);
        let bounds =
            decode_bounds(&column.to_field(), &meta.bounds).map_err(|damage| damage.in_file(&path))?;
        Ok(bounds.map(|bounds| (bounds, meta.null_count)))
    }

    /// The columns at the time of the snapshot; positions in [`Part::read`] refer to them.
    pub fn spec(&self) -> &PartSpec {
        &self.spec
    }

    /// The rows of `marks`.
    pub fn mark_rows(&self, marks: &Range<usize>) -> Range<u64> {
        let granule_rows = u64::from(self.stored.meta.granule_rows);
        let row = |mark: usize| (mark as u64 * granule_rows).min(self.row_count());
        row(marks.start)..row(marks.end)
    }

    /// The zone map of `column` (a position in the table); `None` if the part was written without it or the type
    /// has no order. Loaded on first use.
    ///
    /// # Panics
    ///
    /// If the column does not exist.
    pub fn zones(&self, column: usize) -> Result<Option<Arc<Zones>>> {
        match &self.columns[column] {
            Some(stored) if !stored.is_converted() => self.stored.zones(stored, &self.spec.columns[column]),
            _ => Ok(None),
        }
    }

    /// Whether the part stores all values that `index` reads. The values of a computed column may have changed
    /// since the part was written.
    pub(super) fn has_values_of(&self, index: &SkipIndex) -> bool {
        let mut read = (0..self.columns.len()).filter(|&at| index.reads(&self.spec.columns[at].name));
        read.all(|at| self.has_column(at) && !self.is_converted(at))
    }

    /// Whether the part stores the column at `column` of the table.
    pub fn has_column(&self, column: usize) -> bool {
        self.columns[column].is_some()
    }

    /// Whether the part stores all columns.
    pub(crate) fn has_all_columns(&self) -> bool {
        self.columns.iter().all(Option::is_some)
    }

    /// Whether the part has the column at `column` of the table in an older type.
    pub fn is_converted(&self, column: usize) -> bool {
        self.columns[column].as_ref().is_some_and(|stored| stored.is_converted())
    }

    /// The primary index, if the part [has](Part::has_primary_key) the table's key.
    pub(crate) fn primary(&self) -> Result<&PrimaryIndex> {
        let columns = &self.spec.columns;
        let fields: Vec<_> = self.spec.primary_key().iter().map(|element| element.field(columns)).collect();
        self.stored.primary(&fields)
    }

    /// The value of the partition key.
    pub fn partition(&self) -> Result<PartitionValue> {
        let path = self.stored.directory.path().join(super::meta::META_FILE);
        decode_partition(&self.spec, &self.stored.meta.partition).map_err(|damage| damage.in_file(&path))
    }

    /// The values of `columns` (positions in the table, in any order) in the rows of `marks`. Reads only the files
    /// and blocks that have them.
    ///
    /// # Panics
    ///
    /// If a column or mark does not exist.
    pub fn read(
        self: &Arc<Self>,
        columns: &[usize],
        marks: Range<usize>,
        metrics: &Arc<ReadMetrics>,
    ) -> Result<RecordBatch> {
        assert!(marks.start <= marks.end && marks.end <= self.mark_count(), "the marks exist");
        let rows = self.mark_rows(&marks);
        let row_count = (rows.end - rows.start) as usize;
        let mut reader = PartReader::open(self, None, metrics);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for &column in columns {
            arrays.push(plain(&reader.read(column, marks.clone())?));
        }
        metrics.count_rows(row_count, marks.len());
        self.batch(columns, arrays, row_count)
    }

    /// The `arrays` of `columns` as a batch with the table's types.
    pub(crate) fn batch(&self, columns: &[usize], arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.projected_schema(columns), arrays, &options)?)
    }

    pub(crate) fn projected_schema(&self, columns: &[usize]) -> SchemaRef {
        let fields: Vec<_> = columns.iter().map(|&column| self.spec.field(column)).collect();
        Arc::new(Schema::new(fields))
    }

    /// Reads every block of every file once; fails with the first damage.
    pub fn check(&self) -> Result<()> {
        (0..self.columns.len()).try_for_each(|column| self.check_column(column))?;
        self.deleted()?;
        for index in &self.spec.indexes {
            if self.has_values_of(index) {
                self.stored.skip_summaries(index, &self.spec.columns)?;
            }
        }
        self.primary().map(|_| ())
    }

    /// Reads every block of the column at `column` of the table once, and its zone map.
    pub(super) fn check_column(&self, column: usize) -> Result<()> {
        let metrics = ReadMetrics::default();
        let mut ctx = ReadContext { cache: None, metrics: &metrics, scratch: &mut ReadScratch::default() };
        if let Some(stored) = &self.columns[column] {
            let mut reader = ColumnReader::new(&stored.file);
            for start in (0..self.mark_count()).step_by(BLOCK_GRANULES_MAX) {
                let end = self.mark_count().min(start + BLOCK_GRANULES_MAX);
                reader.read(self.mark_rows(&(start..end)), &mut ctx)?;
            }
        }
        self.zones(column).map(|_| ())
    }
}
