//! Reads rows of a column file through the cache of decoded blocks.
//!
//! A *piece* is [`BLOCK_GRANULES_MAX`] granules, counted from the start of the part: no block of any column crosses
//! the end of one. So a scan that reads all columns piece by piece decodes no block twice, and gets slices of
//! cached arrays without a copy.
//!
//! The cache has whole pieces, which scans read, and single blocks, for queries that need little of a piece:
//! looking up one row does not decode eight blocks of a wide column.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, filter};
use arrow::datatypes::UInt32Type;

use super::cache::{BlockCache, BlockKey};
use super::file::{ColumnFile, Tail};
use super::reader::{OpenColumn, ReadScratch};
use crate::error::Result;
use crate::metrics::ReadMetrics;

/// A column of a part, read by one thread. The file is opened on first use.
#[derive(Debug)]
pub(crate) struct ColumnReader {
    file: Arc<ColumnFile>,
    open: Option<OpenColumn>,
}

/// Everything that a read needs besides the file.
pub(crate) struct ReadContext<'a> {
    pub(crate) cache: Option<&'a Arc<BlockCache>>,
    pub(crate) metrics: &'a ReadMetrics,
    pub(crate) scratch: &'a mut ReadScratch,
}

impl ColumnReader {
    pub(crate) fn new(file: &Arc<ColumnFile>) -> ColumnReader {
        ColumnReader { file: Arc::clone(file), open: None }
    }

    /// The values of `rows`.
    pub(crate) fn read(&mut self, rows: Range<u64>, ctx: &mut ReadContext<'_>) -> Result<ArrayRef> {
        if ctx.cache.is_none() {
            return self.open()?.read(rows, ctx.scratch, ctx.metrics);
        }
        let mut arrays = Vec::new();
        for piece in self.pieces(&rows) {
            self.read_piece(piece, None, ctx, &mut arrays)?;
        }
        self.join(arrays)
    }

    /// Granules of each of the file's blocks but the last.
    pub(crate) fn block_granules(&mut self) -> Result<usize> {
        Ok(usize::from(self.tail()?.footer.block_granules))
    }

    /// The values of those of `rows` whose bit is set. A block without a set bit is not read.
    pub(crate) fn read_selected(
        &mut self,
        rows: Range<u64>,
        selected: &BooleanBuffer,
        ctx: &mut ReadContext<'_>,
    ) -> Result<ArrayRef> {
        let mut arrays = Vec::new();
        for piece in self.pieces(&rows) {
            let offset = (piece.start - rows.start) as usize;
            let bits = selected.slice(offset, (piece.end - piece.start) as usize);
            if bits.count_set_bits() > 0 {
                self.read_piece(piece, Some(&bits), ctx, &mut arrays)?;
            }
        }
        self.join(arrays)
    }

    /// `rows`, split at the ends of pieces.
    fn pieces(&self, rows: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let (rows, piece_rows) = (rows.clone(), self.file.piece_rows());
        let first = rows.start / piece_rows;
        let count = rows.end.div_ceil(piece_rows).saturating_sub(first);
        let count = if rows.is_empty() { 0 } else { count };
        (first..first + count)
            .map(move |piece| rows.start.max(piece * piece_rows)..rows.end.min((piece + 1) * piece_rows))
    }

    /// Appends the values of `rows`, or of the selected ones; all are in one piece.
    fn read_piece(
        &mut self,
        rows: Range<u64>,
        selected: Option<&BooleanBuffer>,
        ctx: &mut ReadContext<'_>,
        arrays: &mut Vec<ArrayRef>,
    ) -> Result<()> {
        let tail = self.tail()?;
        let piece_rows = self.file.piece_rows();
        let first = rows.start / piece_rows * piece_rows;
        let whole = tail.blocks_of(&(first..(first + piece_rows).min(self.file.row_count())));
        let wanted: Vec<u32> = tail
            .blocks_of(&rows)
            .filter(|&block| {
                let part = intersection(&tail.rows_of_block(block), &rows);
                selected.is_none_or(|bits| slice(bits, &part, rows.start).count_set_bits() > 0)
            })
            .collect();
        if let Some(array) = self.read_whole(&whole, wanted.len(), ctx)? {
            arrays.push(pick(&array, &tail.rows_of(&whole), &rows, &rows, selected)?);
            return Ok(());
        }
        for block in wanted {
            let array = self.read_blocks(block..block + 1, ctx)?;
            let in_block = tail.rows_of_block(block);
            arrays.push(pick(&array, &in_block, &intersection(&in_block, &rows), &rows, selected)?);
        }
        Ok(())
    }

