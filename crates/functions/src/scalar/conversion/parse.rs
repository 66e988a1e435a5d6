//! Conversions from text.
//!
//! In strict conversions integers wrap as in ClickHouse: `toUInt8('300')` is 44. In lenient forms a number out of
//! range counts as invalid text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_formats::text::ColumnBuilder;

use super::print::text_settings;
use super::step::{OnError, Scope, Step};
use super::wides;
use crate::scalar::number::{Number, with_integer};
use crate::scalar::operand::Bytes;

/// The Date32 that means "none".
const ZERO_DATE: &[u8] = b"1900-01-01";

/// From String or FixedString; `None` if the type cannot be read from text.
pub(super) fn from_string(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Option<Step>> {
    if matches!(to, SqlType::Nothing | SqlType::Interval(_)) {
        return Ok(None);
    }
    let padded = matches!(from, SqlType::FixedString(_));
    let on_error = scope.on_error;
    if to.is_integer() && on_error == OnError::Fails {
        let name = to.to_string();
        return with_integer!(to.carrier(), T => {
            Ok(Some(Box::new(move |array| integers::<T>(array, padded, &name))))
        }, Ok(None));
    }
    if let (Some(wide), OnError::Fails) = (to.wide(), on_error) {
        return Ok(Some(Box::new(move |array| {
            wides::of_text(array, wide, |text| if padded { without_padding(text) } else { text })
        })));
    }
    let built = if on_error == OnError::GivesNull { to.clone().into_nullable() } else { to.clone() };
    let settings = text_settings(scope.context);
    // Fails once, here, for a type that cannot be parsed.
    ColumnBuilder::new(&built, &settings)?;
    let has_time = matches!(to, SqlType::Date | SqlType::Date32);
    Ok(Some(Box::new(move |array| {
        let mut builder = ColumnBuilder::new(&built, &settings)?;
        let bytes = Bytes::of(array)?;
        for row in 0..array.len() {
            if array.is_null(row) {
                builder.append_default();
                continue;
            }
            let text = if padded { without_padding(bytes.get(row)) } else { bytes.get(row) };
            let text = if has_time { without_time(text) } else { text };
            append(&mut builder, text, on_error)?;
        }
        Ok(builder.finish())
    })))
}

fn append(builder: &mut ColumnBuilder, text: &[u8], on_error: OnError) -> Result<()> {
    match (builder.parse_raw(text), on_error) {
        (Ok(_), _) => Ok(()),
        (Err(error), OnError::Fails) => Err(explain(error, text, builder.ty())),
        (Err(_), OnError::GivesNull) => builder.append_null(),
        // The first day of a Date32 is not the value 0, with which columns are filled.
        (Err(_), OnError::GivesDefault) if *builder.ty() == SqlType::Date32 => {
            builder.parse_raw(ZERO_DATE).map(drop)
        }
        (Err(_), OnError::GivesDefault) => {
            builder.append_default();
            Ok(())
        }
    }
}

#[cold]
fn explain(error: Error, text: &[u8], ty: &SqlType) -> Error {
    let code = match ty.stripped() {
        SqlType::Decimal { .. } if text.is_empty() => ErrorCode::UnexpectedEndOfFile,
        float if float.is_float() && text.is_empty() => ErrorCode::CannotParseNumber,
        _ => error.code(),
    };
    Error::new(code, error.message()).within(format_args!("as a value of type {ty}"))
}

/// `2020-01-01 10:00:00` as a date: a complete time of day is dropped.
fn without_time(text: &[u8]) -> &[u8] {
    const DATE_BYTES: usize = 10;
    match text.split_at_checked(DATE_BYTES) {
        Some((date, time)) if is_time(time) => date,
        _ => text,
    }
}

/// ` hh:mm:ss` or `Thh:mm:ss`, with an optional fraction of the second.
fn is_time(text: &[u8]) -> bool {
    const SHAPE: &[u8] = b" 00:00:00";
    let Some((time, fraction)) = text.split_at_checked(SHAPE.len()) else { return false };
    let fits = time.iter().zip(SHAPE).all(|(&byte, shape)| match shape {
        b' ' => matches!(byte, b' ' | b'T'),
        b'0' => byte.is_ascii_digit(),
        _ => byte == b':',
    });
    let fraction_fits = match fraction {
        [] => true,
        [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    fits && fraction_fits
}

fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn integers<T>(array: &ArrayRef, padded: bool, name: &str) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    let bytes = Bytes::of(array)?;
    let mut values = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            values.push(T::Native::default());
            continue;
        }
        let text = if padded { without_padding(bytes.get(row)) } else { bytes.get(row) };
        let number = integer(text, T::Native::IS_SIGNED).map_err(|code| unreadable(code, text, name))?;
        values.push(T::Native::from_u64(number));
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
}

/// The low 64 bits of a decimal integer.
fn integer(text: &[u8], signed: bool) -> Result<u64, ErrorCode> {
    let (negative, digits) = match text {
        [] => return Err(ErrorCode::UnexpectedEndOfFile),
        [b'-', ..] if !signed => return Err(ErrorCode::CannotParseNumber),
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() {
        return Err(ErrorCode::CannotParseNumber);
    }
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(ErrorCode::CannotParseText);
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Ok(if negative { number.wrapping_neg() } else { number })
}

#[cold]
fn unreadable(code: ErrorCode, text: &[u8], name: &str) -> Error {
    let shown = String::from_utf8_lossy(text);
    Error::new(
        code,
        format!("cannot parse string `{shown}` as {name}; the `OrZero` and `OrNull` forms forgive it"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_time_of_day_is_left_out() {
        for time in [" 01:02:03", "T01:02:03", " 25:61:61", " 01:02:03.5"] {
            assert_eq!(without_time(format!("2022-08-22{time}").as_bytes()), b"2022-08-22", "{time}");
        }
        for time in ["", " ", " 01:02:0", " 01:02", " 01:02:03.", " 01:02:03Z", " 01:02:03 "] {
            let text = format!("2022-08-22{time}");
            assert_eq!(without_time(text.as_bytes()), text.as_bytes(), "{time}");
        }
    }

    #[test]
    fn integers_wrap_and_garbage_is_refused() {
        assert_eq!(integer(b"300", false).map(|number| number as u8), Ok(44));
        assert_eq!(integer(b"18446744073709551616", false), Ok(0));
        assert_eq!(integer(b"-128", true).map(|number| number as i8), Ok(-128));
        assert_eq!(integer(b"", true), Err(ErrorCode::UnexpectedEndOfFile));
        assert_eq!(integer(b"-1", false), Err(ErrorCode::CannotParseNumber));
        for garbage in [&b" 3"[..], b"3 ", b"3.5", b"abc"] {
            assert_eq!(integer(garbage, true), Err(ErrorCode::CannotParseText));
        }
    }
}
