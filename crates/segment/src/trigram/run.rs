//! Pairs of trigram and block, sorted and spilled: a run of the external sort that builds posting lists.
//!
//! Blocks are finished in ascending order, so all blocks of a run are before those of the next one. Merging
//! concatenates the pieces of a trigram in the order of runs.
//!
//! # Layout
//!
//! Pieces in order of trigrams; a trigram may have several. All numbers are variable-length integers of seven bits a
//! byte, the lowest first:
//!
//! ```text
//! trigram less the one before | count | first block | differences of the others
//! ```

use basalt_base::Result;

use super::query::Trigram;
use super::run_reader::RunReader;
use crate::file::Spool;

/// The blocks of a piece, at most.
pub(super) const PIECE_BLOCKS_MAX: usize = 1 << 12;
const FLUSHED_BYTES: usize = 64 << 10;

/// Writes a run.
pub(super) struct RunWriter {
    out: Spool,
    bytes: Vec<u8>,
    before: Trigram,
}

impl RunWriter {
    pub(super) fn new(out: Spool) -> RunWriter {
        RunWriter { out, bytes: Vec::new(), before: 0 }
    }

    /// Adds blocks of `trigram`, which ascend; trigrams and the blocks of one must ascend too.
    pub(super) fn push(&mut self, trigram: Trigram, blocks: &[u32]) -> Result<()> {
        for piece in blocks.chunks(PIECE_BLOCKS_MAX) {
            push_number(trigram - self.before, &mut self.bytes);
            push_number(piece.len() as u32, &mut self.bytes);
            let mut before = 0;
            for &block in piece {
                push_number(block - before, &mut self.bytes);
                before = block;
            }
            self.before = trigram;
            if self.bytes.len() > FLUSHED_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Spool> {
        self.flush()?;
        Ok(self.out)
    }
}

fn push_number(mut number: u32, out: &mut Vec<u8>) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Hands the pieces of all `runs` to `take`, in the order of trigrams and of blocks.
pub(super) fn merge(runs: Vec<Spool>, mut take: impl FnMut(Trigram, &[u32]) -> Result<()>) -> Result<()> {
    let mut readers = runs.into_iter().map(RunReader::open).collect::<Result<Vec<_>>>()?;
    let mut pieces = 0_u32;
    while let Some(trigram) = readers.iter().filter_map(RunReader::trigram).min() {
        for reader in &mut readers {
            while reader.trigram() == Some(trigram) {
                take(trigram, reader.blocks())?;
                reader.advance()?;
                pieces = pieces.wrapping_add(1);
                if pieces.is_multiple_of(PIECE_BLOCKS_MAX as u32) {
                    basalt_base::query::checkpoint()?;
                }
            }
        }
    }
    Ok(())
}