    /// The blocks of a whole piece, if they are cached or most of them are needed.
    fn read_whole(
        &mut self,
        whole: &Range<u32>,
        wanted: usize,
        ctx: &mut ReadContext<'_>,
    ) -> Result<Option<ArrayRef>> {
        if wanted * 2 > whole.len() {
            return self.read_blocks(whole.clone(), ctx).map(Some);
        }
        Ok(ctx.cache.and_then(|cache| cache.peek(self.key(whole))))
    }

    /// The values of `blocks`, from the cache or from the file.
    fn read_blocks(&mut self, blocks: Range<u32>, ctx: &mut ReadContext<'_>) -> Result<ArrayRef> {
        let key = self.key(&blocks);
        if let Some(array) = ctx.cache.and_then(|cache| cache.get(key)) {
            return Ok(array);
        }
        if let Some(cache) = ctx.cache {
            self.file.remember_cache(cache);
        }
        let rows = self.tail()?.rows_of(&blocks);
        let array = self.open()?.read(rows, ctx.scratch, ctx.metrics)?;
        if let Some(cache) = ctx.cache {
            cache.insert(key, &array);
        }
        Ok(array)
    }

    fn key(&self, blocks: &Range<u32>) -> BlockKey {
        BlockKey { file: self.file.id(), first_block: blocks.start, block_count: blocks.len() as u32 }
    }

    fn open(&mut self) -> Result<&OpenColumn> {
        Ok(match &mut self.open {
            Some(open) => open,
            closed => closed.insert(self.file.open()?),
        })
    }

    fn tail(&mut self) -> Result<Arc<Tail>> {
        match self.file.tail() {
            Some(tail) => Ok(Arc::clone(tail)),
            None => Ok(Arc::clone(self.open()?.tail())),
        }
    }

    fn join(&mut self, mut arrays: Vec<ArrayRef>) -> Result<ArrayRef> {
        match arrays.len() {
            0 => self.open()?.empty(),
            1 => Ok(arrays.remove(0)),
            _ => join(&arrays),
        }
    }
}

/// Concatenates arrays of one file. Coded arrays keep the dictionary that they share.
fn join(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(first) = arrays[0].as_dictionary_opt::<UInt32Type>() else {
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        return Ok(concat(&arrays)?);
    };
    let keys: Vec<&dyn Array> =
        arrays.iter().map(|array| array.as_dictionary::<UInt32Type>().keys() as &dyn Array).collect();
    let keys = concat(&keys)?.as_primitive::<UInt32Type>().clone();
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(first.values()))?))
}

fn intersection(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// The bits of `rows`; the first bit belongs to row `first`.
fn slice(bits: &BooleanBuffer, rows: &Range<u64>, first: u64) -> BooleanBuffer {
    bits.slice((rows.start - first) as usize, (rows.end - rows.start) as usize)
}

/// Picks the rows `wanted`, or the selected ones of them, from `array`, which holds the rows `held`. The first bit
/// belongs to the first of `rows`.
fn pick(
    array: &ArrayRef,
    held: &Range<u64>,
    wanted: &Range<u64>,
    rows: &Range<u64>,
    selected: Option<&BooleanBuffer>,
) -> Result<ArrayRef> {
    let count = (wanted.end - wanted.start) as usize;
    let array = if wanted == held {
        Arc::clone(array)
    } else {
        array.slice((wanted.start - held.start) as usize, count)
    };
    let Some(bits) = selected.map(|bits| slice(bits, wanted, rows.start)) else { return Ok(array) };
    if bits.count_set_bits() == count {
        return Ok(array);
    }
    Ok(filter(&array, &BooleanArray::new(bits, None))?)
}
