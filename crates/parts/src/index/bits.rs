//! A Bloom filter: proves that a value is absent.

/// The most bits of a filter: 256 MiB.
const BITS_MAX: u64 = 1 << 31;
/// More hash functions do not help.
pub(crate) const HASHES_MAX: u32 = 32;

/// The bits, and the number of them that a value sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BloomBits {
    words: Vec<u64>,
    hashes: u32,
}

impl BloomBits {
    /// An empty filter of at least one word.
    pub(crate) fn new(bytes: usize, hashes: u32) -> BloomBits {
        let words = bytes.div_ceil(size_of::<u64>()).clamp(1, (BITS_MAX / 64) as usize);
        BloomBits { words: vec![0; words], hashes: hashes.clamp(1, HASHES_MAX) }
    }

    /// A filter for `values` values with this false positive rate.
    pub(crate) fn sized(values: usize, false_positive: f64) -> BloomBits {
        let ln_2 = std::f64::consts::LN_2;
        let bits_a_value = -false_positive.ln() / (ln_2 * ln_2);
        let bytes = (values.max(1) as f64 * bits_a_value / 8.0).ceil();
        BloomBits::new(bytes as usize, (bits_a_value * ln_2).round() as u32)
    }

    /// The filter with these bits; `None` if their number is invalid.
    pub(crate) fn from_bytes(bytes: &[u8], hashes: u32) -> Option<BloomBits> {
        let (words, rest) = bytes.as_chunks::<8>();
        let is_whole = rest.is_empty() && !words.is_empty() && (1..=HASHES_MAX).contains(&hashes);
        is_whole.then(|| BloomBits {
            words: words.iter().map(|word| u64::from_le_bytes(*word)).collect(),
            hashes,
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub(crate) fn hashes(&self) -> u32 {
        self.hashes
    }

    pub(crate) fn insert(&mut self, hash: u64) {
        for round in 0..self.hashes {
            let bit = place(hash, round, self.words.len());
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the value may be in the set.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|round| {
            let bit = place(hash, round, self.words.len());
            self.words[bit / 64] & (1 << (bit % 64)) != 0
        })
    }
}

/// The bit that a value sets in a round: double hashing with the halves of its hash.
fn place(hash: u64, round: u32, words: usize) -> usize {
    let (low, high) = (hash as u32, (hash >> 32) as u32 | 1);
    let mixed = low.wrapping_add(high.wrapping_mul(round));
    ((u64::from(mixed) * (words as u64 * 64)) >> 32) as usize
}

/// A 64-bit hash that must never change, because it is stored. (MurmurHash64A.)
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word ^= word >> 47;
        state = (state ^ word.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        state = (state ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    state ^= state >> 47;
    state = state.wrapping_mul(MULTIPLIER);
    state ^ (state >> 47)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_has_what_was_put_in_and_little_else() {
        let mut bits = BloomBits::sized(1000, 0.025);
        let value = |number: u64| hash(&number.to_le_bytes(), 0);
        (0..1000).for_each(|number| bits.insert(value(number)));
        assert!((0..1000).all(|number| bits.contains(value(number))));
        let wrong = (1000..11_000).filter(|&number| bits.contains(value(number))).count();
        assert!(wrong < 500, "{wrong} of 10000 seem to be there");
        assert_eq!(BloomBits::from_bytes(&bits.to_bytes(), bits.hashes()), Some(bits));
    }

    /// Stored filters depend on it.
    #[test]
    fn hash_never_changes() {
        assert_eq!(hash(b"", 0), 0);
        assert_eq!(hash(b"basalt", 7), hash(b"basalt", 7));
        assert_ne!(hash(b"basalt", 7), hash(b"basalt", 8));
    }
}
