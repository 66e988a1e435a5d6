//! A Bloom filter with one hash function over prefixes of texts. It has false positives and no false negatives.

/// Bytes of half a word of text.
const HALF_BYTES: usize = size_of::<u64>();

/// One bit per prefix, at the hash of its bytes.
pub(super) struct Filter {
    words: Vec<u64>,
    shift: u32,
}

impl Filter {
    /// An empty filter of 2^`bits` bits.
    pub(super) fn of_bits(bits: u32) -> Filter {
        Filter { words: vec![0; 1 << bits.saturating_sub(u64::BITS.ilog2())], shift: u64::BITS - bits }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// Adds the first `length` bytes of `word`, 1 to 16.
    pub(super) fn add(&mut self, word: u128, length: usize) {
        let (at, bit) = self.place(word, length);
        self.words[at] |= 1 << bit;
    }

    /// Whether the first `length` bytes of `word`, 1 to 16, may have been added.
    #[inline(always)]
    pub(super) fn may_have(&self, word: u128, length: usize) -> bool {
        let (at, bit) = self.place(word, length);
        self.words[at] >> bit & 1 == 1
    }

    /// A word, and a bit there.
    #[inline(always)]
    fn place(&self, word: u128, length: usize) -> (usize, u32) {
        let (low, high) = (word as u64, (word >> u64::BITS) as u64);
        // The shift drops the bytes after the prefix.
        let folded = if length <= HALF_BYTES {
            low << (8 * (HALF_BYTES - length))
        } else {
            low.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high << (8 * (2 * HALF_BYTES - length))
        };
        let hash = folded.wrapping_mul(0xff51_afd7_ed55_8ccd) >> self.shift;
        ((hash / u64::from(u64::BITS)) as usize, hash as u32 % u64::BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_that_were_added_are_there_and_few_others() {
        let mut filter = Filter::of_bits(14);
        let word = |number: u128| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let lengths = || (1..=200).map(|number| (word(number), 5 + number as usize % 12));
        lengths().for_each(|(word, length)| filter.add(word, length));
        for (word, length) in lengths() {
            let others = word ^ u128::MAX.checked_shl(8 * length as u32).unwrap_or(0);
            assert!(filter.may_have(word, length) && filter.may_have(others, length));
        }
        let seen = (1000..11_000).filter(|&number| filter.may_have(word(number), 5 + number as usize % 12));
        assert!(seen.count() < 400);
    }
}
