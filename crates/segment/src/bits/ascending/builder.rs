//! Writes ascending integers.

use basalt_base::{Error, Result};

use super::layout::BLOCK_NUMBERS;
use super::shape::encode;
use crate::bits::packed::PADDING_BYTES;
use crate::file::{PendingComponent, Spool, SpoolPlace};

/// Takes integers in order.
#[derive(Debug)]
pub(crate) struct AscendingBuilder {
    headers: Spool,
    payload: Spool,
    block: Vec<u64>,
    count: u64,
    encoded: Vec<u8>,
}

impl AscendingBuilder {
    pub(crate) fn new(place: &SpoolPlace) -> AscendingBuilder {
        let (headers, payload) = (place.spool(), place.spool());
        AscendingBuilder { headers, payload, block: Vec::new(), count: 0, encoded: Vec::new() }
    }

    /// An error if `number` is not greater than the one before.
    pub(crate) fn push(&mut self, number: u64) -> Result<()> {
        if self.block.last().is_some_and(|&last| last >= number) {
            return Err(Error::logical(format!("{number} follows a number that is not less")));
        }
        if self.block.len() == BLOCK_NUMBERS {
            self.flush()?;
        }
        self.block.push(number);
        self.count += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(&first) = self.block.first() else { return Ok(()) };
        self.encoded.clear();
        let (words, low) = encode(&self.block, &mut self.encoded);
        let place = self.payload.len() << 16 | (words as u64) << 8 | u64::from(low);
        self.headers.write(&first.to_le_bytes())?;
        self.headers.write(&place.to_le_bytes())?;
        self.payload.write(&self.encoded)?;
        self.block.clear();
        Ok(())
    }

    /// Adds a number and two sections.
    pub(crate) fn finish(mut self, component: &mut PendingComponent) -> Result<()> {
        self.flush()?;
        component.number(self.count);
        self.payload.write(&[0; PADDING_BYTES])?;
        component.section(self.headers);
        component.section(self.payload);
        Ok(())
    }
}
