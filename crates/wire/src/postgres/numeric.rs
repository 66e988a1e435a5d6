//! `numeric` in binary: digits to the base 10,000, the weight of the first, a sign, and the number of decimal digits.

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use super::client_message::Fields;
use crate::read::{ReadResult, malformed};

/// Decimal digits of one digit to the base.
const GROUP: usize = 4;
const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xc000;

/// Digits that a value of ours may have before or after the point.
const DIGITS_MAX: usize = 1000;

/// Appends the number that `text` writes in decimal digits, with an optional sign and point.
pub(super) fn put_numeric(text: &[u8], out: &mut Vec<u8>) {
    let (sign, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (NEGATIVE, digits),
        None => (0, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    let mut groups: Vec<u16> = whole_groups(whole).collect();
    groups.extend(fraction.chunks(GROUP).map(|chunk| group(chunk.iter().copied(), GROUP - chunk.len())));
    let mut weight = whole.len().div_ceil(GROUP) as i64 - 1;
    let leading = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..leading);
    weight -= leading as i64;
    let used = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
    groups.truncate(used);
    if groups.is_empty() {
        weight = 0;
    }
    let numbers = [groups.len() as i64, weight, i64::from(sign), fraction.len() as i64];
    // A decimal has at most 76 digits.
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()[6..]));
    groups.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
}

/// The groups of an integer, the first one short.
fn whole_groups(digits: &[u8]) -> impl Iterator<Item = u16> {
    let (first, rest) = digits.split_at(digits.len() % GROUP);
    let first = (!first.is_empty()).then_some(first);
    first.into_iter().chain(rest.chunks(GROUP)).map(|chunk| group(chunk.iter().copied(), 0))
}

fn group(digits: impl Iterator<Item = u8>, zeros_after: usize) -> u16 {
    let number = digits.fold(0_u16, |number, digit| number * 10 + u16::from(digit - b'0'));
    (0..zeros_after).fold(number, |number, _| number * 10)
}

/// The decimal digits of a binary `numeric`.
pub(super) fn read_numeric(bytes: &[u8]) -> ReadResult<Vec<u8>> {
    let mut fields = Fields::new(bytes);
    let count = usize::from(fields.number16()?);
    let weight = i64::from(i16::from_be_bytes(fields.number16()?.to_be_bytes()));
    let (sign, scale) = (fields.number16()?, usize::from(fields.number16()?));
    if sign & NOT_A_NUMBER == NOT_A_NUMBER {
        return Err(malformed("a numeric that is NaN or infinite: no decimal type has such a value"));
    }
    let whole = usize::try_from(weight + 1).unwrap_or(0);
    if scale > DIGITS_MAX || whole > DIGITS_MAX / GROUP || count > DIGITS_MAX || weight < -(DIGITS_MAX as i64)
    {
        return Err(malformed("a numeric of more than 1000 digits"));
    }
    let groups = (0..count).map(|_| fields.number16()).collect::<ReadResult<Vec<u16>>>()?;
    if groups.iter().any(|group| *group >= 10_000) || !fields.is_empty() {
        return Err(malformed("a numeric with digits that are not to the base 10,000"));
    }
    let at = |position: i64| {
        let index = usize::try_from(weight - position).ok();
        index.and_then(|index| groups.get(index)).copied().unwrap_or(0)
    };
    let mut text = String::new();
    for position in (0..=weight.max(0)).rev() {
        text.push_str(&format!("{:04}", at(position)));
    }
    let whole = text.trim_start_matches('0');
    let mut digits = String::from(if sign == NEGATIVE { "-" } else { "" });
    digits.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let fraction: String =
            (1..=scale.div_ceil(GROUP)).map(|p| format!("{:04}", at(-(p as i64)))).collect();
        digits.push('.');
        digits.push_str(&fraction[..scale]);
    }
    Ok(digits.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_with_their_digits() {
        for text in [
            "0",
            "1",
            "-1",
            "9999",
            "10000",
            "12345.678",
            "-0.00010",
            "0.1",
            "100000000",
            "18446744073709551615",
            "0.00000001",
            "-123456789012345678901234567890.1234567890",
            "5000.0",
            "0.00",
        ] {
            let mut bytes = Vec::new();
            put_numeric(text.as_bytes(), &mut bytes);
            let read = read_numeric(&bytes).expect("our own");
            assert_eq!(String::from_utf8_lossy(&read), text);
            for end in 0..bytes.len() {
                assert!(read_numeric(&bytes[..end]).is_err());
            }
        }
    }

    #[test]
    fn binary_form_is_that_of_postgres() {
        let mut bytes = Vec::new();
        put_numeric(b"12345.678", &mut bytes);
        assert_eq!(bytes, [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
    }
}
