//! A pseudo-random share of the rows of a column, which halves when it has become too large.
//!
//! The choice depends on the row's position only, so two samples of the same rows are equal.

/// Which positions are in a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    mask: u64,
}

impl Share {
    #[inline]
    pub(super) fn has(self, position: u64) -> bool {
        mixed(position) & self.mask == 0
    }

    /// Keeps every second position.
    pub(super) fn halve(&mut self) {
        self.mask = self.mask << 1 | 1;
    }
}

/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014): the finalizer.
fn mixed(position: u64) -> u64 {
    let mut word = position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
