//! A value that a client sends, as the text of a literal and the type that it has.

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result};
use basalt_formats::text::{
    write_date, write_date_time64, write_float32, write_float64, write_integer, write_ipv4, write_ipv6,
    write_quoted, write_uuid,
};

use super::Format;
use super::array_text::{Element, read_array};
use super::client_message::Fields;
use super::numeric::read_numeric;
use super::oid;
use crate::read::{ReadError, ReadResult, malformed};

/// 2000-01-01 in days since 1970-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// 2000-01-01 in microseconds since 1970.
const EPOCH_US: i64 = 946_684_800_000_000;

/// The digits that a decimal of ours can have.
const DECIMAL_DIGITS_MAX: usize = 76;

/// Arrays in arrays, as in PostgreSQL.
const DIMENSIONS_MAX: u32 = 6;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name of its type in the dialect of ClickHouse; `None` if the place of the parameter decides.
    pub ty: Option<String>,
    /// As a literal between quotes writes it.
    pub text: Vec<u8>,
}

/// Reads a value of the type `ty`; 0 is an unknown one.
pub fn read_parameter(ty: u32, format: Format, bytes: &[u8]) -> Result<Parameter> {
    let element = oid::element(ty);
    let array = match (element, format) {
        (None, Format::Text) => None,
        (None, Format::Binary) => {
            let text = binary(ty, bytes).map_err(|error| unreadable(ty, error))?;
            return Ok(Parameter { ty: type_of(ty, &text), text });
        }
        (Some(element), Format::Text) => Some(read_texts(read_array(bytes)?, element)?),
        (Some(element), Format::Binary) => {
            Some(binary_array(element, bytes).map_err(|error| unreadable(ty, error))?)
        }
    };
    match (array, element) {
        (Some(array), Some(element)) => array_parameter(&array, element),
        _ => {
            let text = text(ty, bytes)?;
            Ok(Parameter { ty: type_of(ty, &text), text })
        }
    }
}

/// The type of ours of parameters that a client declares as `ty`; `None` if their places decide.
pub fn parameter_type(ty: u32) -> Option<String> {
    match oid::element(ty) {
        Some(element) => type_of(element, b"").map(|element| format!("Array({element})")),
        None => type_of(ty, b""),
    }
}

fn unreadable(ty: u32, error: ReadError) -> Error {
    error.into_error(&format!("a value of the type {ty}"))
}

/// The type of ours; decimals have the digits of the value.
fn type_of(ty: u32, text: &[u8]) -> Option<String> {
    let name = match ty {
        oid::BOOL => "Bool",
        oid::INT2 => "Int16",
        oid::INT4 => "Int32",
        oid::INT8 => "Int64",
        oid::OID => "UInt32",
        oid::FLOAT4 => "Float32",
        oid::FLOAT8 => "Float64",
        oid::DATE => "Date32",
        oid::TIMESTAMP => "DateTime64(6)",
        oid::TIMESTAMPTZ => "DateTime64(6, 'UTC')",
        oid::UUID => "UUID",
        oid::CHAR
        | oid::NAME
        | oid::TEXT
        | oid::BPCHAR
        | oid::VARCHAR
        | oid::BYTEA
        | oid::JSON
        | oid::JSONB => "String",
        oid::NUMERIC => return decimal_of(text),
        _ => return None,
    };
    Some(name.to_owned())
}

fn decimal_of(text: &[u8]) -> Option<String> {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_plain = text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.'));
    (is_plain && digits <= DECIMAL_DIGITS_MAX).then(|| decimal(digits_after_point(text)))
}

fn digits_after_point(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'.').map_or(0, |point| text.len() - point - 1)
}

fn decimal(scale: usize) -> String {
    format!("Decimal({DECIMAL_DIGITS_MAX}, {scale})")
}

/// A text of PostgreSQL as our literals write it.
fn text(ty: u32, bytes: &[u8]) -> Result<Vec<u8>> {
    match ty {
        oid::BYTEA => read_bytea(bytes),
        oid::FLOAT4 | oid::FLOAT8 => Ok(match bytes.trim_ascii().to_ascii_lowercase().as_slice() {
            b"nan" => b"nan".to_vec(),
            b"infinity" => b"inf".to_vec(),
            b"-infinity" => b"-inf".to_vec(),
            _ => bytes.to_vec(),
        }),
        _ => Ok(bytes.to_vec()),
    }
}

/// `\x6162`, or text with octal escapes.
fn read_bytea(text: &[u8]) -> Result<Vec<u8>> {
    let malformed =
        || Error::new(ErrorCode::CannotParseText, "a bytea has neither hexadecimal digits nor escapes");
    let Some(digits) = text.strip_prefix(b"\\x") else { return unescaped(text).ok_or_else(malformed) };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(malformed)
}

