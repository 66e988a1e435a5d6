//! The rows of several places in key order, a block at a time.
//!
//! The places have no key in common: of a key that several have, only the newest row is left.

use std::sync::Arc;

use arrow::array::builder::BinaryBuilder;
use arrow::array::{ArrayRef, BinaryArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::interleave;
use basalt_base::{Error, Result};
use basalt_kv::Direction;
use basalt_segment::{Rank, RowBlock, RowSource};

use crate::columns::{Picked, SegmentColumns};
use crate::cursor::SegmentCursor;
use crate::ranks::RankSet;
use crate::row_block::BlockWriter;
use crate::spec::TableSpec;
use crate::stored::StoredSegment;
use crate::work::WorkWatch;

/// Rows and bytes of keys of a block.
const BLOCK_ROWS: usize = 4096;
const BLOCK_KEY_BYTES: usize = 4 << 20;

/// Rows of several segments, merged.
pub(crate) struct MergedRows<'a> {
    pub(crate) spec: Arc<TableSpec>,
    /// Each with the ranks that are left out.
    pub(crate) segments: Vec<(Arc<StoredSegment>, Arc<RankSet>)>,
    pub(crate) watch: &'a dyn WorkWatch,
}

/// A block of merged rows: where each of them is.
#[derive(Default)]
pub(crate) struct MergedBlock {
    /// For each segment the ranks of its rows in the block.
    pub(crate) ranks: Vec<Vec<Rank>>,
    /// For each row its segment, and its place among the segment's ranks.
    pub(crate) picks: Vec<(usize, usize)>,
}

impl RowSource for MergedRows<'_> {
    fn read(&self, take: &mut dyn FnMut(&RowBlock) -> Result<()>) -> Result<()> {
        let writer = BlockWriter::new(&self.spec)?;
        let columns = SegmentColumns::new(&self.spec, &writer.reads())?;
        let open = |(stored, left_out): &(Arc<StoredSegment>, Arc<RankSet>)| {
            SegmentCursor::new(stored, Arc::clone(left_out), 0..stored.segment().rows(), Direction::Ascending)
        };
        let mut cursors = self.segments.iter().map(open).collect::<Result<Vec<_>>>()?;
        loop {
            let (keys, block) = next_block(&mut cursors)?;
            if block.picks.is_empty() {
                return Ok(());
            }
            self.watch.reads(block.picks.len() as u64)?;
            let arrays = block.read(&self.segments, &columns)?;
            take(&writer.block(keys, &arrays, self.tombstones(&block))?)?;
        }
    }
}

impl MergedRows<'_> {
    fn tombstones(&self, block: &MergedBlock) -> Option<BooleanBuffer> {
        let has_tombstones = self.segments.iter().any(|(stored, _)| stored.segment().file().tombstones() > 0);
        has_tombstones.then(|| {
            BooleanBuffer::collect_bool(block.picks.len(), |row| {
                let (source, place) = block.picks[row];
                self.segments[source].0.segment().is_tombstone(block.ranks[source][place])
            })
        })
    }
}

impl MergedBlock {
    /// The columns of the rows, in order.
    fn read(
        &self,
        segments: &[(Arc<StoredSegment>, Arc<RankSet>)],
        columns: &SegmentColumns,
    ) -> Result<Vec<ArrayRef>> {
        let sources = segments.iter().zip(&self.ranks);
        let sources = sources.map(|((stored, _), ranks)| columns.read(stored.segment(), &Picked::of(ranks)));
        interleaved(&sources.collect::<Result<Vec<_>>>()?, &self.picks)
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

/// The next rows of all cursors, and their keys.
fn next_block(cursors: &mut [SegmentCursor]) -> Result<(BinaryArray, MergedBlock)> {
    let mut block = MergedBlock { ranks: vec![Vec::new(); cursors.len()], picks: Vec::new() };
    let mut keys = BinaryBuilder::new();
    let mut key_bytes = 0;
    while block.picks.len() < BLOCK_ROWS && key_bytes < BLOCK_KEY_BYTES {
        let Some(least) = next_of(cursors, Direction::Ascending) else { break };
        if let Some((rank, key)) = cursors[least].peek() {
            keys.append_value(key);
            key_bytes += key.len();
            block.picks.push((least, block.ranks[least].len()));
            block.ranks[least].push(rank);
        }
        cursors[least].advance()?;
    }
    Ok((keys.finish(), block))
}

/// The cursor with the next key.
pub(crate) fn next_of(cursors: &[SegmentCursor], direction: Direction) -> Option<usize> {
    let keys = cursors.iter().enumerate().filter_map(|(at, cursor)| Some((at, cursor.peek()?.1)));
    keys.min_by(|(_, left), (_, right)| direction.compare(left, right)).map(|(at, _)| at)
}
