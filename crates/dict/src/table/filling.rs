//! Turns the rows of a shard into its table, on the pages that the rows had.

use basalt_base::Result;
use basalt_base::region::Region;

use super::line_shape::LineShape;
use super::line_writer::LineTableWriter;
use super::quotient::{CellShape, QuotientTableWriter};
use super::rows::RowSink;
use super::{LineTable, QuotientTable, Rows};

pub(super) fn line_table(
    rows: Rows,
    load_factor: f64,
    shape: LineShape,
    renamed: impl Fn(u64) -> u64,
) -> Result<LineTable> {
    let writer = LineTableWriter::new(rows.len(), load_factor, shape, rows.shard_bits())?;
    let mut lines = Lines { writer, renamed };
    rows.drain_into(&mut lines)?;
    lines.writer.finish()
}

/// Rows on their way into lines.
struct Lines<R> {
    writer: LineTableWriter,
    renamed: R,
}

impl<R: Fn(u64) -> u64> RowSink for Lines<R> {
    #[inline(always)]
    fn take(&mut self, rows: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        rows.for_each(|(hash, payload)| self.writer.push(hash, (self.renamed)(payload)));
        Ok(())
    }

    fn give(&mut self, memory: Region) {
        self.writer.give(memory);
    }
}

pub(super) fn quotient_table(
    rows: Rows,
    shape: CellShape,
    renamed: impl Fn(u64) -> u64,
) -> Result<QuotientTable> {
    let writer = QuotientTableWriter::new(rows.len(), shape)?;
    let mut cells = Cells { writer, renamed };
    rows.drain_into(&mut cells)?;
    cells.writer.finish()
}

/// Rows on their way into cells.
struct Cells<R> {
    writer: QuotientTableWriter,
    renamed: R,
}

impl<R: Fn(u64) -> u64> RowSink for Cells<R> {
    #[inline(always)]
    fn take(&mut self, rows: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        self.writer.extend(rows.map(|(hash, payload)| (hash, (self.renamed)(payload))))
    }

    fn give(&mut self, memory: Region) {
        self.writer.give(memory);
    }
}
