//! Reads a run of pairs of trigram and block, piece by piece.

use basalt_base::{Error, Result};

use super::query::Trigram;
use crate::file::{Spool, SpoolReader};

/// The bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// A run, of which one piece is in memory.
pub(super) struct RunReader {
    input: SpoolReader,
    bytes: Vec<u8>,
    at: usize,
    trigram: Option<Trigram>,
    blocks: Vec<u32>,
}

impl RunReader {
    /// Reads the first piece.
    pub(super) fn open(run: Spool) -> Result<RunReader> {
        let input = run.into_reader()?;
        let mut reader = RunReader { input, bytes: Vec::new(), at: 0, trigram: Some(0), blocks: Vec::new() };
        reader.advance()?;
        Ok(reader)
    }

    /// The trigram of the current piece; `None` at the end.
    pub(super) fn trigram(&self) -> Option<Trigram> {
        self.trigram
    }

    /// The blocks of the current piece.
    pub(super) fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Reads the next piece.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.blocks.clear();
        let Some(first) = self.byte()? else {
            self.trigram = None;
            return Ok(());
        };
        let step = self.number_from(first)?;
        self.trigram = self.trigram.and_then(|before| before.checked_add(step));
        let count = self.number()?;
        let mut block = 0_u32;
        for _ in 0..count {
            block = block.wrapping_add(self.number()?);
            self.blocks.push(block);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<u32> {
        let first = self.byte()?.ok_or_else(cut)?;
        self.number_from(first)
    }

    fn number_from(&mut self, first: u8) -> Result<u32> {
        let (mut byte, mut shift) = (first, 0);
        let mut number = u32::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?.ok_or_else(cut)?;
            shift += 7;
            number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        }
        Ok(number)
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        if self.at == self.bytes.len() {
            self.bytes.resize(READ_BYTES, 0);
            let read = self.input.read(&mut self.bytes)?;
            self.bytes.truncate(read);
            self.at = 0;
        }
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        Ok(byte)
    }
}

fn cut() -> Error {
    Error::logical("a run of trigrams ends inside a piece")
}
