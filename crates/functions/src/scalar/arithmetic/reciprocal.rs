//! Repeated integer division by one divisor: a multiplication and two shifts instead of a division.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), figure 4.1: with `s`
//! the logarithm of the divisor `d` and `m = floor(2^(64+s+1) / d) - 2^64 + 1`, the quotient of any `n` below 2^64 is
//! `(h + (n - h) / 2) / 2^s`, where `h` is the upper half of the product `m n`. The same holds with 32 in place of
//! 64, which the compiler vectorizes.

/// A divisor of at least 2, with its magic number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    divisor: u64,
    shift: u32,
    magic: u64,
    /// The magic number for dividends below 2^32, if the divisor is below 2^32.
    narrow_magic: Option<u32>,
}

impl Reciprocal {
    /// `None` below 2.
    pub(super) fn of(divisor: u64) -> Option<Reciprocal> {
        let log = divisor.checked_ilog2().filter(|&log| log > 0)?;
        let narrow = u32::try_from(divisor).is_ok();
        if divisor.is_power_of_two() {
            // h = 0 leaves n / 2 / 2^(log - 1).
            return Some(Reciprocal { divisor, shift: log - 1, magic: 0, narrow_magic: narrow.then_some(0) });
        }
        let magic = |bits: u32| (1u128 << (bits + log + 1)) / u128::from(divisor) - (1u128 << bits) + 1;
        let narrow_magic = narrow.then(|| magic(32) as u32);
        // The dividend of the 64-bit magic number has 65 + log bits, at most 128.
        let wide = if log < 63 { magic(64) as u64 } else { Reciprocal::widest_magic(divisor) };
        Some(Reciprocal { divisor, shift: log, magic: wide, narrow_magic })
    }

    /// The magic number of a divisor above 2^63: floor(2^128 / d) - 2^64 + 1.
    fn widest_magic(divisor: u64) -> u64 {
        // No such divisor divides 2^128.
        (u128::MAX / u128::from(divisor)) as u64 + 1
    }

    #[inline(always)]
    pub(super) fn quotient(self, number: u64) -> u64 {
        let upper = ((u128::from(self.magic) * u128::from(number)) >> 64) as u64;
        (((number - upper) >> 1) + upper) >> self.shift
    }

    #[inline(always)]
    pub(super) fn remainder(self, number: u64) -> u64 {
        number - self.quotient(number) * self.divisor
    }

    /// The reciprocal for numbers below 2^32; `None` if the divisor is larger.
    pub(super) fn narrow(self) -> Option<Narrow> {
        Some(Narrow { divisor: self.divisor as u32, shift: self.shift, magic: self.narrow_magic? })
    }
}

/// A [`Reciprocal`] for numbers below 2^32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    divisor: u32,
    shift: u32,
    magic: u32,
}

impl Narrow {
    #[inline(always)]
    pub(super) fn quotient(self, number: u32) -> u32 {
        let upper = ((u64::from(self.magic) * u64::from(number)) >> 32) as u32;
        (((number - upper) >> 1) + upper) >> self.shift
    }

    #[inline(always)]
    pub(super) fn remainder(self, number: u32) -> u32 {
        number - self.quotient(number) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(number: u64, divisor: u64) {
        let Some(reciprocal) = Reciprocal::of(divisor) else { return assert!(divisor < 2) };
        assert_eq!(reciprocal.quotient(number), number / divisor, "{number} / {divisor}");
        assert_eq!(reciprocal.remainder(number), number % divisor, "{number} % {divisor}");
        let Some(narrow) = reciprocal.narrow() else { return assert!(divisor > u64::from(u32::MAX)) };
        let number = number as u32;
        assert_eq!(u64::from(narrow.quotient(number)), u64::from(number) / divisor, "{number} / {divisor}");
        assert_eq!(u64::from(narrow.remainder(number)), u64::from(number) % divisor, "{number} % {divisor}");
    }

    #[test]
    fn edges() {
        let near = |power: u32| {
            let at = 1u64 << power;
            [at.wrapping_sub(2), at.wrapping_sub(1), at, at + 1]
        };
        let numbers: Vec<u64> = (0..64).flat_map(near).chain([u64::MAX, u64::MAX - 1]).collect();
        for &divisor in &numbers {
            for &number in &numbers {
                check(number, divisor);
                // A wrong reciprocal fails near multiples of the divisor.
                check(number.wrapping_mul(divisor), divisor);
                check(number.wrapping_mul(divisor).wrapping_sub(1), divisor);
            }
        }
    }

    proptest! {
        #[test]
        fn any_numbers(number in any::<u64>(), divisor in any::<u64>(), shift in 0u32..64, small in 0u32..64) {
            check(number >> small, divisor >> shift);
        }
    }
}
