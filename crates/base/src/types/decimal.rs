//! Decimals as floats: the nearest float of the unscaled number, divided by the nearest float of the power of ten.

use std::sync::LazyLock;

use arrow::datatypes::i256;

use super::DECIMAL256_DIGITS;

/// The powers of ten, parsed from text because repeated multiplication does not give the nearest floats.
static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (0..=DECIMAL256_DIGITS).map(|exponent| format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)).collect()
});

/// The float nearest to ten to the power of `scale`.
pub fn power_of_ten(scale: u8) -> f64 {
    POWERS[usize::from(scale.min(DECIMAL256_DIGITS))]
}

/// A decimal with `scale` fractional digits as a float. Monotonic in `unscaled`.
pub fn decimal_as_float(unscaled: i256, scale: u8) -> f64 {
    nearest(unscaled) / power_of_ten(scale)
}

/// The float nearest to an integer.
fn nearest(number: i256) -> f64 {
    if let Some(narrow) = number.to_i128() {
        return narrow as f64;
    }
    // The magnitude of the lowest number is its own bits, read as unsigned.
    let (low, high) = number.wrapping_abs().to_parts();
    let high = high as u128;
    let shift = 128 - high.leading_zeros();
    // The bits that are cut off only decide whether the rest is above a half, so one sticky bit replaces them.
    let (kept, cut) = if shift == 128 {
        (high, low)
    } else {
        ((high << (128 - shift)) | (low >> shift), low & ((1_u128 << shift) - 1))
    };
    let kept = kept | u128::from(cut != 0);
    let magnitude = kept as f64 * 2_f64.powi(shift as i32);
    if number.is_negative() { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unscaled: &str, scale: u8, expected: f64) {
        let unscaled = i256::from_string(unscaled).unwrap();
        assert_eq!(decimal_as_float(unscaled, scale), expected);
    }

    #[test]
    fn a_decimal_becomes_the_float_that_is_written_alike() {
        check("1000000000000000000000000000000000000000000000000000000000000000000000", 70, 0.1);
        check("15", 1, 1.5);
        check("-333", 1, -33.3);
        check("10000000000000000000000000000000000000000000000000000000000000000000000000000", 0, 1e76);
        check(
            "340282366920938463463374607431768211456",
            0,
            340_282_366_920_938_463_463_374_607_431_768_211_456.0,
        );
        assert_eq!(decimal_as_float(i256::MIN, 0), -(2_f64.powi(255)));
    }
}
