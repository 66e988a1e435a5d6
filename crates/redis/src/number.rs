//! Numbers in commands and replies.

use crate::failure::{NOT_INTEGER, Outcome};

/// An integer as Redis takes it: no spaces, no plus sign, no zeros in front.
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (digits, is_negative) = match text {
        [b'-', rest @ ..] => (rest, true),
        _ => (text, false),
    };
    match digits {
        [b'0'] if !is_negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value = 0_i128;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i128::from(byte - b'0');
    }
    i64::try_from(if is_negative { -value } else { value }).ok()
}

pub(crate) fn integer(text: &[u8]) -> Outcome<i64> {
    parse_integer(text).ok_or(NOT_INTEGER)
}

/// A number that is not NaN.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!value.is_nan()).then_some(value)
}

/// As C's `%.17g`, and `inf` and `-inf`.
pub(crate) fn print_double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or_default();
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_printed_as_in_redis() {
        assert_eq!(parse_integer(b"-9223372036854775808"), Some(i64::MIN));
        for text in ["", "-", "+1", "01", "-0", " 1", "1 ", "9223372036854775808", "1.0"] {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text}");
        }
        let printed = [
            (0.1, "0.10000000000000001"),
            (3.0, "3"),
            (-0.0, "-0"),
            (1e20, "1e+20"),
            (1e-7, "9.9999999999999995e-08"),
            (1e16, "10000000000000000"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        printed.iter().for_each(|(value, text)| assert_eq!(print_double(*value), *text));
        assert_eq!(parse_double(b"nan"), None);
    }
}
