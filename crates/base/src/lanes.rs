//! Compares numbers that lie side by side with one number, all at once.

/// Numbers of 32 bits that one instruction compares.
pub const LANES: usize = 4;

/// A bit for each of `lanes` that is `number`, the first one the lowest.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn equal_lanes(lanes: &[[u8; 4]; LANES], number: u32) -> u32 {
    use std::arch::x86_64::{
        _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_movemask_ps, _mm_set_epi32, _mm_set1_epi32,
    };

    let [first, second, third, last] = lanes.map(i32::from_le_bytes);
    // SAFETY: every processor of this kind has SSE2.
    unsafe {
        let equal = _mm_cmpeq_epi32(_mm_set_epi32(last, third, second, first), _mm_set1_epi32(number as i32));
        _mm_movemask_ps(_mm_castsi128_ps(equal)) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn equal_lanes(lanes: &[[u8; 4]; LANES], number: u32) -> u32 {
    (0..LANES).fold(0, |equal, lane| equal | u32::from(u32::from_le_bytes(lanes[lane]) == number) << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_bit() {
        for equal in 0..1 << LANES {
            let lanes = std::array::from_fn(|lane| [0xfe - (equal >> lane & 1) as u8; 4]);
            assert_eq!(equal_lanes(&lanes, 0xfdfd_fdfd), equal);
        }
    }
}
