//! Reads a part column by column, so that a scan can evaluate filters before it reads the other columns.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;

use super::stored::StoredColumn;
use super::view::Part;
use crate::column::cache::BlockCache;
use crate::column::pieces::{ColumnReader, ReadContext};
use crate::column::reader::ReadScratch;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::{Error, Result};
use crate::metrics::ReadMetrics;

/// Reads the columns of a part, for one thread. Files are opened on first use and stay open.
#[derive(Debug)]
pub struct PartReader {
    part: Arc<Part>,
    cache: Option<Arc<BlockCache>>,
    metrics: Arc<ReadMetrics>,
    /// By position in the table; `None` until the column is read.
    columns: Vec<Option<ColumnReader>>,
    scratch: ReadScratch,
    /// Number of columns that are being computed from others.
    filling: usize,
}

impl PartReader {
    /// Opens no file yet. Decoded blocks come from `cache` and go into it, if there is one.
    pub fn open(part: &Arc<Part>, cache: Option<&Arc<BlockCache>>, metrics: &Arc<ReadMetrics>) -> PartReader {
        PartReader {
            part: Arc::clone(part),
            cache: cache.map(Arc::clone),
            metrics: Arc::clone(metrics),
            columns: std::iter::repeat_with(|| None).take(part.columns.len()).collect(),
            scratch: ReadScratch::default(),
            filling: 0,
        }
    }

    pub fn part(&self) -> &Arc<Part> {
        &self.part
    }

    /// The end of the piece of `mark`: granules of one piece are cheapest to read together, and come from the cache
    /// without a copy. All columns have the same pieces.
    pub fn piece_end(&self, mark: usize) -> usize {
        ((mark / BLOCK_GRANULES_MAX + 1) * BLOCK_GRANULES_MAX).min(self.part.mark_count())
    }

    /// The values of `column` (a position in the table) in the rows of `marks`: an array of the column's carrier,
    /// or a `DictionaryArray<UInt32Type>` over it. All dictionary arrays of a column in a part share one array of
    /// values. [`plain`](crate::plain) converts either to the carrier.
    ///
    /// # Panics
    ///
    /// If the column or a mark does not exist.
    pub fn read(&mut self, column: usize, marks: Range<usize>) -> Result<ArrayRef> {
        let rows = self.rows(&marks);
        let row_count = (rows.end - rows.start) as usize;
        match self.column(column) {
            Some((stored, reader, mut ctx)) => {
                let read = reader.read(rows, &mut ctx);
                stored.converted(read.inspect_err(|error| self.part.stored.note_damage(error))?)
            }
            None => self.fill(column, row_count, |reader, other| reader.read(other, marks.clone())),
        }
    }

    /// Like [`PartReader::read`], but only the rows of `marks` whose bit is set; blocks without a set bit are not
    /// decoded.
    ///
    /// # Panics
    ///
    /// If the column or a mark does not exist, or the number of bits is not that of the rows.
    pub fn read_rows(
        &mut self,
        column: usize,
        marks: Range<usize>,
        selected: &BooleanBuffer,
    ) -> Result<ArrayRef> {
        let rows = self.rows(&marks);
        assert_eq!(selected.len() as u64, rows.end - rows.start, "a bit for each row");
        match self.column(column) {
            Some((stored, reader, mut ctx)) => {
                let read = reader.read_selected(rows, selected, &mut ctx);
                stored.converted(read.inspect_err(|error| self.part.stored.note_damage(error))?)
            }
            None => self.fill(column, selected.count_set_bits(), |reader, other| {
                reader.read_rows(other, marks.clone(), selected)
            }),
        }
    }

    /// Granules of a block of `column`: 1 to [`BLOCK_GRANULES_MAX`], a power of two. 1 if the part was written
    /// without the column.
    pub(crate) fn block_granules(&mut self, column: usize) -> Result<usize> {
        match self.column(column) {
            Some((_, reader, _)) => {
                let granules = reader.block_granules();
                granules.inspect_err(|error| self.part.stored.note_damage(error))
            }
            None => Ok(1),
        }
    }

    /// The values of a column that the part was written without, for `rows` rows; `read` returns the other columns
    /// of these rows.
    fn fill(
        &mut self,
        column: usize,
        rows: usize,
        read: impl Fn(&mut PartReader, usize) -> Result<ArrayRef>,
    ) -> Result<ArrayRef> {
        let spec = Arc::clone(&self.part.spec);
        if self.filling >= spec.columns.len() {
            let what = format!("the DEFAULT of column `{}` needs its own value", spec.columns[column].name);
            return Err(Error::BlockMismatch { what });
        }
        self.filling += 1;
        let filled = spec.filled(column, rows, |other| read(self, other));
        self.filling -= 1;
        filled
    }

    fn rows(&self, marks: &Range<usize>) -> Range<u64> {
        assert!(marks.start <= marks.end && marks.end <= self.part.mark_count(), "the marks exist");
        self.part.mark_rows(marks)
    }

    /// The column, its reader, and the read's context; `None` if the part was written without the column.
    fn column(&mut self, column: usize) -> Option<(Arc<StoredColumn>, &mut ColumnReader, ReadContext<'_>)> {
        let stored = Arc::clone(self.part.columns[column].as_ref()?);
        let reader = self.columns[column].get_or_insert_with(|| ColumnReader::new(&stored.file));
        let ctx =
            ReadContext { cache: self.cache.as_ref(), metrics: &self.metrics, scratch: &mut self.scratch };
        Some((stored, reader, ctx))
    }
}
