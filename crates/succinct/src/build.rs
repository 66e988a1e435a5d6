//! The rows of a frozen generation, as a segment takes them.

use std::sync::Arc;

use arrow::array::builder::BinaryBuilder;
use arrow::buffer::BooleanBuffer;
use basalt_base::{Result, query};
use basalt_kv::encoding::{RowAssembler, StoredRow};
use basalt_kv::{ByteRange, Direction};
use basalt_segment::{RowBlock, RowSource};

use crate::fresh::FreshRows;
use crate::generation::Generation;
use crate::row_block::BlockWriter;
use crate::spec::TableSpec;
use crate::work::WorkWatch;

/// Rows and bytes of a block.
const BLOCK_ROWS: usize = 4096;
const BLOCK_BYTES: usize = 4 << 20;

/// The rows of a generation that is never written again.
pub(crate) struct GenerationRows<'a> {
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) snapshot: Arc<basalt_kv::Snapshot>,
    pub(crate) generation: Arc<Generation>,
    /// Whether an older place may have rows that tombstones shadow.
    pub(crate) keeps_tombstones: bool,
    pub(crate) watch: &'a dyn WorkWatch,
}

impl RowSource for GenerationRows<'_> {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        let writer = BlockWriter::new(&self.spec)?;
        let mut assembler = RowAssembler::new(&self.spec.rows, &writer.reads())?;
        let generation = std::slice::from_ref(&self.generation);
        let everything = ByteRange::default();
        let mut rows = FreshRows::open(&self.snapshot, generation, &everything, Direction::Ascending)?;
        loop {
            query::checkpoint()?;
            let mut keys = BinaryBuilder::new();
            let mut tombstones = Vec::new();
            let mut bytes = 0;
            while assembler.len() < BLOCK_ROWS && bytes < BLOCK_BYTES {
                let Some((key, row)) = rows.peek() else { break };
                if row != StoredRow::Tombstone || self.keeps_tombstones {
                    bytes += self.push(&mut assembler, key, row)?;
                    keys.append_value(key);
                    tombstones.push(row == StoredRow::Tombstone);
                }
                rows.advance()?;
            }
            if assembler.is_empty() {
                return Ok(());
            }
            self.watch.reads(assembler.len() as u64)?;
            let columns = assembler.finish()?;
            let tombstones = tombstones.contains(&true).then(|| BooleanBuffer::from(tombstones));
            take(&writer.block(keys.finish(), columns.columns(), tombstones)?)?;
        }
    }
}

impl GenerationRows<'_> {
    /// Returns the bytes of the row.
    fn push(&self, assembler: &mut RowAssembler, key: &[u8], row: StoredRow<'_>) -> Result<usize> {
        let (pushed, bytes) = match row {
            StoredRow::Row(row) => (assembler.push(key, row), key.len() + row.len()),
            StoredRow::Tombstone => (assembler.push_tombstone(key), key.len()),
        };
        pushed.map_err(|corrupt| corrupt.at(self.snapshot.path(), key))?;
        Ok(bytes)
    }
}
