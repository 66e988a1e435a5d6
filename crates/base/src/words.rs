//! Vectors of eight 64-bit numbers.
//!
//! An operation is one instruction in a loop compiled for AVX-512, two for AVX2 and eight elsewhere. A compiler
//! vectorizes a loop by itself only if every number gets the same operations.

use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::processor::Form;
use crate::processor::Vectors;

/// Numbers in a vector.
pub const WORDS: usize = 8;
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Eight numbers in a loop compiled for `F`. Operations wrap around. A shift by 64 bits or more gives zero.
#[derive(Debug)]
pub struct Words<F>([u64; WORDS], PhantomData<F>);

/// The result of a comparison: all bits set for each number where it holds.
#[derive(Debug)]
pub struct Mask<F>(Words<F>);

impl<F> Clone for Words<F> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Words<F> {}

impl<F> Clone for Mask<F> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Mask<F> {}

/// Defines an element-wise function of two vectors.
macro_rules! binary {
    ($self:ident, $other:ident, $widest:ident, $wide:ident, $plain:expr) => {{
        #[cfg(target_arch = "x86_64")]
        match F::VECTORS {
            Vectors::Avx512 => {
                // SAFETY: this loop runs where the processor has AVX-512.
                return Words::from_widest(unsafe { $widest($self.widest(), $other.widest()) });
            }
            Vectors::Avx2 => {
                let ([low, high], [other_low, other_high]) = ($self.wide(), $other.wide());
                // SAFETY: this loop runs where the processor has AVX2.
                return Words::from_wide(unsafe { [$wide(low, other_low), $wide(high, other_high)] });
            }
            Vectors::Any => {}
        }
        Words(std::array::from_fn(|at| $plain($self.0[at], $other.0[at])), PhantomData)
    }};
}

macro_rules! operator {
    ($operator:ident, $name:ident, $widest:ident, $wide:ident, $plain:expr) => {
        impl<F: Form> $operator for Words<F> {
            type Output = Words<F>;

            #[inline(always)]
            fn $name(self, other: Words<F>) -> Words<F> {
                binary!(self, other, $widest, $wide, $plain)
            }
        }
    };
}

operator!(Add, add, _mm512_add_epi64, _mm256_add_epi64, u64::wrapping_add);
operator!(Sub, sub, _mm512_sub_epi64, _mm256_sub_epi64, u64::wrapping_sub);
operator!(BitAnd, bitand, _mm512_and_si512, _mm256_and_si256, |one, other| one & other);
operator!(BitOr, bitor, _mm512_or_si512, _mm256_or_si256, |one, other| one | other);
operator!(BitXor, bitxor, _mm512_xor_si512, _mm256_xor_si256, |one, other| one ^ other);
operator!(Shl, shl, _mm512_sllv_epi64, _mm256_sllv_epi64, |one: u64, other| {
    u32::try_from(other).ok().and_then(|bits| one.checked_shl(bits)).unwrap_or(0)
});
operator!(Shr, shr, _mm512_srlv_epi64, _mm256_srlv_epi64, |one: u64, other| {
    u32::try_from(other).ok().and_then(|bits| one.checked_shr(bits)).unwrap_or(0)
});

/// Defines an operator with the same number for all eight.
macro_rules! operator_by_number {
    ($($operator:ident $name:ident)*) => {$(
        impl<F: Form> $operator<u64> for Words<F> {
            type Output = Words<F>;

            #[inline(always)]
            fn $name(self, number: u64) -> Words<F> {
                self.$name(Words::splat(number))
            }
        }
    )*};
}

operator_by_number!(Add add Sub sub BitAnd bitand BitXor bitxor Shl shl Shr shr);

impl<F: Form> Words<F> {
    #[inline(always)]
    pub fn splat(number: u64) -> Words<F> {
        Words([number; WORDS], PhantomData)
    }

    #[inline(always)]
    pub fn of(numbers: [u64; WORDS]) -> Words<F> {
        Words(numbers, PhantomData)
    }

    #[inline(always)]
    pub fn numbers(self) -> [u64; WORDS] {
        self.0
    }

    /// The products of the low 32 bits.
    #[inline(always)]
    pub fn times_low(self, other: Words<F>) -> Words<F> {
        binary!(self, other, _mm512_mul_epu32, _mm256_mul_epu32, |one: u64, other: u64| {
            (one & u64::from(u32::MAX)) * (other & u64::from(u32::MAX))
        })
    }

