//! Compares several two-byte numbers at once.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::chunks::Chunks;
use crate::processor::Form;
#[cfg(target_arch = "x86_64")]
use crate::processor::Vectors;
use crate::words::Words;

/// Numbers compared at once.
const LANES: usize = 8;
const LANE_BYTES: usize = size_of::<u16>();

/// Two-byte numbers.
type Lanes = [[u8; LANE_BYTES]; LANES];

/// A mask with a bit for each number of `first` that equals `number`, lowest bit first, followed by the bits of
/// `second`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_lanes(first: &Lanes, second: Option<&Lanes>, number: u16) -> u32 {
    // SAFETY: every processor of this kind has SSE2, and what is loaded are the sixteen bytes of `lanes`.
    unsafe {
        let equal = |lanes: &Lanes| {
            _mm_cmpeq_epi16(_mm_loadu_si128(lanes.as_ptr().cast()), _mm_set1_epi16(number as i16))
        };
        _mm_movemask_epi8(_mm_packs_epi16(equal(first), second.map_or(_mm_setzero_si128(), equal))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn equal_lanes(first: &Lanes, second: Option<&Lanes>, number: u16) -> u32 {
    let lanes = first.iter().chain(second.into_iter().flatten());
    lanes
        .enumerate()
        .fold(0, |equal, (lane, &bytes)| equal | u32::from(u16::from_le_bytes(bytes) == number) << lane)
}

/// For each chunk, a mask of its first `COUNT` numbers that equal the low 16 bits of its word, lowest bit first.
#[inline(always)]
pub fn equal_in_chunks<F: Form, const COUNT: usize, const BYTES: usize>(
    chunks: &Chunks<'_, BYTES>,
    words: Words<F>,
) -> Words<F> {
    const { assert!(COUNT <= 2 * LANES && BYTES >= 2 * LANES * LANE_BYTES, "this many bytes are read") };
    let counted = (1 << COUNT) - 1;
    #[cfg(target_arch = "x86_64")]
    if F::VECTORS == Vectors::Avx512 {
        // SAFETY: this loop runs where the processor has AVX-512.
        let equal = unsafe {
            match COUNT <= LANES {
                true => equal_in_quarters(chunks, words.widest()),
                false => equal_in_halves(chunks, words.widest()),
            }
        };
        return Words::from_widest(equal) & counted;
    }
    let words = words.numbers();
    Words::of(std::array::from_fn(|at| {
        let (lanes, _) = chunks.chunk(at).as_chunks::<LANE_BYTES>().0.as_chunks::<LANES>();
        let second = if COUNT > LANES { Some(&lanes[1]) } else { None };
        u64::from(equal_lanes(&lanes[0], second, words[at] as u16)) & counted
    }))
}

/// Compares the first eight numbers of four chunks in each vector.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_in_quarters<const BYTES: usize>(chunks: &Chunks<'_, BYTES>, words: __m512i) -> __m512i {
    // SAFETY: a chunk has these bytes.
    let load = |at: usize| unsafe { _mm_loadu_si128(chunks.chunk(at).as_ptr().cast()) };
    let four = |at: usize| {
        let two = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(load(at)), load(at + 1));
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(two, load(at + 2)), load(at + 3))
    };
    let equal = [
        _mm512_cmpeq_epi16_mask(four(0), ends::<0, LANES>(words)),
        _mm512_cmpeq_epi16_mask(four(4), ends::<4, LANES>(words)),
    ];
    let bits = u64::from(equal[0]) | u64::from(equal[1]) << u32::BITS;
    _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(bits as i64))
}

