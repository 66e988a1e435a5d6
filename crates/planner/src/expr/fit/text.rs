//! A string constant read as a value of the other side's type.

use basalt_base::{Error, ErrorCode, Result, SqlType};
use datafusion::common::ScalarValue;

use super::Fitted;
use super::number::{self, Quantity};
use crate::PlannerContext;
use crate::bound_expr::BoundExpr;
use crate::expr::convert;

/// Longer text is cut in an error.
const SHOWN_BYTES_MAX: usize = 100;

pub(super) fn fit(
    value: &ScalarValue,
    from: &SqlType,
    to: &SqlType,
    ctx: &PlannerContext<'_>,
) -> Result<Option<Fitted>> {
    match (from, to) {
        (from, SqlType::String) => Ok((*from == SqlType::String).then(|| Fitted::Exact(value.clone()))),
        (_, SqlType::FixedString(width)) => Ok(bytes(value).map(|bytes| padded(bytes, *width))),
        (_, SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..)) => Ok(None),
        (SqlType::FixedString(16), SqlType::Ipv6) => Ok(None),
        (_, to) if to.is_integer() => bytes(value).map(|text| whole(text, to)).transpose(),
        (_, to) => {
            let converted = convert(BoundExpr::literal(value.clone(), from.clone()), to, ctx)
                .map_err(|error| no_place(error, to))?;
            Ok(converted.constant().cloned().map(Fitted::Exact))
        }
    }
}

fn bytes(value: &ScalarValue) -> Option<&[u8]> {
    match value {
        ScalarValue::BinaryView(Some(bytes)) | ScalarValue::FixedSizeBinary(_, Some(bytes)) => Some(bytes),
        _ => None,
    }
}

/// The error for text that is not a value of the type.
fn no_place(error: Error, to: &SqlType) -> Error {
    let is_unread = matches!(error.code(), ErrorCode::CannotParseText | ErrorCode::CannotParseNumber)
        || error.code() == ErrorCode::UnexpectedEndOfFile;
    match to {
        SqlType::Decimal { .. } if is_unread => {
            Error::new(ErrorCode::TypeMismatch, error.message().to_owned())
        }
        SqlType::Wide(_) if is_unread => Error::new(ErrorCode::TypeMismatch, error.message().to_owned()),
        float if float.is_float() && is_unread => {
            Error::new(ErrorCode::CannotParseNumber, error.message().to_owned())
        }
        _ => error,
    }
}

/// A whole number in decimal digits, which wraps at 64 bits as in ClickHouse. A number out of range of the narrower
/// type is neither equal to, nor below or above, any of its values.
fn whole(text: &[u8], to: &SqlType) -> Result<Fitted> {
    let padding = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let text = &text[..padding];
    let (negative, digits) = match text {
        [b'-', rest @ ..] if !to.is_unsigned() => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES_MAX)]);
        return Err(Error::new(
            ErrorCode::TypeMismatch,
            format!("the string `{shown}` is not a number of type {to}, with which it is compared"),
        ));
    }
    let digit = |byte: &u8| u64::from(byte - b'0');
    let number = digits.iter().fold(0_u64, |number, byte| number.wrapping_mul(10).wrapping_add(digit(byte)));
    let number = match (to.is_unsigned(), negative) {
        (true, _) => i128::from(number),
        (false, true) => i128::from(number.wrapping_neg() as i64),
        (false, false) => i128::from(number as i64),
    };
    Ok(match number::fit(Quantity::Whole(number), to) {
        Some(Fitted::Exact(value)) => Fitted::Exact(value),
        _ => Fitted::Unordered,
    })
}

/// The text padded with zero bytes to the width; these bytes do not count. Longer text is placed after the text of
/// its first bytes.
fn padded(text: &[u8], width: usize) -> Fitted {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut padded = text[..end.min(width)].to_vec();
    padded.resize(width, 0);
    let value = ScalarValue::FixedSizeBinary(width as i32, Some(padded));
    if end > width { Fitted::Above(value) } else { Fitted::Exact(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_the_number_that_is_written_or_none() {
        let check = |text: &str, to: &SqlType, expected: Fitted| {
            assert_eq!(whole(text.as_bytes(), to).unwrap(), expected, "{text} in {to}");
        };
        check("255", &SqlType::UInt8, Fitted::Exact(ScalarValue::UInt8(Some(255))));
        check("257", &SqlType::UInt8, Fitted::Unordered);
        check("-128", &SqlType::Int8, Fitted::Exact(ScalarValue::Int8(Some(-128))));
        check("-129", &SqlType::Int8, Fitted::Unordered);
        for garbage in ["", "-1", "1.0", " 1", "1 ", "+", "abc"] {
            let error = whole(garbage.as_bytes(), &SqlType::UInt8).unwrap_err();
            assert_eq!(error.code(), ErrorCode::TypeMismatch, "{garbage}");
        }
    }

    #[test]
    fn zero_bytes_behind_a_fixed_string_count_as_none() {
        let fixed = |bytes: &[u8]| ScalarValue::FixedSizeBinary(2, Some(bytes.to_vec()));
        assert_eq!(padded(b"a", 2), Fitted::Exact(fixed(b"a\0")));
        assert_eq!(padded(b"a\0\0\0", 2), Fitted::Exact(fixed(b"a\0")));
        assert_eq!(padded(b"abc", 2), Fitted::Above(fixed(b"ab")));
    }
}
