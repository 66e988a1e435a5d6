//! A number of up to 256 bits with its sign: what arithmetic over wide integers works with.

use std::cmp::Ordering;

use ethnum::U256;

/// Decimal digits that one step of printing and parsing handles.
const STEP_DIGITS: usize = 19;
const STEP: u64 = 10_u64.pow(STEP_DIGITS as u32);
/// The bits of a limb in ClickHouse.
const LIMB_BITS: u32 = 64;

/// A whole number from `-2^255` to `2^256 - 1`.
///
/// # Invariants
///
/// - Bits: of a negative number, the bits are its two's complement in 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WideNumber {
    bits: U256,
    is_negative: bool,
}

/// Why text is no whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNumber {
    Empty,
    /// A sign alone, or a minus in front of an unsigned number.
    Sign,
    /// Something else than digits.
    Text,
}

impl WideNumber {
    pub(super) fn positive(bits: U256) -> WideNumber {
        WideNumber { bits, is_negative: false }
    }

    /// The number below zero with these bits.
    pub(super) fn negative(bits: U256) -> WideNumber {
        WideNumber { bits, is_negative: true }
    }

    /// The number that the low `width` bits are.
    pub fn of_bits(bits: U256, width: u32, is_signed: bool) -> WideNumber {
        let spare = U256::BITS - width;
        let low = (bits << spare) >> spare;
        let is_negative = is_signed && (low >> (width - 1)) & U256::ONE == U256::ONE;
        let sign = if is_negative && spare > 0 { U256::MAX << width } else { U256::ZERO };
        WideNumber { bits: low | sign, is_negative }
    }

    /// Two's complement in 256 bits.
    pub fn bits(self) -> U256 {
        self.bits
    }

    pub fn is_negative(self) -> bool {
        self.is_negative
    }

    pub fn is_zero(self) -> bool {
        self.bits == U256::ZERO
    }

    pub fn magnitude(self) -> U256 {
        if self.is_negative { self.bits.wrapping_neg() } else { self.bits }
    }

    /// The number with this magnitude; zero has no sign.
    pub fn of_magnitude(magnitude: U256, is_negative: bool) -> WideNumber {
        match is_negative && magnitude != U256::ZERO {
            true => WideNumber::negative(magnitude.wrapping_neg()),
            false => WideNumber::positive(magnitude),
        }
    }

    /// The truncated quotient. `None` for a divisor of zero.
    pub fn quotient(self, divisor: WideNumber) -> Option<WideNumber> {
        let quotient = self.magnitude().checked_div(divisor.magnitude())?;
        Some(WideNumber::of_magnitude(quotient, self.is_negative != divisor.is_negative))
    }

    /// The remainder of the truncated quotient: it has the sign of the dividend. `None` for a divisor of zero.
    pub fn remainder(self, divisor: WideNumber) -> Option<WideNumber> {
        let rest = self.magnitude().checked_rem(divisor.magnitude())?;
        Some(WideNumber::of_magnitude(rest, self.is_negative))
    }

    /// `None` if the number does not fit.
    pub fn to_i128(self) -> Option<i128> {
        let low = *self.bits.low() as i128;
        (WideNumber::from(low) == self).then_some(low)
    }

    /// The nearest float. As in ClickHouse the number is rounded to 64 bits first, limb by limb.
    pub fn to_f64(self) -> f64 {
        let (mantissa, exponent) = self.rounded();
        let float = mantissa as f64 * 2_f64.powi(exponent);
        if self.is_negative { -float } else { float }
    }

    /// Like [`WideNumber::to_f64`]; infinite beyond the range of the type.
    pub fn to_f32(self) -> f32 {
        let (mantissa, exponent) = self.rounded();
        let float = (mantissa as f32 * 2_f32.powi(exponent.min(127))) * 2_f32.powi((exponent - 127).max(0));
        if self.is_negative { -float } else { float }
    }

    /// The magnitude as 64 bits and an exponent of two.
    fn rounded(self) -> (u64, i32) {
        let magnitude = self.magnitude();
        let mut rounded = U256::ZERO;
        for limb in (0..U256::BITS / LIMB_BITS).rev() {
            let limb = *(magnitude >> (limb * LIMB_BITS)).low() as u64;
            let is_full = rounded.leading_zeros() < LIMB_BITS;
            rounded = round_to_limb((rounded << LIMB_BITS) | U256::from(limb));
            if is_full || (rounded == U256::ZERO && magnitude != U256::ZERO && limb != 0) {
                // Rounded up to 2^256, which does not fit.
                return (1 << (LIMB_BITS - 1), (U256::BITS - LIMB_BITS + 1) as i32);
            }
        }
        let shift = (U256::BITS - rounded.leading_zeros()).saturating_sub(LIMB_BITS);
        (*(rounded >> shift).low() as u64, shift as i32)
    }

    /// The integer part; the low bits of one that 256 bits do not hold. `None` for infinity and NaN.
    pub fn of_float(float: f64) -> Option<WideNumber> {
        const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        if !float.is_finite() {
            return None;
        }
        let whole = float.abs().trunc();
        let bits = whole.to_bits();
        if whole < 1.0 {
            return Some(WideNumber::default());
        }
        let exponent = (bits >> FRACTION_BITS) as i32 - 1023 - FRACTION_BITS as i32;
        let mantissa = U256::from((bits & ((1 << FRACTION_BITS) - 1)) | (1 << FRACTION_BITS));
        let shift = exponent.unsigned_abs();
        let magnitude = match exponent {
            ..0 => mantissa >> shift,
            _ if shift >= U256::BITS => U256::ZERO,
            _ => mantissa << shift,
        };
        Some(WideNumber::of_magnitude(magnitude, float < 0.0))
    }