    /// The high and the low 64 bits of the products.
    #[inline(always)]
    pub fn product(self, other: Words<F>) -> (Words<F>, Words<F>) {
        if F::VECTORS == Vectors::Any {
            let products =
                std::array::from_fn::<_, WORDS, _>(|at| u128::from(self.0[at]) * u128::from(other.0[at]));
            return (
                Words::of(products.map(|product| (product >> 64) as u64)),
                Words::of(products.map(|product| product as u64)),
            );
        }
        let low_half = |words: Words<F>| words & u64::from(u32::MAX);
        let (high, other_high) = (self >> 32, other >> 32);
        let (low, highest) = (self.times_low(other), high.times_low(other_high));
        let (one, another) = (high.times_low(other), self.times_low(other_high));
        let middle = (low >> 32) + low_half(one) + low_half(another);
        (highest + (one >> 32) + (another >> 32) + (middle >> 32), middle << 32 | low_half(low))
    }

    /// The products with numbers of less than 32 bits.
    #[inline(always)]
    pub fn times(self, short: Words<F>) -> Words<F> {
        self.times_low(short) + ((self >> 32).times_low(short) << 32)
    }

    #[inline(always)]
    pub fn equal(self, other: Words<F>) -> Mask<F> {
        Mask(self.ones_where_equal(other))
    }

    /// Where these numbers are greater than those of `other`, compared as signed.
    #[inline(always)]
    pub fn above(self, other: Words<F>) -> Mask<F> {
        Mask(self.ones_where_above(other))
    }

    #[inline(always)]
    fn ones_where_equal(self, other: Words<F>) -> Words<F> {
        binary!(self, other, equal_widest, _mm256_cmpeq_epi64, |one, other| ones_if(one == other))
    }

    #[inline(always)]
    fn ones_where_above(self, other: Words<F>) -> Words<F> {
        binary!(self, other, above_widest, _mm256_cmpgt_epi64, |one, other| {
            ones_if(one as i64 > other as i64)
        })
    }

    /// The element-wise minimum, compared as signed.
    #[inline(always)]
    pub fn min(self, other: Words<F>) -> Words<F> {
        self.above(other).select(other, self)
    }

    /// The element-wise maximum, compared as signed.
    #[inline(always)]
    pub fn max(self, other: Words<F>) -> Words<F> {
        self.above(other).select(self, other)
    }

    /// The index of the lowest set bit of each number; undefined for zero.
    #[inline(always)]
    pub fn lowest_bit(self) -> Words<F> {
        #[cfg(target_arch = "x86_64")]
        if F::VECTORS == Vectors::Avx512 {
            let alone = self & (Words::splat(0) - self);
            // SAFETY: this loop runs where the processor has AVX-512.
            let above = Words::from_widest(unsafe { _mm512_lzcnt_epi64(alone.widest()) });
            return Words::splat(u64::from(u64::BITS) - 1) - above;
        }
        Words::of(self.0.map(|number| u64::from(number.trailing_zeros())))
    }

    /// The numbers whose bits are set, moved to the front; the rest is undefined.
    #[inline(always)]
    pub fn packed(self, bits: u8) -> Words<F> {
        #[cfg(target_arch = "x86_64")]
        if F::VECTORS == Vectors::Avx512 {
            // SAFETY: this loop runs where the processor has AVX-512.
            return Words::from_widest(unsafe { _mm512_maskz_compress_epi64(bits, self.widest()) });
        }
        let (mut packed, mut len) = ([0; WORDS], 0);
        for (at, number) in self.0.into_iter().enumerate() {
            packed[len % WORDS] = number;
            len += usize::from(bits >> at & 1);
        }
        Words::of(packed)
    }

    /// `numbers[at]` for each of the eight, clamped to the last number. The highest bit of `at` is ignored.
    ///
    /// # Panics
    ///
    /// If there are no numbers.
    #[inline(always)]
    pub fn one_of(numbers: &[u64], at: Words<F>) -> Words<F> {
        if let [number] = numbers {
            return Words::splat(*number);
        }
        assert!(!numbers.is_empty(), "there is a number");
        let last = (numbers.len() - 1) as u64;
        let at = Words::splat(last).min(at & (u64::MAX >> 1));
        #[cfg(target_arch = "x86_64")]
        if F::VECTORS != Vectors::Any {
            let first = numbers.as_ptr().expose_provenance() as u64;
            // SAFETY: a number is at each place, its provenance is exposed, and the form has vectors.
            return unsafe { Words::gather((at << u64::from(WORD_BYTES.ilog2())) + first) };
        }
        Words::of(at.0.map(|at| numbers[at as usize]))
    }
}

