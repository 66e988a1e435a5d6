//! Eight chunks of bytes at addresses that vector instructions compute.
//!
//! An index into a slice is checked one item at a time. Here eight addresses are computed in one vector, each of
//! them clamped to its slice.

use std::marker::PhantomData;

use crate::prefetch::prefetch_line;
use crate::processor::Form;
#[cfg(target_arch = "x86_64")]
use crate::processor::Vectors;
use crate::words::{Mask, WORD_BYTES, WORDS, Words};

/// Eight chunks of `BYTES` bytes at any addresses. The default is chunks of zeroes.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a, const BYTES: usize> {
    /// Address of each chunk. All its bytes are readable for `'a`.
    places: [u64; WORDS],
    bytes: PhantomData<&'a [u8; BYTES]>,
}

/// Slices whose chunks are selected by slice number and byte offset.
#[derive(Clone, Debug)]
pub struct Slices<'a, const BYTES: usize> {
    /// Address of each slice.
    places: Vec<u64>,
    /// Last offset in each slice at which a chunk can begin; [`NO_CHUNK`] if the slice is shorter than a chunk.
    lasts: Vec<u64>,
    bytes: PhantomData<&'a [u8; BYTES]>,
}

/// Below every offset when compared as a signed number.
const NO_CHUNK: u64 = u64::MAX;

impl<'a, const BYTES: usize> Chunks<'a, BYTES> {
    const ZEROES: &'static [u8; BYTES] = &[0; BYTES];

    #[inline(always)]
    pub fn of(chunks: [&'a [u8; BYTES]; WORDS]) -> Chunks<'a, BYTES> {
        Chunks { places: chunks.map(|chunk| chunk.as_ptr().expose_provenance() as u64), bytes: PhantomData }
    }

    /// The chunk with this index.
    #[inline(always)]
    pub fn chunk(&self, at: usize) -> &'a [u8; BYTES] {
        let place = std::ptr::with_exposed_provenance::<[u8; BYTES]>(self.places[at] as usize);
        // SAFETY: `BYTES` bytes are readable there, and any bytes are a chunk.
        unsafe { &*place }
    }

    /// The `LEN` bytes from offset `at` of each chunk, clamped to the end of the chunk. The highest bit of `at` is
    /// ignored.
    #[inline(always)]
    pub fn parts<F: Form, const LEN: usize>(&self, at: Words<F>) -> Chunks<'a, LEN> {
        const { assert!(LEN <= BYTES, "a part is not more than the whole") };
        let places = Words::of(self.places) + Self::within::<F>(at, LEN);
        Chunks { places: places.numbers(), bytes: PhantomData }
    }

    /// The little-endian word at offset `at` of each chunk, clamped to the last word of the chunk. The highest bit
    /// of `at` is ignored.
    #[inline(always)]
    pub fn words<F: Form>(&self, at: Words<F>) -> Words<F> {
        const { assert!(BYTES >= WORD_BYTES, "there is a word") };
        let at = Self::within::<F>(at, WORD_BYTES);
        #[cfg(target_arch = "x86_64")]
        if F::VECTORS != Vectors::Any {
            // SAFETY: each place has a word, provenance is exposed where places are made, and the form has vectors.
            return unsafe { Words::gather(Words::of(self.places) + at) };
        }
        let at = at.numbers();
        Words::of(std::array::from_fn(|number| {
            let word = self.chunk(number)[at[number] as usize..].first_chunk();
            word.map_or(0, |word| u64::from_le_bytes(*word))
        }))
    }

    /// These chunks, replaced by `those` where `is_other` is set.
    #[inline(always)]
    pub fn or<F: Form>(&self, those: &Self, is_other: Mask<F>) -> Self {
        let places = is_other.select(Words::of(those.places), Words::of(self.places));
        Chunks { places: places.numbers(), bytes: PhantomData }
    }

    /// Prefetches the cache line in which each chunk begins.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.prefetch_at(0);
    }

    /// Prefetches the cache line of this byte of each chunk.
    #[inline(always)]
    pub fn prefetch_at(&self, byte: usize) {
        self.places.iter().for_each(|&place| {
            prefetch_line(std::ptr::without_provenance((place as usize).wrapping_add(byte)))
        });
    }

    /// Offsets `at`, clamped to the last offset that has `len` bytes after it.
    #[inline(always)]
    fn within<F: Form>(at: Words<F>, len: usize) -> Words<F> {
        // Without the highest bit, no number is negative.
        Words::splat((BYTES - len) as u64).min(at & (u64::MAX >> 1))
    }
}

impl<const BYTES: usize> Default for Chunks<'_, BYTES> {
    fn default() -> Self {
        Chunks::of([Self::ZEROES; WORDS])
    }
}

impl<'a, const BYTES: usize> Slices<'a, BYTES> {
    /// # Panics
    ///
    /// If there is no slice.
    pub fn new(slices: impl Iterator<Item = &'a [u8]>) -> Slices<'a, BYTES> {
        let (places, lasts): (Vec<u64>, Vec<u64>) = slices
            .map(|slice| {
                let last = slice.len().checked_sub(BYTES);
                let bytes = if last.is_some() { slice } else { Chunks::<BYTES>::ZEROES };
                (bytes.as_ptr().expose_provenance() as u64, last.map_or(NO_CHUNK, |last| last as u64))
            })
            .unzip();
        assert!(!places.is_empty(), "there is a slice");
        Slices { places, lasts, bytes: PhantomData }
    }

    /// The chunk at offset `at` of the slice with this number, for each of the eight. A number past the last slice
    /// means the last slice. The highest bits of both arguments are ignored.
    #[inline(always)]
    pub fn chunks<F: Form>(&self, slices: Words<F>, at: Words<F>) -> Chunks<'a, BYTES> {
        self.chunks_and_strays(slices, at).0
    }

