//! A growing list of bits: which values are not NULL, which rows are alive.

use basalt_base::Result;

use super::Bytes;
use crate::image::{ImageReader, ImageWriter};

#[derive(Debug, Default)]
pub(crate) struct Bitmap {
    bytes: Bytes,
    len: usize,
}

/// The bits of a [`Bitmap`], in memory or in a file.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a>(&'a [u8]);

impl Bitmap {
    /// `len` bits that are all clear.
    pub(crate) fn zeroes(len: usize) -> Bitmap {
        Bitmap { bytes: Bytes::zeroes(len.div_ceil(8)), len }
    }

    pub(crate) fn push(&mut self, bit: bool) {
        let bytes = self.bytes.to_mut();
        if self.len.is_multiple_of(8) {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(bit) << (self.len % 8);
        }
        self.len += 1;
    }

    pub(crate) fn set(&mut self, index: usize) {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.bytes.to_mut()[index / 8] |= 1 << (index % 8);
    }

    /// See [`Bits::get`].
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> bool {
        self.bits().get(index)
    }

    /// The bits, for many reads.
    pub(crate) fn bits(&self) -> Bits<'_> {
        Bits(&self.bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn count(&self) -> usize {
        self.bytes.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// For each bit, the number of set bits before it.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let mut next = 0;
        let rank = |index| {
            let rank = next;
            next += u32::from(self.get(index));
            rank
        };
        (0..self.len).map(rank).collect()
    }

    /// The positions of the set bits.
    pub(crate) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len).filter(|&index| self.get(index))
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }

    pub(crate) fn check(&self, index: usize) -> Result<()> {
        self.bytes.check(index / 8..index / 8 + 1)
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.len as u64);
        image.section(&self.bytes)
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Bitmap> {
        let len = image.count()?;
        Ok(Bitmap { bytes: Bytes::Shared(image.section_of(Some(len.div_ceil(8)))?), len })
    }

    pub(crate) fn save_optional(bits: Option<&Bitmap>, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(bits.is_some());
        bits.map_or(Ok(()), |bits| bits.save(image))
    }

    pub(crate) fn open_optional(image: &mut ImageReader<'_>) -> Result<Option<Bitmap>> {
        if image.flag()? { Bitmap::open(image).map(Some) } else { Ok(None) }
    }
}

impl Bits<'_> {
    /// Whether bit `index` is set; bits after the end are clear.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_they_were_put() {
        let mut bits = Bitmap::default();
        (0..200).for_each(|index| bits.push(index % 3 == 0));
        assert_eq!(bits.ones().collect::<Vec<_>>(), (0..200).step_by(3).collect::<Vec<_>>());
        assert_eq!((bits.len(), bits.count(), bits.get(1000)), (200, 67, false));
        assert_eq!(bits.ranks()[..7], [0, 1, 1, 1, 2, 2, 2]);
    }
}
