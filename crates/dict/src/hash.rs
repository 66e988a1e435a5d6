//! Hashes keys to 64 evenly spread bits, and maps hashes to shards and buckets.
//! A `UInt64` key is scrambled by a bijection. The table stores the scrambled key, so the bucket of a cell is known
//! without hashing again, and `unscramble` returns the key. Byte keys are hashed: the table stores the hash, and the
//! caller compares the bytes.

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST_INVERSE: u64 = inverse(FIRST);
const SECOND_INVERSE: u64 = inverse(SECOND);
const _: () = assert!(FIRST.wrapping_mul(FIRST_INVERSE) == 1);
const _: () = assert!(SECOND.wrapping_mul(SECOND_INVERSE) == 1);

/// A bijection of the 64-bit integers that spreads keys evenly over the high bits.
#[inline(always)]
pub(crate) fn scramble(key: u64) -> u64 {
    let folded = (key ^ (key >> 32)).wrapping_mul(FIRST);
    (folded ^ (folded >> 32)).wrapping_mul(SECOND)
}

/// The key that [`scramble`] turned into `hash`.
pub(crate) fn unscramble(hash: u64) -> u64 {
    let folded = hash.wrapping_mul(SECOND_INVERSE);
    let key = (folded ^ (folded >> 32)).wrapping_mul(FIRST_INVERSE);
    key ^ (key >> 32)
}

/// The hash of a byte key.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut state = SECOND ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    scramble(fold(state ^ u64::from_le_bytes(last)))
}

/// The product of `hash`, as a fraction of 2^64, and `places`: the place, and the remaining fraction. Both grow with
/// the hash, so cells in order of hash are in order of place.
#[inline(always)]
pub(crate) fn split(hash: u64, places: u64) -> (u64, u64) {
    let product = u128::from(hash) * u128::from(places);
    ((product >> 64) as u64, product as u64)
}

/// How many high bits of a hash select one of several tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardBits(u32);

impl ShardBits {
    pub(crate) const MAX: u32 = 16;

    /// The bits that select one of `tables`, a power of two.
    pub(crate) fn of(tables: usize) -> ShardBits {
        assert!(tables.is_power_of_two() && tables.trailing_zeros() <= Self::MAX);
        ShardBits(tables.trailing_zeros())
    }

    pub(crate) fn count(self) -> u32 {
        self.0
    }

    /// The table of `hash`, and its other bits as a fraction of 2^64.
    #[inline(always)]
    pub(crate) fn split(self, hash: u64) -> (usize, u64) {
        // Two shifts, because a shift by 64 would overflow.
        ((hash >> 1 >> (63 - self.0)) as usize, hash << self.0)
    }

    /// The hash that [`ShardBits::split`] splits into these.
    pub(crate) fn join(self, table: usize, rest: u64) -> u64 {
        (table as u64) << 1 << (63 - self.0) | rest >> self.0
    }
}

#[inline(always)]
fn fold(state: u64) -> u64 {
    let product = u128::from(state ^ FIRST) * u128::from(SECOND);
    (product >> 64) as u64 ^ product as u64
}

/// The inverse of an odd number modulo 2^64 by Newton's iteration: each step doubles the correct bits.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd;
    let mut step = 0;
    while step < 5 {
        guess = guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess)));
        step += 1;
    }
    guess
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn unscramble_undoes_scramble(key: u64) {
            prop_assert_eq!(unscramble(scramble(key)), key);
        }

        #[test]
        fn split_keeps_the_order(mut hashes: [u64; 2], places in 1..1_000_000_u64) {
            hashes.sort_unstable();
            prop_assert!(split(hashes[0], places) <= split(hashes[1], places));
            prop_assert!(split(hashes[1], places).0 < places);
        }
    }

    #[test]
    fn shard_bits_split_off_the_high_bits() {
        assert_eq!(ShardBits::of(1).split(u64::MAX - 5), (0, u64::MAX - 5));
        assert_eq!(ShardBits::of(16).split(0xabcd_0000_0000_0001), (0xa, 0xbcd0_0000_0000_0010));
    }

    #[test]
    fn keys_that_differ_in_few_bits_spread_over_all_places() {
        for shift in [0, 8, 24, 40, 48] {
            let mut counts = [0; 256];
            for key in 0..25_600_u64 {
                counts[split(scramble(key << shift), 256).0 as usize] += 1;
            }
            assert!(counts.iter().all(|&count| (30..250).contains(&count)), "shift {shift}: {counts:?}");
        }
    }
}