/// Compares the first sixteen numbers of two chunks in each vector.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_in_halves<const BYTES: usize>(chunks: &Chunks<'_, BYTES>, words: __m512i) -> __m512i {
    // SAFETY: a chunk has these bytes.
    let load = |at: usize| unsafe { _mm256_loadu_si256(chunks.chunk(at).as_ptr().cast()) };
    let two = |at: usize| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(load(at)), load(at + 1));
    let equal = [
        _mm512_cmpeq_epi16_mask(two(0), ends::<0, { 2 * LANES }>(words)),
        _mm512_cmpeq_epi16_mask(two(2), ends::<2, { 2 * LANES }>(words)),
        _mm512_cmpeq_epi16_mask(two(4), ends::<4, { 2 * LANES }>(words)),
        _mm512_cmpeq_epi16_mask(two(6), ends::<6, { 2 * LANES }>(words)),
    ];
    let bits = |low: u32, high: u32| (u64::from(low) | u64::from(high) << u32::BITS) as i64;
    _mm512_cvtepu16_epi64(_mm_set_epi64x(bits(equal[2], equal[3]), bits(equal[0], equal[1])))
}

/// The low 16 bits of the words from index `FIRST` on, each repeated `COUNT` times.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn ends<const FIRST: usize, const COUNT: usize>(words: __m512i) -> __m512i {
    const WORD_LANES: usize = size_of::<u64>() / LANE_BYTES;
    const ALL: usize = size_of::<__m512i>() / LANE_BYTES;
    let from = const {
        let (mut from, mut lane) = ([0_u16; ALL], 0);
        while lane < ALL {
            from[lane] = ((FIRST + lane / COUNT) * WORD_LANES) as u16;
            lane += 1;
        }
        from
    };
    // SAFETY: both are 64 bytes, and any bytes are a value.
    _mm512_permutexvar_epi16(unsafe { std::mem::transmute::<[u16; ALL], __m512i>(from) }, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Loop, run_all};
    use crate::words::WORDS;

    #[test]
    fn each_lane_has_its_bit() {
        let lanes = |equal: u32| std::array::from_fn(|lane| [0xfe - (equal >> lane & 1) as u8; 2]);
        for equal in 0..1 << LANES {
            let (first, second) = (lanes(equal), lanes(equal.reverse_bits() >> (32 - LANES)));
            assert_eq!(equal_lanes(&first, None, 0xfdfd), equal);
            let both = equal | equal.reverse_bits() >> (32 - LANES) << LANES;
            assert_eq!(equal_lanes(&first, Some(&second), 0xfdfd), both);
        }
    }

    struct Compare<'a, const COUNT: usize>(&'a [[u8; 64]; WORDS], [u64; WORDS]);

    impl<const COUNT: usize> Loop for Compare<'_, COUNT> {
        type Output = [u64; WORDS];

        #[inline(always)]
        fn run<F: Form>(self) -> [u64; WORDS] {
            let chunks = Chunks::of(self.0.each_ref());
            equal_in_chunks::<F, COUNT, 64>(&chunks, Words::of(self.1)).numbers()
        }
    }

    fn check<const COUNT: usize>(round: u64) {
        let random = |at: u64| (round << 16 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        // Few distinct numbers, so that chunks and words often match.
        let number = |at: u64| 0x1234 + 0x0101 * (random(at) % 3) as u16;
        let chunks = std::array::from_fn(|chunk| {
            std::array::from_fn(|at| number((chunk * 32 + at / 2) as u64).to_le_bytes()[at % 2])
        });
        let words =
            std::array::from_fn(|at| random(1000 + at as u64) << 16 | u64::from(number(2000 + at as u64)));
        let expected = std::array::from_fn(|chunk| {
            (0..COUNT).fold(0, |bits, at| {
                let same = number((chunk * 32 + at) as u64) == words[chunk] as u16;
                bits | u64::from(same) << at
            })
        });
        let all = run_all(|| Compare::<COUNT>(&chunks, words));
        all.into_iter().for_each(|found| assert_eq!(found, expected));
    }

    #[test]
    fn numbers_of_each_chunk_are_compared_with_its_word() {
        for round in 0..if cfg!(miri) { 4 } else { 200 } {
            check::<4>(round);
            check::<8>(round);
            check::<9>(round);
            check::<16>(round);
        }
    }
}
