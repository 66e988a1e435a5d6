//! Keys of sets: 64-bit values and 128-bit hashes.

/// A key that can be hashed and stored in states.
pub(super) trait Key: Copy + Eq + Send + Sync + 'static {
    /// Marks free slots. It may be a member of a set, too.
    const EMPTY: Self;

    fn hash(self, group: u32) -> u64;
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes all bits: the high half and the low half of a product.
#[inline(always)]
fn fold(value: u64) -> u64 {
    let product = u128::from(value ^ MULTIPLIER) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

impl Key for u64 {
    const EMPTY: u64 = 0;

    #[inline(always)]
    fn hash(self, group: u32) -> u64 {
        fold(self ^ u64::from(group).wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }
}

impl Key for u128 {
    const EMPTY: u128 = 0;

    #[inline(always)]
    fn hash(self, group: u32) -> u64 {
        Key::hash((self >> 64) as u64 ^ fold(self as u64), group)
    }
}
