//! The slots of a hash in a filter.

use super::hash::high_product;

/// The most slots of a segment, as a power of two.
pub(super) const SEGMENT_BITS_MAX: u32 = 18;
/// The slots of a hash are in three segments in a row.
const ARITY: u64 = 3;

/// The size of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Segments in which the first slot of a hash may be; 0 if there are no keys.
    pub(super) segments: u32,
    /// The slots of a segment, as a power of two.
    pub(super) segment_bits: u32,
}

impl Shape {
    /// The shape for `keys`, at least one; `growth` more hundredths of slots than the paper gives.
    pub(super) fn of(keys: usize, growth: u32) -> Shape {
        let keys = keys.max(2) as f64;
        let bits = (keys.ln() / 3.33_f64.ln() + 2.25).floor();
        let segment_bits = (bits.max(2.0) as u32).min(SEGMENT_BITS_MAX);
        let factor = (0.875 + 0.25 * 1_000_000_f64.ln() / keys.ln()).max(1.125) + f64::from(growth) / 100.0;
        let slots = (keys * factor).round() as u64;
        let all = slots.div_ceil(1 << segment_bits).max(ARITY);
        Shape { segments: (all - (ARITY - 1)) as u32, segment_bits }
    }

    /// The slots of all segments.
    pub(super) fn slots(self) -> u64 {
        match self.segments {
            0 => 0,
            segments => (u64::from(segments) + ARITY - 1) << self.segment_bits,
        }
    }

    /// The slots of a mixed hash: one in each of three segments in a row. There are segments.
    #[inline(always)]
    pub(super) fn slots_of(self, mixed: u64) -> [u64; 3] {
        let segment = 1_u64 << self.segment_bits;
        let first = high_product(mixed, u64::from(self.segments) << self.segment_bits);
        let second = (first + segment) ^ (mixed >> SEGMENT_BITS_MAX & (segment - 1));
        let third = (first + 2 * segment) ^ (mixed & (segment - 1));
        [first, second, third]
    }
}

/// Spreads a hash anew for each seed (the finalizer of MurmurHash3).
#[inline(always)]
pub(super) fn mixed(hash: u64, seed: u64) -> u64 {
    let mut mixed = hash.wrapping_add(seed);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ mixed >> 33
}

/// The fingerprint of a mixed hash.
#[inline(always)]
pub(super) fn fingerprint(mixed: u64) -> u8 {
    (mixed ^ mixed >> 32).to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_inside_and_take_about_nine_bits() {
        for keys in [1, 2, 3, 10, 1000, 100_000, 1_000_000] {
            let shape = Shape::of(keys, 0);
            for at in 0..10_000 {
                let slots = shape.slots_of(mixed(at, 7));
                assert!(slots.iter().all(|&slot| slot < shape.slots()) && slots.is_sorted_by(|a, b| a < b));
            }
            let most = if keys < 1_000_000 { 1.25 } else { 1.16 };
            assert!(keys < 100_000 || shape.slots() as f64 / (keys as f64) < most, "{keys}: {shape:?}");
        }
    }
}