fn unescaped(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        text = match text {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', digits @ ..] => {
                let octal = std::str::from_utf8(digits.get(..3)?).ok()?;
                bytes.push(u8::from_str_radix(octal, 8).ok()?);
                &digits[3..]
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// The text of a binary value.
fn binary(ty: u32, bytes: &[u8]) -> ReadResult<Vec<u8>> {
    let mut out = Vec::new();
    match ty {
        oid::BOOL => out.extend_from_slice(if fixed::<1>(bytes)? == [0] { b"false" } else { b"true" }),
        oid::INT2 => write_integer(i16::from_be_bytes(fixed(bytes)?), &mut out),
        oid::INT4 => write_integer(i32::from_be_bytes(fixed(bytes)?), &mut out),
        oid::INT8 => write_integer(i64::from_be_bytes(fixed(bytes)?), &mut out),
        oid::OID => write_integer(u32::from_be_bytes(fixed(bytes)?), &mut out),
        oid::FLOAT4 => write_float32(f32::from_be_bytes(fixed(bytes)?), &mut out),
        oid::FLOAT8 => write_float64(f64::from_be_bytes(fixed(bytes)?), &mut out),
        oid::NUMERIC => out = read_numeric(bytes)?,
        oid::DATE => write_date(i32::from_be_bytes(fixed(bytes)?).saturating_add(EPOCH_DAYS), &mut out),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let ticks = i64::from_be_bytes(fixed(bytes)?).saturating_add(EPOCH_US);
            write_date_time64(ticks, 6, Zone::utc(), &mut out);
            if ty == oid::TIMESTAMPTZ {
                out.push(b'Z');
            }
        }
        oid::UUID => write_uuid(&fixed::<16>(bytes)?, &mut out),
        oid::INET => match bytes {
            [2, 32, _, 4, a, b, c, d] => write_ipv4(u32::from_be_bytes([*a, *b, *c, *d]), &mut out),
            [3, 128, _, 16, address @ ..] if address.len() == 16 => write_ipv6(address, &mut out),
            _ => return Err(malformed("an address of a network is no address of a host")),
        },
        oid::JSONB => match bytes {
            [1, text @ ..] => out.extend_from_slice(text),
            _ => return Err(malformed("a jsonb of another version than 1")),
        },
        0 | oid::CHAR | oid::NAME | oid::TEXT | oid::BPCHAR | oid::VARCHAR | oid::BYTEA | oid::JSON => {
            out.extend_from_slice(bytes);
        }
        other => return Err(malformed(format!("the type {other} in binary is not known; send it as text"))),
    }
    Ok(out)
}

fn fixed<const N: usize>(bytes: &[u8]) -> ReadResult<[u8; N]> {
    let found = bytes.len();
    bytes.try_into().map_err(|_| malformed(format!("a binary value has {found} bytes, expected {N}")))
}

fn binary_array(element: u32, bytes: &[u8]) -> ReadResult<Element> {
    let mut fields = Fields::new(bytes);
    let (dimensions, _flags, given) = (fields.number32()?, fields.number32()?, fields.number32()?);
    if dimensions > DIMENSIONS_MAX {
        return Err(malformed(format!("an array of {dimensions} dimensions")));
    }
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(fields.number32()?);
        fields.number32()?;
    }
    let ty = if given == 0 { element } else { given };
    let array = match lengths.is_empty() {
        true => Element::Array(Vec::new()),
        false => read_dimension(&mut fields, ty, &lengths)?,
    };
    if fields.is_empty() { Ok(array) } else { Err(malformed("a binary array has bytes after its elements")) }
}

fn read_dimension(fields: &mut Fields<'_>, ty: u32, lengths: &[u32]) -> ReadResult<Element> {
    let Some((length, inner)) = lengths.split_first() else {
        return Ok(match fields.value()? {
            Some(bytes) => Element::Value(binary(ty, bytes)?),
            None => Element::Null,
        });
    };
    if inner.contains(&0) {
        return Ok(Element::Array(Vec::new()));
    }
    // Each element has bytes of its own, so the message bounds their number.
    let elements = (0..*length).map(|_| read_dimension(fields, ty, inner));
    Ok(Element::Array(elements.collect::<ReadResult<_>>()?))
}

/// The elements as our literals write them.
fn read_texts(array: Element, ty: u32) -> Result<Element> {
    Ok(match array {
        Element::Null => Element::Null,
        Element::Value(bytes) => Element::Value(text(ty, &bytes)?),
        Element::Array(elements) => Element::Array(
            elements.into_iter().map(|element| read_texts(element, ty)).collect::<Result<_>>()?,
        ),
    })
}