    /// The same chunks, and a mask of those whose slice has no chunk there: these are the last chunk of the slice,
    /// or zeroes.
    #[inline(always)]
    pub fn chunks_and_strays<F: Form>(&self, slices: Words<F>, at: Words<F>) -> (Chunks<'a, BYTES>, Mask<F>) {
        let (firsts, lasts) = (Words::one_of(&self.places, slices), Words::one_of(&self.lasts, slices));
        let at = at & (u64::MAX >> 1);
        let strays = at.above(lasts);
        let places = firsts + at.min(lasts).max(Words::splat(0));
        (Chunks { places: places.numbers(), bytes: PhantomData }, strays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Loop, run_all};

    const BYTES: usize = 16;

    /// Bytes that each hold their own index.
    fn numbered<const COUNT: usize>(first: usize) -> [u8; COUNT] {
        std::array::from_fn(|at| (first + at) as u8)
    }

    /// Reads words of 64 bytes that each hold their own index, and the same bytes as parts.
    struct Read([u64; WORDS]);

    impl Loop for Read {
        type Output = ([u64; WORDS], [u64; WORDS]);

        #[inline(always)]
        fn run<F: Form>(self) -> Self::Output {
            let bytes: [[u8; 64]; WORDS] = std::array::from_fn(|from| numbered(from * 64));
            let (chunks, at) = (Chunks::of(bytes.each_ref()), Words::<F>::of(self.0));
            let parts = chunks.parts::<F, WORD_BYTES>(at);
            let number = |part| u64::from_le_bytes(*parts.chunk(part));
            (chunks.words(at).numbers(), std::array::from_fn(number))
        }
    }

    #[test]
    fn words_are_read_where_they_are() {
        for first in 0..=56 {
            let at: [u64; WORDS] = std::array::from_fn(|from| (first + 13 * from as u64) % 57);
            let word = |from: usize| u64::from_le_bytes(numbered(from * 64 + at[from] as usize));
            let expected = std::array::from_fn(word);
            run_all(|| Read(at)).into_iter().for_each(|words| assert_eq!(words, (expected, expected)));
        }
        for behind in [57, 64, u64::MAX / 2, u64::MAX / 2 + 58, u64::MAX] {
            assert_eq!(run_all(|| Read([behind; WORDS])), run_all(|| Read([56; WORDS])));
        }
    }

    /// Selects between two sets of eight chunks.
    struct Choose<'a>(&'a [[u8; BYTES]; WORDS], &'a [[u8; BYTES]; WORDS], u8);

    impl Loop for Choose<'_> {
        type Output = [[u8; BYTES]; WORDS];

        #[inline(always)]
        fn run<F: Form>(self) -> Self::Output {
            let (these, those) = (Chunks::of(self.0.each_ref()), Chunks::of(self.1.each_ref()));
            let chosen = these.or::<F>(&those, Mask::of(self.2));
            std::array::from_fn(|at| *chosen.chunk(at))
        }
    }

    #[test]
    fn each_chunk_is_of_these_or_of_those() {
        let these: [[u8; BYTES]; WORDS] = std::array::from_fn(numbered);
        let those: [[u8; BYTES]; WORDS] = std::array::from_fn(|at| numbered(100 + at));
        for other in 0..=u8::MAX {
            let expected = std::array::from_fn(|at| if other >> at & 1 != 0 { those[at] } else { these[at] });
            run_all(|| Choose(&these, &those, other))
                .into_iter()
                .for_each(|chosen| assert_eq!(chosen, expected));
        }
    }

    /// Takes chunks of slices of these lengths.
    struct Take<'a>(&'a [&'a [u8]], [u64; WORDS], [u64; WORDS]);

    impl Loop for Take<'_> {
        type Output = ([[u8; BYTES]; WORDS], u8);

        #[inline(always)]
        fn run<F: Form>(self) -> Self::Output {
            let slices = Slices::<BYTES>::new(self.0.iter().copied());
            let (slice, at) = (Words::<F>::of(self.1), Words::of(self.2));
            let (chunks, strays) = slices.chunks_and_strays(slice, at);
            (std::array::from_fn(|at| *chunks.chunk(at)), strays.bits())
        }
    }

    #[test]
    fn chunks_are_those_of_their_slices() {
        let bytes = numbered::<200>(0);
        let slices = [&bytes[..16], &bytes[20..30], &bytes[40..100], &bytes[100..117], &[]];
        let asked =
            (0..7).flat_map(|slice| [0, 1, 2, 43, 44, 45, u64::MAX / 2, u64::MAX].map(|at| (slice, at)));
        for first in asked.clone() {
            let mut all = [first; WORDS];
            all[1..].iter_mut().zip(asked.clone()).for_each(|(to, asked)| *to = asked);
            let expected = all.map(|(slice, at)| {
                let slice = slices[slice.min(4) as usize];
                let at = (at & (u64::MAX >> 1)) as usize;
                let own = slice.get(at..).and_then(<[u8]>::first_chunk::<BYTES>);
                (*own.or(slice.last_chunk()).unwrap_or(&[0; BYTES]), own.is_none())
            });
            let strays = (0..WORDS).fold(0, |bits, at| bits | u8::from(expected[at].1) << at);
            for found in run_all(|| Take(&slices, all.map(|one| one.0), all.map(|one| one.1))) {
                assert_eq!(found, (expected.map(|one| one.0), strays));
            }
        }
    }
}
