//! Compares several numbers at once.

/// How many are compared at once.
pub const LANES: usize = 8;

/// A bit for each of `lanes`, numbers of two bytes, that is `number`, the first one the lowest.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn equal_lanes(lanes: &[[u8; 2]; LANES], number: u16) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
        _mm_setzero_si128,
    };

    // SAFETY: every processor of this kind has SSE2, and what is loaded are the sixteen bytes of `lanes`.
    unsafe {
        let equal = _mm_cmpeq_epi16(_mm_loadu_si128(lanes.as_ptr().cast()), _mm_set1_epi16(number as i16));
        _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn equal_lanes(lanes: &[[u8; 2]; LANES], number: u16) -> u32 {
    (0..LANES).fold(0, |equal, lane| equal | u32::from(u16::from_le_bytes(lanes[lane]) == number) << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_bit() {
        for equal in 0..1 << LANES {
            let lanes = std::array::from_fn(|lane| [0xfe - (equal >> lane & 1) as u8; 2]);
            assert_eq!(equal_lanes(&lanes, 0xfdfd), equal);
        }
    }
}
