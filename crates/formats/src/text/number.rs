//! Numbers as text: integers, floats the way ClickHouse prints them, decimals.

use arrow::datatypes::i256;
use basalt_base::types::{DECIMAL256_DIGITS, NoNumber, Wide, WideNumber};
use basalt_base::{Error, ErrorCode, Result};

/// Floats from `10^-6` up to, not including, `10^21` are written without an exponent.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -6..21;
/// Above this an integer may not be exact in an f64.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// The decimal digits of an integer.
pub fn write_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Writes the shortest digits that read back as the same f64; `inf`, `-inf` and `nan` by name.
pub fn write_float64(value: f64, out: &mut Vec<u8>) {
    if value.abs() < EXACT_INTEGERS && value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive()) {
        return write_integer(value as i64, out);
    }
    match denormal_name(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => write_shortest(zmij::Buffer::new().format_finite(value), out),
    }
}

/// Like [`write_float64`], with the digits that an f32 needs.
pub fn write_float32(value: f32, out: &mut Vec<u8>) {
    match denormal_name(f64::from(value)) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => write_shortest(zmij::Buffer::new().format_finite(value), out),
    }
}

fn denormal_name(value: f64) -> Option<&'static str> {
    match value {
        value if value.is_nan() => Some("nan"),
        value if value.is_infinite() => Some(if value > 0.0 { "inf" } else { "-inf" }),
        _ => None,
    }
}

/// Rewrites `1.5e20` or `1.0`, the form of `zmij`, in ClickHouse's form.
fn write_shortest(printed: &str, out: &mut Vec<u8>) {
    let Some((mantissa, exponent)) = printed.split_once('e') else {
        out.extend_from_slice(printed.strip_suffix(".0").unwrap_or(printed).as_bytes());
        return;
    };
    let exponent: i32 = exponent.parse().expect("the printer writes a number as the exponent");
    let unsigned = mantissa.trim_start_matches('-');
    if unsigned.len() != mantissa.len() {
        out.push(b'-');
    }
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    debug_assert_eq!(whole.len(), 1, "the mantissa has one digit before the point");
    let fraction = fraction.trim_end_matches('0');
    if !PLAIN_EXPONENTS.contains(&exponent) {
        out.extend_from_slice(whole.as_bytes());
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction.as_bytes());
        }
        out.push(b'e');
        write_integer(exponent, out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(whole.as_bytes());
        out.extend_from_slice(fraction.as_bytes());
    } else {
        let exponent = exponent as usize;
        out.extend_from_slice(whole.as_bytes());
        out.extend_from_slice(&fraction.as_bytes()[..exponent.min(fraction.len())]);
        out.extend(std::iter::repeat_n(b'0', exponent.saturating_sub(fraction.len())));
        if fraction.len() > exponent {
            out.push(b'.');
            out.extend_from_slice(&fraction.as_bytes()[exponent..]);
        }
    }
}

/// Writes `value` with its point `scale` digits from the right; drops trailing zeroes unless `keep_zeroes`.
pub fn write_decimal(value: i256, scale: u8, keep_zeroes: bool, out: &mut Vec<u8>) {
    let printed = match value.to_i128() {
        Some(small) => itoa::Buffer::new().format(small).to_owned(),
        None => value.to_string(),
    };
    let (sign, digits) = printed.strip_prefix('-').map_or(("", &*printed), |digits| ("-", digits));
    let padded = format!("{digits:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = padded.split_at(padded.len() - usize::from(scale));
    let fraction = if keep_zeroes { fraction } else { fraction.trim_end_matches('0') };
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(whole.as_bytes());
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
}

/// Parses an integer; `+` and leading zeroes are allowed, one that does not fit is an error.
pub fn parse_integer<T: atoi_simd::Parse>(text: &[u8]) -> Result<T> {
    atoi_simd::parse::<T, true, true>(text).map_err(|_| integer_error(text))
}

#[cold]
fn integer_error(text: &[u8]) -> Error {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        let shown = String::from_utf8_lossy(text);
        return Error::new(ErrorCode::ValueIsOutOfRange, format!("`{shown}` is out of the type's range"));
    }
    unreadable(text, "a whole number")
}

/// Parses a wide integer; as in ClickHouse, digits beyond the type wrap.
pub fn parse_wide(text: &[u8], wide: Wide) -> Result<WideNumber> {
    let number = WideNumber::parse(text, wide.is_signed()).map_err(|why| {
        let code = match why {
            NoNumber::Empty => ErrorCode::UnexpectedEndOfFile,
            NoNumber::Sign => ErrorCode::CannotParseNumber,
            NoNumber::Text => ErrorCode::CannotParseText,
        };
        Error::new(code, unreadable(text, wide.name()).message())
    })?;
    Ok(wide.wrap(number.bits()))
}

/// Parses a float in decimal or exponent form, or `inf`, `nan` in any case.
pub fn parse_float<T: fast_float2::FastFloat>(text: &[u8]) -> Result<T> {
    fast_float2::parse(text).map_err(|_| unreadable(text, "a number"))
}

