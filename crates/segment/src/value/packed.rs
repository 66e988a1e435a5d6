//! Images in blocks of 1024, each with a base, a slope and as few bits as its distances need.
//!
//! # Layout
//!
//! Three numbers, and the two sections of [`crate::bits::blocks`]:
//!
//! ```text
//! count
//! base, scale    an image is base + scale * number of the block
//! ```
//!
//! # Cost
//!
//! A random read touches the header of the block, which is resident, and one place of the payload.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::{Error, Result};

use super::numbers::{Images, ImagesBuilder, STRETCH, no_value};
use crate::bits::blocks::{BlocksBuilder, Headers};
use crate::file::{Bytes, ComponentReader, PendingComponent, SpoolPlace};
use crate::{ROWS_MAX, Rank};

pub(super) const ENCODING: &str = "packed";

/// Images of a block.
pub(super) const BLOCK: usize = STRETCH as usize;

/// All images are a base and a multiple of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Multiples {
    pub(super) base: u64,
    /// At least 1.
    pub(super) scale: u64,
}

impl Multiples {
    pub(super) const ALL: Multiples = Multiples { base: 0, scale: 1 };
}

pub(super) struct PackedBuilder {
    blocks: BlocksBuilder,
    block: Vec<u64>,
    multiples: Multiples,
    count: u64,
}

impl PackedBuilder {
    pub(super) fn new(multiples: Multiples, place: &SpoolPlace) -> PackedBuilder {
        let (blocks, block) = (BlocksBuilder::new(place), Vec::with_capacity(BLOCK));
        PackedBuilder { blocks, block, multiples, count: 0 }
    }

    fn flush(&mut self) -> Result<()> {
        self.blocks.push(&self.block)?;
        self.block.clear();
        Ok(())
    }

    fn number(&self, image: u64) -> Result<u64> {
        let Multiples { base, scale } = self.multiples;
        match image.checked_sub(base) {
            Some(distance) if distance.is_multiple_of(scale) => Ok(distance / scale),
            _ => Err(Error::logical("a number is not one of the multiples of the sample")),
        }
    }
}

impl ImagesBuilder for PackedBuilder {
    fn push(&mut self, images: &[u64]) -> Result<()> {
        self.count += images.len() as u64;
        let mut rest = images;
        while !rest.is_empty() {
            let (front, back) = rest.split_at(rest.len().min(BLOCK - self.block.len()));
            match self.multiples {
                Multiples::ALL => self.block.extend_from_slice(front),
                _ => {
                    for &image in front {
                        let number = self.number(image)?;
                        self.block.push(number);
                    }
                }
            }
            if self.block.len() == BLOCK {
                self.flush()?;
            }
            rest = back;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, component: &mut PendingComponent) -> Result<()> {
        if !self.block.is_empty() {
            self.flush()?;
        }
        component.number(self.count);
        component.number(self.multiples.base);
        component.number(self.multiples.scale);
        self.blocks.finish(component)
    }
}

#[derive(Debug)]
pub(super) struct Packed {
    headers: Headers,
    payload: Bytes,
    multiples: Multiples,
    count: u32,
}

impl Packed {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<Packed> {
        let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let multiples = Multiples { base: component.number()?, scale: component.number()? };
        let (headers, payload) = (component.resident()?, component.bytes()?);
        let headers = Headers::open(headers, count as usize, BLOCK, payload.len(), component.place())?;
        Ok(Packed { headers, payload, multiples, count })
    }

    #[inline]
    pub(super) fn get(&self, rank: Rank, buffer: &mut Vec<u8>) -> Result<u64> {
        let (block, index) = (rank as usize / BLOCK, rank as usize % BLOCK);
        let Some(header) = self.headers.get(block).filter(|_| rank < self.count) else {
            return Err(no_value(rank, self.count));
        };
        Ok(self.image(header.number(index, self.payload.read(header.window(index), buffer)?)))
    }

    #[inline(always)]
    fn image(&self, number: u64) -> u64 {
        let Multiples { base, scale } = self.multiples;
        number.wrapping_mul(scale).wrapping_add(base)
    }
}

impl Images for Packed {
    fn len(&self) -> u32 {
        self.count
    }

    fn take(&self, ranks: &[Rank], out: &mut Vec<u64>) -> Result<()> {
        let mut buffer = Vec::new();
        for &rank in ranks {
            out.push(self.get(rank, &mut buffer)?);
        }
        Ok(())
    }

    fn read_ahead(&self, ranks: Range<Rank>) {
        if let Some(last) = ranks.end.checked_sub(1)
            && let Some(first) = self.headers.get(ranks.start as usize / BLOCK)
            && let Some(last) = self.headers.get(last as usize / BLOCK)
        {
            self.payload.read_ahead(first.bytes(0).start..last.bytes(BLOCK).end);
        }
    }

    fn scan(&self, first: Rank, out: &mut [u64], buffer: &mut Vec<u8>) -> Result<()> {
        let (block, index) = (first as usize / BLOCK, first as usize % BLOCK);
        let end = index + out.len();
        let is_inside = end <= BLOCK && block * BLOCK + end <= self.count as usize;
        let Some(header) = self.headers.get(block).filter(|_| is_inside) else {
            return Err(no_value(first, self.count));
        };
        header.unpack(self.payload.read(header.bytes(end), buffer)?, index, out);
        if self.multiples != Multiples::ALL {
            out.iter_mut().for_each(|number| *number = self.image(*number));
        }
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        (self.headers.bytes() + self.payload.len()) as u64
    }
}
