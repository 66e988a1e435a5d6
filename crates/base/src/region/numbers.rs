//! A list of numbers in a region.

use std::ops::{Deref, DerefMut};

use super::Region;
use crate::Result;

/// Numbers of 32 bits, zeroes at first.
#[derive(Debug)]
pub struct RegionNumbers(Region);

impl RegionNumbers {
    pub fn zeroed(len: usize) -> Result<RegionNumbers> {
        Region::zeroed(len.saturating_mul(size_of::<u32>())).map(RegionNumbers)
    }
}

impl Deref for RegionNumbers {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        // SAFETY: any four bytes are a number. A region begins at a page, so all of it is aligned.
        unsafe { self.0.align_to().1 }
    }
}

impl DerefMut for RegionNumbers {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above.
        unsafe { self.0.align_to_mut().1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_were_written() {
        for len in [0, 1, 1023, 1024, 1_000_000] {
            let mut numbers = RegionNumbers::zeroed(len).expect("memory");
            assert!(numbers.len() == len && numbers.iter().all(|&number| number == 0));
            numbers.iter_mut().zip(0..).for_each(|(place, number)| *place = number);
            assert!(numbers.iter().copied().eq(0..len as u32));
        }
        assert!(RegionNumbers::zeroed(usize::MAX).is_err());
    }
}
