//! Compares several numbers at once.

/// How many are compared at once.
pub const LANES: usize = 8;

/// Numbers of two bytes.
pub type Lanes = [[u8; 2]; LANES];

/// A bit for each number of `first` that is `number`, the first one the lowest, and above these for each of `second`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn equal_lanes(first: &Lanes, second: Option<&Lanes>, number: u16) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
        _mm_setzero_si128,
    };

    // SAFETY: every processor of this kind has SSE2, and what is loaded are the sixteen bytes of `lanes`.
    unsafe {
        let equal = |lanes: &Lanes| {
            _mm_cmpeq_epi16(_mm_loadu_si128(lanes.as_ptr().cast()), _mm_set1_epi16(number as i16))
        };
        _mm_movemask_epi8(_mm_packs_epi16(equal(first), second.map_or(_mm_setzero_si128(), equal))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn equal_lanes(first: &Lanes, second: Option<&Lanes>, number: u16) -> u32 {
    let lanes = first.iter().chain(second.into_iter().flatten());
    lanes
        .enumerate()
        .fold(0, |equal, (lane, &bytes)| equal | u32::from(u16::from_le_bytes(bytes) == number) << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_bit() {
        let lanes = |equal: u32| std::array::from_fn(|lane| [0xfe - (equal >> lane & 1) as u8; 2]);
        for equal in 0..1 << LANES {
            let (first, second) = (lanes(equal), lanes(equal.reverse_bits() >> (32 - LANES)));
            assert_eq!(equal_lanes(&first, None, 0xfdfd), equal);
            let both = equal | equal.reverse_bits() >> (32 - LANES) << LANES;
            assert_eq!(equal_lanes(&first, Some(&second), 0xfdfd), both);
        }
    }
}
