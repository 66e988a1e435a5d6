//! The rows of several places in key order, a block at a time, as a segment takes them.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::builder::BinaryBuilder;
use arrow::buffer::BooleanBuffer;
use arrow::compute::interleave;
use basalt_base::{Error, Result, query};
use basalt_kv::encoding::{RowAssembler, StoredRow};
use basalt_kv::{ByteRange, Direction};
use basalt_segment::{Rank, RowBlock, RowSource};

use crate::columns::{Picked, SegmentColumns};
use crate::cursor::SegmentCursor;
use crate::fresh::FreshRows;
use crate::generation::Generation;
use crate::ranks::RankSet;
use crate::row_block::BlockWriter;
use crate::spec::TableSpec;
use crate::stored::StoredSegment;
use crate::work::WorkWatch;

/// Rows and bytes of a block; rows of segments are counted as the average ones of their segment.
const BLOCK_ROWS: usize = 4096;
const BLOCK_BYTES: usize = 4 << 20;

/// The rows of neighbouring places, merged: of a key that several have, the newest row.
pub(crate) struct MergedRows<'a> {
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) snapshot: Arc<basalt_kv::Snapshot>,
    /// Generations that are never written again, the newest first. They are newer than the segments.
    pub(crate) generations: Vec<Arc<Generation>>,
    /// Each with the ranks that are left out: those that newer segments shadow, and tombstones that nobody needs.
    pub(crate) segments: Vec<(Arc<StoredSegment>, Arc<RankSet>)>,
    /// Whether an older place may have rows that tombstones shadow.
    pub(crate) keeps_tombstones: bool,
    pub(crate) watch: &'a dyn WorkWatch,
}

/// A pass over the rows.
struct Pass<'a> {
    rows: &'a MergedRows<'a>,
    cursors: Vec<SegmentCursor>,
    fresh: FreshRows,
    assembler: RowAssembler,
    columns: SegmentColumns,
    /// For each segment the average bytes of a row.
    stored_bytes: Vec<usize>,
}

/// A block of merged rows: where each of them is.
struct MergedBlock {
    keys: BinaryBuilder,
    key_bytes: usize,
    /// For each segment the ranks of its rows in the block.
    ranks: Vec<Vec<Rank>>,
    /// For each row its source, a segment or the generations after all segments, and its place there.
    picks: Vec<(usize, usize)>,
    tombstones: Vec<bool>,
}

impl RowSource for MergedRows<'_> {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        let writer = BlockWriter::new(&self.spec)?;
        let mut pass = self.pass(&writer)?;
        loop {
            query::checkpoint()?;
            let mut block = pass.next_block()?;
            if block.picks.is_empty() {
                return Ok(());
            }
            self.watch.reads(block.picks.len() as u64)?;
            let arrays = pass.read(&block)?;
            let tombstones = block.tombstones.contains(&true);
            let tombstones = tombstones.then(|| BooleanBuffer::from(block.tombstones));
            take(&writer.block(block.keys.finish(), &arrays, tombstones)?)?;
        }
    }
}

impl MergedRows<'_> {
    fn pass(&self, writer: &BlockWriter) -> Result<Pass<'_>> {
        let open = |(stored, left_out): &(Arc<StoredSegment>, Arc<RankSet>)| {
            SegmentCursor::new(stored, Arc::clone(left_out), 0..stored.segment().rows(), Direction::Ascending)
        };
        let everything = ByteRange::default();
        let reads = writer.reads();
        let bytes = |stored: &StoredSegment| {
            usize::try_from(stored.row_bytes(&self.spec, &reads)).unwrap_or(usize::MAX)
        };
        Ok(Pass {
            rows: self,
            stored_bytes: self.segments.iter().map(|(stored, _)| bytes(stored)).collect(),
            cursors: self.segments.iter().map(open).collect::<Result<_>>()?,
            fresh: FreshRows::open(&self.snapshot, &self.generations, &everything, Direction::Ascending)?,
            assembler: RowAssembler::new(&self.spec.rows, &reads)?,
            columns: SegmentColumns::new(&self.spec, &reads)?,
        })
    }
}