fn array_parameter(array: &Element, element: u32) -> Result<Parameter> {
    let mut text = Vec::new();
    let mut found = Found::default();
    put_literal(array, element, 0, &mut found, &mut text);
    let inner = match element {
        oid::NUMERIC => Some(decimal(found.scale)),
        _ => type_of(element, b""),
    };
    let ty = inner.map(|inner| {
        let inner = if found.has_null { format!("Nullable({inner})") } else { inner };
        (0..found.depth.max(1)).fold(inner, |ty, _| format!("Array({ty})"))
    });
    Ok(Parameter { ty, text })
}

/// What the elements of an array say of its type.
#[derive(Default)]
struct Found {
    has_null: bool,
    depth: usize,
    /// The most digits after the point of a decimal.
    scale: usize,
}

/// Appends `[1, NULL]`.
fn put_literal(array: &Element, ty: u32, depth: usize, found: &mut Found, out: &mut Vec<u8>) {
    match array {
        Element::Null => {
            found.has_null = true;
            out.extend_from_slice(b"NULL");
        }
        Element::Value(text) => {
            found.scale = found.scale.max(digits_after_point(text));
            put_element(ty, text, out);
        }
        Element::Array(elements) => {
            found.depth = found.depth.max(depth + 1);
            out.push(b'[');
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                put_literal(element, ty, depth + 1, found, out);
            }
            out.push(b']');
        }
    }
}

fn put_element(ty: u32, text: &[u8], out: &mut Vec<u8>) {
    match ty {
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC => {
            out.extend_from_slice(text);
        }
        oid::BOOL => {
            let is_true = matches!(text.first(), Some(b't' | b'T' | b'1' | b'y' | b'Y'));
            out.extend_from_slice(if is_true { b"true" } else { b"false" });
        }
        _ => write_quoted(text, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: u32, format: Format, bytes: &[u8], expected: (&str, Option<&str>)) {
        let read = read_parameter(ty, format, bytes).expect("a value");
        assert_eq!((String::from_utf8_lossy(&read.text).as_ref(), read.ty.as_deref()), expected);
    }

    #[test]
    fn texts_become_literals() {
        check(oid::BYTEA, Format::Text, b"\\x6100ff", ("a\0\u{fffd}", Some("String")));
        check(oid::BYTEA, Format::Text, b"a\\\\\\001", ("a\\\u{1}", Some("String")));
        check(oid::NUMERIC, Format::Text, b"-1.50", ("-1.50", Some("Decimal(76, 2)")));
        check(oid::FLOAT8, Format::Text, b"-Infinity", ("-inf", Some("Float64")));
        check(0, Format::Text, b"x", ("x", None));
        check(
            1009,
            Format::Text,
            b"{a,\"it's\",NULL}",
            (r"['a','it\'s',NULL]", Some("Array(Nullable(String))")),
        );
        check(1007, Format::Text, b"{{1,2},{3,4}}", ("[[1,2],[3,4]]", Some("Array(Array(Int32))")));
        check(1007, Format::Text, b"{}", ("[]", Some("Array(Int32)")));
        check(1231, Format::Text, b"{1.5,2.25}", ("[1.5,2.25]", Some("Array(Decimal(76, 2))")));
    }

    #[test]
    fn binary_values_become_literals() {
        check(oid::INT8, Format::Binary, &(-5_i64).to_be_bytes(), ("-5", Some("Int64")));
        check(oid::DATE, Format::Binary, &1_i32.to_be_bytes(), ("2000-01-02", Some("Date32")));
        let time = ("2000-01-01 00:00:01.500000Z", Some("DateTime64(6, 'UTC')"));
        check(oid::TIMESTAMPTZ, Format::Binary, &1_500_000_i64.to_be_bytes(), time);
        check(oid::INET, Format::Binary, &[2, 32, 0, 4, 127, 0, 0, 1], ("127.0.0.1", None));
        let array: Vec<u8> =
            [1_u32, 0, oid::INT4, 2, 1, 4, 7, u32::MAX].iter().flat_map(|n| n.to_be_bytes()).collect();
        check(1007, Format::Binary, &array, ("[7,NULL]", Some("Array(Nullable(Int32))")));
    }

    #[test]
    fn wrong_bytes_are_refused() {
        let long: Vec<u8> = [1_u32, 0, oid::INT4, u32::MAX, 1].iter().flat_map(|n| n.to_be_bytes()).collect();
        for (ty, format, bytes) in [
            (oid::INT4, Format::Binary, &[0, 0][..]),
            (oid::UUID, Format::Binary, &[0; 15]),
            (oid::NUMERIC, Format::Binary, &[0xff; 8]),
            (oid::INET, Format::Binary, &[2, 24, 1, 4, 10, 0, 0, 0]),
            (600, Format::Binary, &[0; 16]),
            (1007, Format::Binary, &long),
            (1007, Format::Text, b"{1"),
            (oid::BYTEA, Format::Text, b"\\xabc"),
        ] {
            assert!(read_parameter(ty, format, bytes).is_err(), "{ty} {bytes:?}");
        }
    }
}