#[cfg(target_arch = "x86_64")]
impl<F> Words<F> {
    #[inline(always)]
    pub(crate) fn widest(self) -> __m512i {
        // SAFETY: both are 64 bytes, and any bytes are a value.
        unsafe { std::mem::transmute(self.0) }
    }

    #[inline(always)]
    pub(crate) fn from_widest(vector: __m512i) -> Words<F> {
        // SAFETY: as above.
        Words(unsafe { std::mem::transmute::<__m512i, [u64; WORDS]>(vector) }, PhantomData)
    }

    #[inline(always)]
    fn wide(self) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe { std::mem::transmute(self.0) }
    }

    #[inline(always)]
    fn from_wide(vectors: [__m256i; 2]) -> Words<F> {
        // SAFETY: as above.
        Words(unsafe { std::mem::transmute::<[__m256i; 2], [u64; WORDS]>(vectors) }, PhantomData)
    }
}

#[cfg(target_arch = "x86_64")]
impl<F: Form> Words<F> {
    /// The little-endian words at these addresses.
    ///
    /// # Safety
    ///
    /// The eight bytes at each address must be readable, their provenance exposed, and the form must have vectors.
    #[inline(always)]
    pub(crate) unsafe fn gather(places: Words<F>) -> Words<F> {
        if F::VECTORS == Vectors::Avx512 {
            // SAFETY: each place has a word, and this loop runs where the processor has AVX-512.
            return Words::from_widest(unsafe {
                _mm512_i64gather_epi64::<1>(places.widest(), std::ptr::null())
            });
        }
        // SAFETY: the same with AVX2.
        let gather = |places| unsafe { _mm256_i64gather_epi64::<1>(std::ptr::null(), places) };
        Words::from_wide(places.wide().map(gather))
    }
}

impl<F: Form> Mask<F> {
    /// A mask from bits, the lowest bit for the first number.
    #[inline(always)]
    pub fn of(bits: u8) -> Mask<F> {
        #[cfg(target_arch = "x86_64")]
        if F::VECTORS == Vectors::Avx512 {
            // SAFETY: this loop runs where the processor has AVX-512.
            return Mask(Words::from_widest(unsafe { _mm512_movm_epi64(bits) }));
        }
        let each = Words::of([1, 2, 4, 8, 16, 32, 64, 128]);
        (Words::splat(u64::from(bits)) & each).equal(each)
    }

    /// `then` where the comparison holds, `otherwise` elsewhere.
    #[inline(always)]
    pub fn select(self, then: Words<F>, otherwise: Words<F>) -> Words<F> {
        otherwise ^ ((then ^ otherwise) & self.0)
    }

    /// All ones where the comparison holds, zero elsewhere.
    #[inline(always)]
    pub fn ones(self) -> Words<F> {
        self.0
    }

    /// One bit per number, the lowest bit for the first one.
    #[inline(always)]
    pub fn bits(self) -> u8 {
        #[cfg(target_arch = "x86_64")]
        match F::VECTORS {
            // SAFETY: this loop runs where the processor has AVX-512.
            Vectors::Avx512 => return unsafe { _mm512_movepi64_mask(self.0.widest()) },
            Vectors::Avx2 => {
                // SAFETY: this loop runs where the processor has AVX2.
                let bits = |half| unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(half)) as u8 };
                let [low, high] = self.0.wide().map(bits);
                return low | high << (WORDS / 2);
            }
            Vectors::Any => {}
        }
        self.0.0.iter().rev().fold(0, |bits, number| bits << 1 | (number & 1) as u8)
    }
}

