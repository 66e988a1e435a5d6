//! Reads Native into the columns of a table.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, ErrorCode, Result};

use super::decoder::{BlockDecoder, BlockLimits};
use crate::binary::Matching;
use crate::block::{Block, BlockReader, BlockSource, Defaulted, TypeConverter};
use crate::settings::FormatSettings;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// The revision of blocks in files and in requests: whatever a client asks for, it sends this one.
const REVISION_OF_INPUT: u64 = 0;

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    converter: Option<Arc<dyn TypeConverter>>,
) -> Result<Box<dyn BlockReader>> {
    if columns.is_empty() {
        return Err(Error::new(ErrorCode::BadArguments, "there are no columns to read into"));
    }
    let limits = BlockLimits { bytes_max: settings.max_row_bytes as u64 };
    let source = NativeSource {
        input: BufReader::with_capacity(BUFFER_BYTES, input),
        decoder: BlockDecoder::new(REVISION_OF_INPUT, limits)?,
    };
    Ok(open_blocks(Box::new(source), columns, settings, converter))
}

/// Opens a reader of blocks that the caller has: their columns are matched with `columns` as those of a file.
pub fn open_blocks(
    source: Box<dyn BlockSource>,
    columns: &Columns,
    settings: &FormatSettings,
    converter: Option<Arc<dyn TypeConverter>>,
) -> Box<dyn BlockReader> {
    Box::new(MatchingReader {
        source,
        matching: Matching::new(columns, settings, converter),
        rows_max: settings.max_block_rows.max(1),
        ready: VecDeque::new(),
    })
}

/// The columns of the first block.
pub(crate) fn columns_of(input: &mut dyn BufRead, settings: &FormatSettings) -> Result<Columns> {
    let limits = BlockLimits { bytes_max: settings.max_row_bytes as u64 };
    match BlockDecoder::new(REVISION_OF_INPUT, limits)?.read(input)? {
        Some((columns, _)) if !columns.is_empty() => Ok(columns),
        _ => {
            let what = "an empty file in format Native has no columns; name them";
            Err(Error::new(ErrorCode::CannotExtractTableStructure, what))
        }
    }
}

/// The blocks of a stream in format Native.
struct NativeSource {
    input: BufReader<Box<dyn Read + Send>>,
    decoder: BlockDecoder,
}

impl BlockSource for NativeSource {
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>> {
        self.decoder.read(&mut self.input)
    }
}

/// Blocks in the columns of a table.
struct MatchingReader {
    source: Box<dyn BlockSource>,
    matching: Matching,
    rows_max: usize,
    /// Slices of the last block.
    ready: VecDeque<Block>,
}

impl BlockReader for MatchingReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Ok(Some(block));
            }
            let Some((found, batch)) = self.source.next_block()? else { return Ok(None) };
            let block = self.matched(&found, &batch)?;
            self.ready.extend(slices(&block, self.rows_max));
        }
    }
}

impl MatchingReader {
    fn matched(&self, found: &Columns, batch: &RecordBatch) -> Result<Block> {
        let positions = self.matching.positions(found)?;
        let given = vec![Defaulted::Never; found.len()];
        self.matching.block(found, &positions, batch.columns(), &given, batch.num_rows())
    }
}

/// The block in parts of at most `rows_max` rows; none if it is empty.
fn slices(block: &Block, rows_max: usize) -> impl Iterator<Item = Block> {
    let rows = block.batch.num_rows();
    (0..rows).step_by(rows_max).map(move |start| {
        let length = rows_max.min(rows - start);
        let defaulted = block.defaulted.iter().map(|missing| match missing {
            Defaulted::Rows(bits) => Defaulted::Rows(bits.slice(start, length)),
            whole => whole.clone(),
        });
        Block { batch: block.batch.slice(start, length), defaulted: defaulted.collect() }
    })
}
