//! An array of packed integers that all have the same width.
//!
//! # Layout
//!
//! Two numbers and a section:
//!
//! ```text
//! count, width
//! bytes        the integers, packed; then padding, see `packed`
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::{Error, Result};

use super::packed::{PADDING_BYTES, Packer, WIDTH_MAX, number_in, packed_bytes, unpack, window};
use crate::file::{Bytes, ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{Place, ROWS_MAX, Rank};

/// Bytes that are packed before they go to the spool.
const PACKED_BYTES_MAX: usize = 8 << 10;
/// Integers that are read at a time; a multiple of 8, so that each stretch begins with a byte.
const STRETCH: usize = 1024;
/// Integers that the system reads together.
const AHEAD: usize = 64 * STRETCH;

#[derive(Debug)]
pub(crate) struct PackedArrayBuilder {
    spool: Spool,
    packer: Packer,
    packed: Vec<u8>,
    width: u32,
    count: u64,
}

impl PackedArrayBuilder {
    pub(crate) fn new(width: u32, place: &SpoolPlace) -> PackedArrayBuilder {
        let (spool, packer) = (place.spool(), Packer::new(width));
        PackedArrayBuilder { spool, packer, packed: Vec::new(), width, count: 0 }
    }

    /// Adds the low bits of `number`.
    pub(crate) fn push(&mut self, number: u64) -> Result<()> {
        self.packer.push(number, &mut self.packed);
        self.count += 1;
        if self.packed.len() < PACKED_BYTES_MAX {
            return Ok(());
        }
        self.spool.write(&self.packed)?;
        self.packed.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self, component: &mut PendingComponent) -> Result<()> {
        self.packer.finish(&mut self.packed);
        self.packed.extend_from_slice(&[0; PADDING_BYTES]);
        self.spool.write(&self.packed)?;
        component.number(self.count);
        component.number(u64::from(self.width));
        component.section(self.spool);
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct PackedArray {
    bytes: Bytes,
    width: u32,
    count: u32,
    place: Place,
}

impl PackedArray {
    pub(crate) fn open(component: &mut ComponentReader<'_>) -> Result<PackedArray> {
        let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let width = u32::try_from(component.number_to(u64::from(WIDTH_MAX))?).map_err(Error::logical)?;
        let (bytes, place) = (component.bytes()?, component.place().clone());
        match bytes.len() == packed_bytes(count as usize, width) + PADDING_BYTES {
            true => Ok(PackedArray { bytes, width, count, place }),
            false => Err(place.corrupt(format!("{} bytes for {count} numbers of {width} bits", bytes.len()))),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Integer `index`; an error if there is none. `buffer` is for bytes that are read.
    #[inline]
    pub(crate) fn get(&self, index: Rank, buffer: &mut Vec<u8>) -> Result<u64> {
        if index >= self.count {
            return Err(self.no_number(index));
        }
        let index = index as usize;
        let window = self.bytes.read(window(index, self.width), buffer)?;
        Ok(window.first_chunk().map_or(0, |window| number_in(window, index, self.width)))
    }

    /// Calls `take` with the integers of `range` in order, stretch by stretch.
    pub(crate) fn each_stretch(
        &self,
        range: Range<Rank>,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        if range.start > range.end || range.end > self.count {
            return Err(self.no_number(range.end));
        }
        let (mut at, end) = (range.start as usize, range.end as usize);
        let place = |index: usize| packed_bytes(index / STRETCH * STRETCH, self.width);
        let (mut numbers, mut buffer) = ([0; STRETCH], Vec::new());
        while at < end {
            if at == range.start as usize || at.is_multiple_of(AHEAD) {
                self.bytes.read_ahead(place(at)..place(end.min((at / AHEAD + 1) * AHEAD)));
            }
            let (stretch, first) = (at / STRETCH * STRETCH, at % STRETCH);
            let last = (end - stretch).min(STRETCH);
            let start = packed_bytes(stretch, self.width);
            let bytes = start..start + packed_bytes(last, self.width) + PADDING_BYTES;
            let bytes = self.bytes.read(bytes, &mut buffer)?;
            let numbers = &mut numbers[..last - first];
            unpack(bytes, first, self.width, numbers);
            take(numbers)?;
            at = stretch + last;
        }
        Ok(())
    }

    #[cold]
    fn no_number(&self, index: Rank) -> Error {
        self.place.corrupt(format!("value {index} of {} was referred to", self.count))
    }
}