/// Parses a decimal to a multiple of `10^-scale`. Digits beyond the scale are truncated; a number with more than
/// `precision` digits is an error.
pub fn parse_decimal(text: &[u8], precision: u8, scale: u8) -> Result<i256> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let (mantissa, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    let digits = mantissa.iter().copied().enumerate().filter(|&(at, _)| at != point);
    if mantissa.iter().all(|&byte| byte == b'.') || digits.clone().any(|(_, byte)| !byte.is_ascii_digit()) {
        let error = unreadable(text, "a decimal");
        // As in ClickHouse, an exponent without digits before it is another error than no digits at all.
        let is_bare = mantissa.is_empty() && exponent.is_some();
        return Err(if is_bare { Error::new(ErrorCode::CannotParseNumber, error.message()) } else { error });
    }
    let exponent = exponent.map_or(Ok(0), parse_integer::<i32>)?;
    // The number of digits that count: those before the point, moved by exponent and scale.
    let kept =
        i64::try_from(point).unwrap_or(i64::MAX).saturating_add(i64::from(exponent) + i64::from(scale));
    let too_big = || {
        let shown = String::from_utf8_lossy(text);
        Error::new(
            ErrorCode::ArgumentOutOfBound,
            format!("`{shown}` does not fit Decimal({precision}, {scale})"),
        )
    };
    let value = decimal_digits(digits.map(|(_, byte)| byte), kept, precision).ok_or_else(too_big)?;
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// The first `kept` digits as a number, padded with zeroes; `None` if longer than `precision`.
fn decimal_digits(digits: impl Iterator<Item = u8>, kept: i64, precision: u8) -> Option<i256> {
    let mut high = i256::ZERO;
    // Digits are collected in a word; only numbers beyond 38 digits need the wide arithmetic.
    let mut low: i128 = 0;
    let mut significant = 0_u32;
    let padded = digits.chain(std::iter::repeat(b'0'));
    let mut left = kept;
    for (seen, byte) in padded.enumerate() {
        // After this many leading zeroes, all digits within the reach of an exponent are zeroes.
        if left <= 0 || (significant == 0 && seen > usize::from(DECIMAL256_DIGITS) && byte == b'0') {
            break;
        }
        left -= 1;
        if significant == 0 && byte == b'0' {
            continue;
        }
        significant += 1;
        if significant > u32::from(precision) {
            return None;
        }
        if significant <= 38 {
            low = low * 10 + i128::from(byte - b'0');
            high = i256::from_i128(low);
        } else {
            high =
                high.wrapping_mul(i256::from_i128(10)).wrapping_add(i256::from_i128(i128::from(byte - b'0')));
        }
    }
    Some(high)
}

/// An error that quotes the start of the text.
#[cold]
pub(crate) fn unreadable(text: &[u8], expected: &str) -> Error {
    const SHOWN: usize = 64;
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let dots = if text.len() > SHOWN { ".." } else { "" };
    Error::new(ErrorCode::CannotParseText, format!("`{shown}{dots}` is not {expected}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn float64(value: f64) -> String {
        let mut out = Vec::new();
        write_float64(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_print_as_clickhouse_prints_them() {
        let known = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (123_456_789_012_345_680.0, "123456789012345680"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e21, "1.5e21"),
            (1e-5, "0.00001"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (123_456.789e-10, "0.0000123456789"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (1.0 / 3.0, "0.3333333333333333"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
        ];
        for (value, text) in known {
            assert_eq!(float64(value), text);
        }
        let mut out = Vec::new();
        write_float32(123_456_789_012_345_680.0, &mut out);
        assert_eq!(out, b"123456790000000000");
    }

    #[test]
    fn decimals_are_cut_at_their_scale() {
        let parse = |text: &str| parse_decimal(text.as_bytes(), 9, 2).map(|value| value.as_i128());
        assert_eq!(parse("1.5").unwrap(), 150);
        assert_eq!(parse("-1.555").unwrap(), -155);
        assert_eq!(parse("1e3").unwrap(), 100_000);
        assert_eq!(parse("1.5e-1").unwrap(), 15);
        assert_eq!(parse(".5").unwrap(), 50);
        assert_eq!(parse("0e999999999").unwrap(), 0);
        assert_eq!(parse("0.004").unwrap(), 0);
        assert_eq!(parse("1234567.89").unwrap(), 123_456_789);
        for bad in ["12345678.9", "1e999999999", "", ".", "1.2.3", "abc", "1e"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn floats_read_back_the_same(bits: u64) {
            let value = f64::from_bits(bits);
            let back: f64 = parse_float(float64(value).as_bytes()).unwrap();
            prop_assert!(back == value || value.is_nan() && back.is_nan());
        }

        #[test]
        fn decimals_read_back_the_same(value: i128, scale in 0_u8..=38, zeroes: bool) {
            let value = i256::from_i128(value % 10_i128.pow(38));
            let mut out = Vec::new();
            write_decimal(value, scale, zeroes, &mut out);
            prop_assert_eq!(parse_decimal(&out, 38, scale).unwrap(), value);
        }
    }
}
