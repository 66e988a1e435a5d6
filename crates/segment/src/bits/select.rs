//! Positions of bits in words.

/// The position of set bit `index` of `word`, which has more set bits than that; any position below 64 if it has not.
///
/// It narrows the place down by counts of halves, and clears the last few bits one by one.
#[inline]
pub(crate) fn select_in_word(word: u64, index: u32) -> u32 {
    let (mut word, mut index, mut at) = (word, index, 0);
    for half in [32, 16, 8] {
        let ones = (word & ((1 << half) - 1)).count_ones();
        if index >= ones {
            index -= ones;
            at += half;
            word >>= half;
        }
    }
    for _ in 0..index {
        word &= word.wrapping_sub(1);
    }
    (at + word.trailing_zeros()).min(u64::BITS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_bit_is_found() {
        for seed in 0..500_u64 {
            let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for word in [
                random,
                random & random.rotate_left(7),
                random | random.rotate_left(9),
                u64::MAX,
                1 << (seed % 64),
            ] {
                let set = (0..64).filter(|bit| word >> bit & 1 == 1);
                set.zip(0..)
                    .for_each(|(bit, index)| assert_eq!(select_in_word(word, index), bit, "{word:x}"));
            }
        }
    }

    #[test]
    fn a_bit_that_is_not_there_is_some_position() {
        for (word, index) in [(0, 0), (0, 63), (1, 1), (u64::MAX, 64), (0xff00, 200)] {
            assert!(select_in_word(word, index) < 64);
        }
    }
}
