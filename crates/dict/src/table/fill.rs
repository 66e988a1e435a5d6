//! Turns the rows of a shard into its table, and reuses the pages of the rows.

use basalt_base::Result;
use basalt_base::region::Region;

use super::bucket_shape::BucketShape;
use super::cuckoo_writer::CuckooTableWriter;
use super::quotient::{CellShape, QuotientTableWriter};
use super::rows::RowSink;
use super::{CuckooTable, QuotientTable, Rows};

pub(super) fn cuckoo_table(
    rows: Rows,
    load_factor: f64,
    shape: BucketShape,
    renamed: impl Fn(u64) -> u64,
) -> Result<CuckooTable> {
    let writer = CuckooTableWriter::new(rows.len(), load_factor, shape, rows.shard_bits())?;
    let mut sink = CuckooSink { writer, renamed };
    rows.drain_into(&mut sink)?;
    sink.writer.finish()
}

/// Takes rows into a cuckoo table.
struct CuckooSink<R> {
    writer: CuckooTableWriter,
    renamed: R,
}

impl<R: Fn(u64) -> u64> RowSink for CuckooSink<R> {
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
    let mut sink = QuotientSink { writer, renamed };
    rows.drain_into(&mut sink)?;
    sink.writer.finish()
}

/// Takes rows into a quotient table.
struct QuotientSink<R> {
    writer: QuotientTableWriter,
    renamed: R,
}

impl<R: Fn(u64) -> u64> RowSink for QuotientSink<R> {
    #[inline(always)]
    fn take(&mut self, rows: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        self.writer.extend(rows.map(|(hash, payload)| (hash, (self.renamed)(payload))))
    }

    fn give(&mut self, memory: Region) {
        self.writer.give(memory);
    }
}
