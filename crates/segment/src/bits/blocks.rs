//! Blocks of integers, each with a line of its own and as many bits as its distances need.
//!
//! # Layout
//!
//! Two sections:
//!
//! ```text
//! headers     for each block: base u64 | slope u64 | byte of its first number in `payload` << 7 + width of a number
//! payload     the distances of each block from its line, packed; then padding, see `packed`
//! ```
//!
//! # Invariants
//!
//! Every block has the same count of numbers, but the last one may have fewer. [`Headers::open`] has compared the
//! places of all blocks with the bytes of the payload, so that every [`Header`] is inside.
//!
//! # Cost
//!
//! 24 bytes a block. A random read touches the header and one place of the payload. The headers are read when the
//! file is opened and stay in memory or in its mapping.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::Result;
use basalt_base::region::Section;

use super::line::Line;
use super::packed::{PADDING_BYTES, WIDTH_MAX, number_in, pack, packed_bytes, unpack, window};
use crate::Place;
use crate::file::{PendingComponent, Spool, SpoolPlace};

const HEADER_BYTES: usize = 3 * WORD_BYTES;
const WORD_BYTES: usize = size_of::<u64>();
/// Bits of a width.
const WIDTH_BITS: u32 = 7;

/// Writes blocks.
#[derive(Debug)]
pub(crate) struct BlocksBuilder {
    headers: Spool,
    payload: Spool,
    packed: Vec<u8>,
}

impl BlocksBuilder {
    pub(crate) fn new(place: &SpoolPlace) -> BlocksBuilder {
        BlocksBuilder { headers: place.spool(), payload: place.spool(), packed: Vec::new() }
    }

    pub(crate) fn push(&mut self, block: &[u64]) -> Result<()> {
        let (line, width) = Line::of(block);
        let place = self.payload.len() << WIDTH_BITS | u64::from(width);
        for word in [line.base, line.slope, place] {
            self.headers.write(&word.to_le_bytes())?;
        }
        self.packed.clear();
        pack(line.distances(block), width, &mut self.packed);
        self.payload.write(&self.packed)
    }

    /// Adds the two sections.
    pub(crate) fn finish(mut self, component: &mut PendingComponent) -> Result<()> {
        self.payload.write(&[0; PADDING_BYTES])?;
        component.section(self.headers);
        component.section(self.payload);
        Ok(())
    }
}

/// The bits that a block takes with its header.
pub(crate) fn block_bits(block: &[u64]) -> u64 {
    let (_, width) = Line::of(block);
    (8 * (HEADER_BYTES + packed_bytes(block.len(), width))) as u64
}

/// The headers of all blocks.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    section: Section,
}

/// A block whose numbers are inside of the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    line: Line,
    offset: usize,
    width: u32,
}

impl Headers {
    /// `section` is checked to describe `count` numbers in blocks of `block`, packed in `payload` bytes.
    pub(crate) fn open(
        section: Section,
        count: usize,
        block: usize,
        payload: usize,
        place: &Place,
    ) -> Result<Headers> {
        if section.len() != count.div_ceil(block).saturating_mul(HEADER_BYTES) {
            return Err(place.corrupt(format!("{} bytes of headers for {count} numbers", section.len())));
        }
        let headers = Headers { section };
        let mut left = count;
        for index in 0..count.div_ceil(block) {
            let header = headers.get(index).filter(|header| header.is_inside(left.min(block), payload));
            if header.is_none() {
                return Err(place.corrupt(format!("block {index} is outside of its section")));
            }
            left = left.saturating_sub(block);
        }
        Ok(headers)
    }

    /// `None` if there is no such block.
    #[inline(always)]
    pub(crate) fn get(&self, block: usize) -> Option<Header> {
        let header = self.section.as_chunks::<HEADER_BYTES>().0.get(block)?;
        let [base, slope, place] = [0, 1, 2].map(|word| {
            let bytes = header.as_chunks::<WORD_BYTES>().0.get(word).copied();
            bytes.map_or(0, u64::from_le_bytes)
        });
        let offset = usize::try_from(place >> WIDTH_BITS).ok()?;
        let width = u32::try_from(place & ((1 << WIDTH_BITS) - 1)).ok()?;
        Some(Header { line: Line { base, slope }, offset, width })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.section.len()
    }
}

impl Header {
    fn is_inside(self, count: usize, payload: usize) -> bool {
        let needed = packed_bytes(count, self.width).saturating_add(PADDING_BYTES);
        self.width <= WIDTH_MAX && payload.checked_sub(needed).is_some_and(|last| self.offset <= last)
    }

    /// The bytes of the payload that [`Header::number`] needs.
    #[inline(always)]
    pub(crate) fn window(self, index: usize) -> Range<usize> {
        if self.width == 0 {
            return self.offset..self.offset;
        }
        let window = window(index, self.width);
        self.offset.saturating_add(window.start)..self.offset.saturating_add(window.end)
    }

    /// Number `index` of the block; some number if `window` is too short.
    #[inline(always)]
    pub(crate) fn number(self, index: usize, window: &[u8]) -> u64 {
        let distance = window.first_chunk().map_or(0, |window| number_in(window, index, self.width));
        self.line.at(index as u64).wrapping_add(distance)
    }

    /// The bytes of the payload that [`Header::unpack`] needs for the numbers before `end`.
    #[inline]
    pub(crate) fn bytes(self, end: usize) -> Range<usize> {
        let end = packed_bytes(end, self.width).saturating_add(PADDING_BYTES);
        self.offset..self.offset.saturating_add(end)
    }

    /// Fills `out` with the numbers of the block from `first` on.
    #[inline]
    pub(crate) fn unpack(self, bytes: &[u8], first: usize, out: &mut [u64]) {
        unpack(bytes, first, self.width, out);
        self.line.add_to(first as u64, out);
    }
}
