//! Floats that came from decimals, as the integers of their digits.
//!
//! After Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression" (SIGMOD 2024), section 3.1, with
//! one scale for the whole column, so that a value is read alone. A value that its digits do not give back bit by bit
//! is an *exception*, which is stored apart.
//!
//! # Layout
//!
//! The numbers and sections of [`super::packed`], for the digits, then:
//!
//! ```text
//! exponent, factor     a value is digits * 10^factor * 10^-exponent
//! ranks                of the exceptions, see `bits::ranks`
//! images               a section: the image of each exception u64
//! ```
//!
//! # Cost
//!
//! As [`super::packed`], and a binary search among the exceptions near the rank if there are any.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::region::Section;
use basalt_base::{Error, Result};
use basalt_codec::DecimalScale;

use super::image::{FloatWidth, image_of_signed, signed_of_image};
use super::numbers::{Images, ImagesBuilder};
use super::packed::{Multiples, Packed, PackedBuilder};
use crate::Rank;
use crate::bits::packed::bits_of;
use crate::bits::ranks::{MEMBER_BITS, Ranks, RanksBuilder};
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};

pub(super) const ENCODING: &str = "decimal";

/// Digits are less than this. The "digits" of a huge number may give it back too, but they take all bits of a block.
const DIGITS_END: u64 = 1 << 51;

const IMAGE_BYTES: usize = size_of::<u64>();

/// A scale, and what a sample takes with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecimalCost {
    pub(super) scale: DecimalScale,
    /// Bits of a value, with its share of the exceptions.
    pub(super) bits: f64,
    /// The share of the exceptions.
    pub(super) exceptions: f64,
}

impl DecimalCost {
    /// The best scale for a sample of images; `None` if there is no sample.
    pub(super) fn of(sample: &[u64], width: FloatWidth) -> Option<DecimalCost> {
        let scales = (0..=DecimalScale::EXPONENT_MAX).flat_map(|exponent| {
            (0..=exponent).filter_map(move |factor| DecimalScale::new(exponent, factor))
        });
        let costs = scales.filter(|_| !sample.is_empty()).map(|scale| cost(scale, sample, width));
        costs.min_by(|left, right| left.bits.total_cmp(&right.bits))
    }
}

fn cost(scale: DecimalScale, sample: &[u64], width: FloatWidth) -> DecimalCost {
    let (mut low, mut high, mut exceptions) = (i64::MAX, i64::MIN, 0_u32);
    for &image in sample {
        match digits(scale, width, image) {
            Some(digits) => (low, high) = (low.min(digits), high.max(digits)),
            None => exceptions += 1,
        }
    }
    let span = if low <= high { high.wrapping_sub(low).cast_unsigned() } else { 0 };
    let exceptions = f64::from(exceptions) / sample.len() as f64;
    let bits = f64::from(bits_of(span)) + exceptions * (MEMBER_BITS + u64::from(u64::BITS)) as f64;
    DecimalCost { scale, bits, exceptions }
}

/// The digits that give the float back; `None` for an exception.
#[inline]
fn digits(scale: DecimalScale, width: FloatWidth, image: u64) -> Option<i64> {
    let digits = scale.digits(width.number(image));
    let is_short = digits.unsigned_abs() < DIGITS_END;
    (is_short && width.image(scale.number(digits)) == image).then_some(digits)
}

pub(super) struct DecimalsBuilder {
    scale: DecimalScale,
    width: FloatWidth,
    packed: PackedBuilder,
    digits: Vec<u64>,
    /// Stands for an exception: the digits of the value before it take no extra bits.
    last: u64,
    ranks: RanksBuilder,
    exceptions: Spool,
    count: u32,
}

impl DecimalsBuilder {
    pub(super) fn new(scale: DecimalScale, width: FloatWidth, place: &SpoolPlace) -> DecimalsBuilder {
        DecimalsBuilder {
            scale,
            width,
            packed: PackedBuilder::new(Multiples::ALL, place),
            digits: Vec::new(),
            last: image_of_signed(0),
            ranks: RanksBuilder::new(place),
            exceptions: place.spool(),
            count: 0,
        }
    }
}

impl ImagesBuilder for DecimalsBuilder {
    fn push(&mut self, images: &[u64]) -> Result<()> {
        self.digits.clear();
        for &image in images {
            match digits(self.scale, self.width, image) {
                Some(digits) => self.last = image_of_signed(digits),
                None => {
                    self.ranks.push(self.count)?;
                    self.exceptions.write(&image.to_le_bytes())?;
                }
            }
            self.digits.push(self.last);
            self.count += 1;
        }
        self.packed.push(&self.digits)
    }

    fn finish(self: Box<Self>, component: &mut PendingComponent) -> Result<()> {
        Box::new(self.packed).finish(component)?;
        component.number(u64::from(self.scale.exponent()));
        component.number(u64::from(self.scale.factor()));
        self.ranks.finish(self.count, component)?;
        component.section(self.exceptions);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Decimals {
    digits: Packed,
    scale: DecimalScale,
    width: FloatWidth,
    ranks: Ranks,
    exceptions: Section,
}

impl Decimals {
    pub(super) fn open(component: &mut ComponentReader<'_>, width: FloatWidth) -> Result<Decimals> {
        let digits = Packed::open(component)?;
        let mut small = || u8::try_from(component.number_to(u64::from(u8::MAX))?).map_err(Error::logical);
        let (exponent, factor) = (small()?, small()?);
        let scale = DecimalScale::new(exponent, factor)
            .ok_or_else(|| component.place().corrupt(format!("no scale has the exponent {exponent}")))?;
        let ranks = Ranks::open(component, digits.len())?;
        let exceptions = component.resident_of((ranks.len() * IMAGE_BYTES) as u64)?;
        Ok(Decimals { digits, scale, width, ranks, exceptions })
    }

    #[inline(always)]
    fn image(&self, digits: u64) -> u64 {
        self.width.image(self.scale.number(signed_of_image(digits)))
    }

    #[inline]
    fn exception(&self, position: usize) -> u64 {
        let images = self.exceptions.as_chunks::<IMAGE_BYTES>().0;
        images.get(position).map_or(0, |image| u64::from_le_bytes(*image))
    }
}

impl Images for Decimals {
    fn len(&self) -> u32 {
        self.digits.len()
    }

    fn take(&self, ranks: &[Rank], out: &mut Vec<u64>) -> Result<()> {
        let mut buffer = Vec::new();
        for &rank in ranks {
            let digits = self.digits.get(rank, &mut buffer)?;
            let position = if self.ranks.len() == 0 { None } else { self.ranks.position(rank) };
            out.push(position.map_or_else(|| self.image(digits), |position| self.exception(position)));
        }
        Ok(())
    }

    fn read_ahead(&self, ranks: Range<Rank>) {
        self.digits.read_ahead(ranks);
    }

    fn scan(&self, first: Rank, out: &mut [u64], buffer: &mut Vec<u8>) -> Result<()> {
        self.digits.scan(first, out, buffer)?;
        out.iter_mut().for_each(|number| *number = self.image(*number));
        let end = first.saturating_add(u32::try_from(out.len()).unwrap_or(u32::MAX));
        self.ranks.each_in(first..end, |rank, position| {
            if let Some(number) = out.get_mut((rank - first) as usize) {
                *number = self.exception(position);
            }
        });
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        self.digits.stored_bytes() + (self.ranks.bytes() + self.exceptions.len()) as u64
    }
}
