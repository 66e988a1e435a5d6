//! A set of blocks within a chunk of 65,536 consecutive blocks.

/// The blocks of a chunk.
pub(super) const CHUNK_BLOCKS: u32 = 1 << 16;
const WORDS: usize = CHUNK_BLOCKS as usize / u64::BITS as usize;

/// A bit for each block.
#[derive(Clone)]
pub(super) struct Chunk(Box<[u64]>);

impl Chunk {
    pub(super) fn empty() -> Chunk {
        Chunk(vec![0; WORDS].into_boxed_slice())
    }

    /// The first `count` blocks.
    pub(super) fn first(count: u32) -> Chunk {
        let word = |at: usize| match count.saturating_sub(at as u32 * u64::BITS) {
            bits if bits >= u64::BITS => u64::MAX,
            bits => (1 << bits) - 1,
        };
        Chunk((0..WORDS).map(word).collect())
    }

    /// Adds a block; those outside of the chunk are ignored.
    #[inline]
    pub(super) fn insert(&mut self, block: u32) {
        if let Some(word) = self.0.get_mut((block / u64::BITS) as usize) {
            *word |= 1 << (block % u64::BITS);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn and(&mut self, other: &Chunk) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    pub(super) fn or(&mut self, other: &Chunk) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// The blocks in ascending order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip(0..).flat_map(|(&word, at)| Ones(word).map(move |bit| at * u64::BITS + bit))
    }
}

/// The bits of a word that are set.
pub(super) struct Ones(pub(super) u64);

impl Iterator for Ones {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