    /// Parses an integer; digits beyond 256 bits wrap. `signed` allows a minus.
    pub fn parse(text: &[u8], signed: bool) -> Result<WideNumber, NoNumber> {
        let (is_negative, digits) = match text {
            [] => return Err(NoNumber::Empty),
            [b'-', ..] if !signed => return Err(NoNumber::Sign),
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        if digits.is_empty() {
            return Err(NoNumber::Sign);
        }
        let mut bits = U256::ZERO;
        for step in digits.chunks(STEP_DIGITS) {
            let mut value = 0_u64;
            for byte in step {
                if !byte.is_ascii_digit() {
                    return Err(NoNumber::Text);
                }
                value = value * 10 + u64::from(byte - b'0');
            }
            let power = U256::from(10_u64.pow(step.len() as u32));
            bits = bits.wrapping_mul(power).wrapping_add(U256::from(value));
        }
        // Below -2^255 the bits are those of a positive number.
        let is_negative = is_negative && bits <= U256::ONE << (U256::BITS - 1);
        Ok(WideNumber::of_magnitude(bits, is_negative))
    }

    /// Appends the decimal digits.
    pub fn write(self, out: &mut Vec<u8>) {
        let (step, mut rest) = (U256::from(STEP), self.magnitude());
        let mut steps = Vec::with_capacity(5);
        loop {
            steps.push(*(rest % step).low() as u64);
            rest /= step;
            if rest == U256::ZERO {
                break;
            }
        }
        let mut text = String::with_capacity(80);
        if self.is_negative {
            text.push('-');
        }
        let highest = steps.pop().unwrap_or(0);
        text.push_str(&highest.to_string());
        steps.iter().rev().for_each(|step| text.push_str(&format!("{step:0>STEP_DIGITS$}")));
        out.extend_from_slice(text.as_bytes());
    }
}

/// Rounds to 64 bits, halves to even.
fn round_to_limb(value: U256) -> U256 {
    let excess = (U256::BITS - value.leading_zeros()).saturating_sub(LIMB_BITS);
    if excess == 0 {
        return value;
    }
    let (kept, half) = (value >> excess, U256::ONE << (excess - 1));
    let rest = value & ((U256::ONE << excess) - 1);
    let is_odd = kept & U256::ONE == U256::ONE;
    let is_up = rest > half || (rest == half && is_odd);
    (kept + U256::from(u8::from(is_up))) << excess
}

impl From<i128> for WideNumber {
    fn from(value: i128) -> WideNumber {
        let high = if value < 0 { u128::MAX } else { 0 };
        WideNumber { bits: U256::from_words(high, value as u128), is_negative: value < 0 }
    }
}

impl Ord for WideNumber {
    fn cmp(&self, other: &WideNumber) -> Ordering {
        // Among numbers of one sign, two's complement has the order of the numbers.
        other.is_negative.cmp(&self.is_negative).then(self.bits.cmp(&other.bits))
    }
}

impl PartialOrd for WideNumber {
    fn partial_cmp(&self, other: &WideNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for WideNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> WideNumber {
        WideNumber::parse(text.as_bytes(), true).unwrap()
    }

    #[test]
    fn text_reads_back_the_same() {
        for text in [
            "0",
            "-1",
            "9999999999999999999",
            "10000000000000000000",
            "-170141183460469231731687303715884105728",
            "100000000000000000000000000000000000000",
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        ] {
            assert_eq!(number(text).to_string(), text);
        }
        assert_eq!(number("-0"), number("+0"));
        assert_eq!(WideNumber::parse(b"", true), Err(NoNumber::Empty));
        assert_eq!(WideNumber::parse(b"-", true), Err(NoNumber::Sign));
        assert_eq!(WideNumber::parse(b"-1", false), Err(NoNumber::Sign));
        assert_eq!(WideNumber::parse(b"1.5", true), Err(NoNumber::Text));
    }

    #[test]
    fn division_truncates() {
        let pair = |a: &str, b: &str| {
            (number(a).quotient(number(b)).unwrap(), number(a).remainder(number(b)).unwrap())
        };
        assert_eq!(pair("-7", "2"), (number("-3"), number("-1")));
        assert_eq!(pair("7", "-2"), (number("-3"), number("1")));
        assert_eq!(number("7").quotient(number("0")), None);
    }

    #[test]
    fn floats_are_the_nearest_and_back() {
        let known = [
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("-9007199254740995", -9_007_199_254_740_996.0),
            (
                "115792089237316195423570985008687907853269984665640564039457584007913129639935",
                2_f64.powi(256),
            ),
            (
                "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
                -2_f64.powi(255),
            ),
            ("0", 0.0),
        ];
        for (text, float) in known {
            assert_eq!(number(text).to_f64(), float, "{text}");
        }
        assert_eq!(number("340282366920938463463374607431768211455").to_f32(), f32::INFINITY);
        assert_eq!(number("-170141183460469231731687303715884105728").to_f32(), -(2_f32.powi(127)));
        for float in [0.0, 1.9, -1.9, 1e18, -1e30, 1e76] {
            assert_eq!(WideNumber::of_float(float).unwrap().to_f64(), float.trunc());
        }
        assert_eq!(WideNumber::of_float(f64::NAN), None);
        assert_eq!(WideNumber::of_float(2_f64.powi(256)), Some(WideNumber::default()));
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        let sorted =
            ["-170141183460469231731687303715884105729", "-2", "-1", "0", "1", "18446744073709551616"];
        assert!(sorted.map(number).is_sorted());
        assert_eq!(
            (number("-5").to_i128(), number("170141183460469231731687303715884105728").to_i128()),
            (Some(-5), None)
        );
    }
}
