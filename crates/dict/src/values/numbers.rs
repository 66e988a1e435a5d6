//! Integers of one type by position, in memory or in a file.

use std::fmt;
use std::marker::PhantomData;

use basalt_base::Result;

use super::Bytes;
use crate::image::{ImageReader, ImageWriter};

/// Little-endian, without padding.
pub(crate) struct Numbers<T> {
    bytes: Bytes,
    number: PhantomData<T>,
}

/// An integer, or some floats, of a fixed width.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    /// The number at a position; `None` after the last one.
    fn read(bytes: &[u8], at: usize) -> Option<Self>;

    fn append(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($ty:ty),+) => {
        $(impl Number for $ty {
            #[inline(always)]
            fn read(bytes: &[u8], at: usize) -> Option<$ty> {
                bytes.as_chunks().0.get(at).map(|bytes| <$ty>::from_le_bytes(*bytes))
            }

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

numbers!(u8, u32, u64, i64, i128, u128);

/// An array of floats as one value.
impl<const N: usize> Number for [f64; N] {
    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> Option<[f64; N]> {
        let floats = bytes.as_chunks().0.get(at.checked_mul(N)?..at.checked_mul(N)?.checked_add(N)?)?;
        Some(std::array::from_fn(|number| f64::from_le_bytes(floats[number])))
    }

    fn append(self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|float| bytes.extend_from_slice(&float.to_le_bytes()));
    }
}

/// Numbers that are appended at once.
const BATCH: usize = 4096;

impl<T: Number> Numbers<T> {
    pub(crate) fn extend(&mut self, numbers: impl IntoIterator<Item = T>) {
        let (bytes, mut batch) = (self.bytes.to_mut(), Vec::new());
        for number in numbers {
            number.append(&mut batch);
            if batch.len() >= BATCH {
                bytes.extend_from_slice(&batch);
                batch.clear();
            }
        }
        bytes.extend_from_slice(&batch);
    }

    /// The number at a position; `None` after the last one.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Option<T> {
        T::read(&self.bytes, at)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// The number of leading numbers for which `holds` is true; it must be false for all others. An error if `check`
    /// finds that a number it reads is damaged.
    pub(crate) fn partition_point(
        &self,
        check: impl Fn(usize) -> Result<()>,
        holds: impl Fn(T) -> bool,
    ) -> Result<usize> {
        let (mut left, mut right) = (0, self.len());
        while left < right {
            let middle = left.midpoint(right);
            check(middle)?;
            if self.get(middle).is_some_and(&holds) { left = middle + 1 } else { right = middle }
        }
        Ok(left)
    }

    /// Compares the checksums of the numbers at these positions.
    pub(crate) fn check(&self, range: std::ops::Range<usize>) -> Result<()> {
        let width = size_of::<T>();
        self.bytes.check(range.start.saturating_mul(width)..range.end.saturating_mul(width))
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.section(&self.bytes)
    }

    /// Opens what [`Numbers::save`] wrote of `len` numbers.
    pub(crate) fn open(len: usize, image: &mut ImageReader<'_>) -> Result<Numbers<T>> {
        let bytes = image.section()?;
        if Some(bytes.len()) != len.checked_mul(size_of::<T>()) {
            return Err(ImageReader::unfit());
        }
        Ok(Numbers { bytes: Bytes::Shared(bytes), number: PhantomData })
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Numbers<T> {
        Numbers { bytes: Bytes::default(), number: PhantomData }
    }
}

impl<T: Number> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Numbers<T> {
        let mut numbers = Numbers::default();
        numbers.extend(iter);
        numbers.shrink();
        numbers
    }
}

impl<T> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Numbers").field("bytes", &self.bytes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_where_they_were_put() {
        let numbers: Numbers<i128> = (0..3000).map(|at| at * 2 - 77).collect();
        assert_eq!((numbers.len(), numbers.get(0), numbers.get(2999)), (3000, Some(-77), Some(5921)));
        assert_eq!(numbers.get(3000), None);
        let before = |most| numbers.partition_point(|_| Ok(()), |number| number < most).expect("checked");
        assert_eq!((before(-100), before(-77), before(-76), before(9000)), (0, 0, 1, 3000));
    }
}