fn ones_if(is: bool) -> u64 {
    if is { u64::MAX } else { 0 }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn equal_widest(one: __m512i, other: __m512i) -> __m512i {
    _mm512_movm_epi64(_mm512_cmpeq_epi64_mask(one, other))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn above_widest(one: __m512i, other: __m512i) -> __m512i {
    _mm512_movm_epi64(_mm512_cmpgt_epi64_mask(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Loop, run_all};

    /// Applies every operation to two vectors.
    struct All([u64; WORDS], [u64; WORDS]);

    impl Loop for All {
        type Output = Vec<u64>;

        #[inline(always)]
        fn run<F: Form>(self) -> Vec<u64> {
            let (one, other) = (Words::<F>::of(self.0), Words::<F>::of(self.1));
            let (equal, above) = (one.equal(other), one.above(other));
            let results = [
                one + other,
                one - other,
                one & other,
                one | other,
                one ^ other,
                one << other,
                one >> other,
                one << (other & 63),
                one >> (other & 63),
                one << 7,
                one >> 56,
                one.times(other & 0xffff_ffff),
                one.times_low(other),
                (one | Words::splat(1 << 63)).lowest_bit(),
                one.packed(0xa7) & Mask::of(0x1f).ones(),
                Words::one_of(&self.1, other & 15),
                Words::one_of(&self.1[..1], other),
                one.min(other),
                one.max(other),
                one.product(other).0,
                one.product(other).1,
                Mask::of(above.bits()).ones(),
                equal.ones(),
                above.select(one, other),
            ];
            let bits = [equal.bits(), above.bits()].map(u64::from);
            results.into_iter().flat_map(Words::numbers).chain(bits).collect()
        }
    }

    /// The same results, computed number by number.
    fn expected(one: [u64; WORDS], other: [u64; WORDS]) -> Vec<u64> {
        let each = |of: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
            one.iter().zip(&other).map(|(&one, &other)| of(one, other)).collect()
        };
        let low = |number: u64| number & 0xffff_ffff;
        let shift = |other: u64| other.try_into().unwrap_or(u32::MAX);
        let mut results = [
            each(&u64::wrapping_add),
            each(&u64::wrapping_sub),
            each(&|one, other| one & other),
            each(&|one, other| one | other),
            each(&|one, other| one ^ other),
            each(&|one, other| one.checked_shl(shift(other)).unwrap_or(0)),
            each(&|one, other| one.checked_shr(shift(other)).unwrap_or(0)),
            each(&|one, other| one << (other & 63)),
            each(&|one, other| one >> (other & 63)),
            each(&|one, _| one << 7),
            each(&|one, _| one >> 56),
            each(&|one, other| one.wrapping_mul(low(other))),
            each(&|one, other| low(one) * low(other)),
            each(&|one, _| u64::from((one | 1 << 63).trailing_zeros())),
            vec![one[0], one[1], one[2], one[5], one[7], 0, 0, 0],
            each(&|_, at| other[(at & 15).min(7) as usize]),
            vec![other[0]; WORDS],
            each(&|one, other| (one as i64).min(other as i64) as u64),
            each(&|one, other| (one as i64).max(other as i64) as u64),
            each(&|one, other| ((u128::from(one) * u128::from(other)) >> 64) as u64),
            each(&u64::wrapping_mul),
            each(&|one, other| ones_if(one as i64 > other as i64)),
            each(&|one, other| ones_if(one == other)),
            each(&|one, other| (one as i64).max(other as i64) as u64),
        ]
        .concat();
        let bits = |is: &dyn Fn(u64, u64) -> bool| {
            (0..WORDS).fold(0, |bits, at| bits | u64::from(is(one[at], other[at])) << at)
        };
        results.extend([bits(&|one, other| one == other), bits(&|one, other| one as i64 > other as i64)]);
        results
    }

    #[test]
    fn all_forms_compute_the_same() {
        let kinds = [0, 1, 2, 63, 64, 0x7fff_ffff, 0x8000_0001, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        for round in 0..if cfg!(miri) { 8 } else { 1000 } {
            let number = |at: u64| match (round * 16 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) {
                mixed if mixed >> 62 == 0 => mixed << 2,
                mixed => kinds[(mixed >> 40) as usize % kinds.len()],
            };
            let one = std::array::from_fn(|at| number(at as u64));
            let other =
                std::array::from_fn(
                    |at| if at as u64 == round % 8 { one[at] } else { number(8 + at as u64) },
                );
            let expected = expected(one, other);
            run_all(|| All(one, other)).into_iter().for_each(|results| assert_eq!(results, expected));
        }
    }
}