impl Pass<'_> {
    fn next_block(&mut self) -> Result<MergedBlock> {
        let mut block = MergedBlock {
            keys: BinaryBuilder::new(),
            key_bytes: 0,
            ranks: vec![Vec::new(); self.cursors.len()],
            picks: Vec::new(),
            tombstones: Vec::new(),
        };
        let mut row_bytes: usize = 0;
        while block.picks.len() < BLOCK_ROWS && row_bytes.saturating_add(block.key_bytes) < BLOCK_BYTES {
            let stored = next_of(&self.cursors, Direction::Ascending);
            let stored = stored.and_then(|at| Some((at, self.cursors[at].peek()?)));
            let fresh = self.fresh.peek();
            match (stored, fresh) {
                (Some((at, (_, key))), Some((fresh, _))) if key == fresh => self.cursors[at].advance()?,
                (Some((at, (rank, key))), fresh) if fresh.is_none_or(|(fresh, _)| key < fresh) => {
                    block.push_stored(&self.rows.segments[at].0, at, rank, key);
                    row_bytes = row_bytes.saturating_add(self.stored_bytes[at]);
                    self.cursors[at].advance()?;
                }
                (_, Some((key, row))) => {
                    row_bytes += self.rows.push_fresh(&mut block, &mut self.assembler, key, row)?;
                    self.fresh.advance()?;
                }
                (_, None) => break,
            }
        }
        Ok(block)
    }

    /// The columns of the rows, in order.
    fn read(&mut self, block: &MergedBlock) -> Result<Vec<ArrayRef>> {
        let read = |((stored, _), ranks): (&(Arc<StoredSegment>, Arc<RankSet>), &Vec<Rank>)| {
            self.columns.read(stored.segment(), &Picked::of(ranks))
        };
        let sources = self.rows.segments.iter().zip(&block.ranks).map(read);
        let mut sources = sources.collect::<Result<Vec<_>>>()?;
        if !self.rows.generations.is_empty() {
            sources.push(self.assembler.finish()?.columns().to_vec());
        }
        interleaved(&sources, &block.picks)
    }
}

impl MergedRows<'_> {
    /// Returns the bytes of the row.
    fn push_fresh(
        &self,
        block: &mut MergedBlock,
        assembler: &mut RowAssembler,
        key: &[u8],
        row: StoredRow<'_>,
    ) -> Result<usize> {
        let (pushed, bytes) = match row {
            StoredRow::Row(row) => (assembler.push(key, row), row.len()),
            StoredRow::Tombstone if self.keeps_tombstones => (assembler.push_tombstone(key), 0),
            StoredRow::Tombstone => return Ok(0),
        };
        pushed.map_err(|corrupt| corrupt.at(self.snapshot.path(), key))?;
        let place = (self.segments.len(), assembler.len() - 1);
        block.push(key, place, row == StoredRow::Tombstone);
        Ok(bytes)
    }
}

impl MergedBlock {
    fn push(&mut self, key: &[u8], place: (usize, usize), is_tombstone: bool) {
        self.keys.append_value(key);
        self.key_bytes += key.len();
        self.picks.push(place);
        self.tombstones.push(is_tombstone);
    }

    fn push_stored(&mut self, stored: &StoredSegment, at: usize, rank: Rank, key: &[u8]) {
        self.push(key, (at, self.ranks[at].len()), stored.segment().is_tombstone(rank));
        self.ranks[at].push(rank);
    }
}

/// The rows at `picks`: the place of a source, and a row of its columns.
pub(crate) fn interleaved(sources: &[Vec<ArrayRef>], picks: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
    let width = sources.first().map_or(0, Vec::len);
    if let [only] = sources {
        return Ok(only.clone());
    }
    let column = |at: usize| {
        let arrays: Vec<&dyn arrow::array::Array> =
            sources.iter().map(|source| source[at].as_ref()).collect();
        interleave(&arrays, picks).map_err(Error::of_arrow)
    };
    (0..width).map(column).collect()
}

/// The cursor with the next key.
pub(crate) fn next_of(cursors: &[SegmentCursor], direction: Direction) -> Option<usize> {
    let keys = cursors.iter().enumerate().filter_map(|(at, cursor)| Some((at, cursor.peek()?.1)));
    keys.min_by(|(_, left), (_, right)| direction.compare(left, right)).map(|(at, _)| at)
}
