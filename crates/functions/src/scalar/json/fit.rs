//! Prints a value of a document as text that a column of a given type can parse.
//!
//! A part that the type cannot hold is printed as `null`, which the column reads as NULL or as its default. One
//! invalid element does not affect the others.

use basalt_base::SqlType;
use basalt_formats::text::{ColumnBuilder, JsonScanner, TextSettings, write_float64, write_json_string};

use super::document::Json;

const NULL: &[u8] = b"null";

/// Prints the part of `value` that a column of type `ty` can hold.
pub(super) fn write_fitting(value: &Json, ty: &SqlType, settings: &TextSettings, out: &mut Vec<u8>) {
    match (ty.stripped(), value) {
        (_, Json::Null) => out.extend_from_slice(NULL),
        (SqlType::Array(element), Json::Array(values)) => {
            write_list(values.iter().map(|value| (Some(value), &**element)), settings, out);
        }
        (SqlType::Tuple(elements), Json::Array(values)) => {
            let given = values.iter().map(Some).chain(std::iter::repeat(None));
            write_list(given.zip(elements.iter().map(|element| &element.ty)), settings, out);
        }
        (SqlType::Tuple(elements), Json::Object(entries)) => {
            let given = elements.iter().map(|element| {
                let named = |name: &String| entries.iter().find(|(entry, _)| entry == name.as_bytes());
                (element.name.as_ref().and_then(named).map(|(_, value)| value), &element.ty)
            });
            write_list(given, settings, out);
        }
        (SqlType::Map(_, element), Json::Object(entries)) => {
            out.push(b'{');
            for (at, (name, value)) in entries.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b"," } else { b"" });
                write_json_string(name, false, out);
                out.push(b':');
                write_fitting(value, element, settings, out);
            }
            out.push(b'}');
        }
        (SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..), _) => out.extend_from_slice(NULL),
        (ty, value) => write_scalar(value, ty, settings, out),
    }
}

fn write_list<'a>(
    values: impl Iterator<Item = (Option<&'a Json>, &'a SqlType)>,
    settings: &TextSettings,
    out: &mut Vec<u8>,
) {
    out.push(b'[');
    for (at, (value, ty)) in values.enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        write_fitting(value.unwrap_or(&Json::Null), ty, settings, out);
    }
    out.push(b']');
}

fn write_scalar(value: &Json, ty: &SqlType, settings: &TextSettings, out: &mut Vec<u8>) {
    match ty {
        SqlType::String => write_as_string(value, out),
        SqlType::FixedString(bytes) => {
            let begin = out.len();
            let mut text = Vec::new();
            write_text(value, &mut text);
            write_json_string(&text, false, out);
            if text.len() > *bytes {
                out.truncate(begin);
                out.extend_from_slice(NULL);
            }
        }
        ty if ty.is_integer() => match whole_of(value).filter(|&number| holds(ty, number)) {
            Some(number) => out.extend_from_slice(number.to_string().as_bytes()),
            None => out.extend_from_slice(NULL),
        },
        SqlType::Float32 | SqlType::Float64 => match float_of(value) {
            Some(number) => write_float64(number, out),
            None => out.extend_from_slice(NULL),
        },
        // The point marks seconds; without it, the number of digits would select seconds or milliseconds.
        SqlType::DateTime64 { .. } if matches!(value, Json::Int(_)) => {
            value.print(out);
            out.extend_from_slice(b".0");
        }
        ty => {
            let begin = out.len();
            value.print(out);
            if !is_readable(&out[begin..], ty, settings) {
                out.truncate(begin);
                out.extend_from_slice(NULL);
            }
        }
    }
}

fn write_as_string(value: &Json, out: &mut Vec<u8>) {
    if let Json::String(_) = value {
        return value.print(out);
    }
    let mut text = Vec::new();
    write_text(value, &mut text);
    write_json_string(&text, false, out);
}

fn is_readable(text: &[u8], ty: &SqlType, settings: &TextSettings) -> bool {
    let builder = ColumnBuilder::new(ty, settings);
    builder.is_ok_and(|mut builder| builder.parse_json(&mut JsonScanner::new(text)).is_ok())
}

/// The integer part of a number, of a number in a string, or of a boolean.
fn whole_of(value: &Json) -> Option<i128> {
    match value {
        Json::Int(number) => Some(i128::from(*number)),
        Json::UInt(number) => Some(i128::from(*number)),
        Json::Float(number) => Some(*number as i128),
        Json::Bool(flag) => Some(i128::from(*flag)),
        Json::String(text) => {
            let text = std::str::from_utf8(text).ok()?;
            text.parse().ok().or_else(|| Some(text.parse::<f64>().ok()? as i128))
        }
        _ => None,
    }
}

fn holds(ty: &SqlType, number: i128) -> bool {
    let bits = 8 * ty.fixed_bytes().unwrap_or(8) as u32;
    if ty.is_unsigned() {
        number >= 0 && number < 1 << bits
    } else {
        (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number)
    }
}

pub(super) fn float_of(value: &Json) -> Option<f64> {
    match value {
        Json::Int(value) => Some(*value as f64),
        Json::UInt(value) => Some(*value as f64),
        Json::Float(value) => Some(*value),
        Json::String(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// A string without quotes, other values except NULL as JSON.
pub(super) fn write_text(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::String(text) => out.extend_from_slice(text),
        Json::Null => {}
        other => other.print(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(text: &str, ty: &str) -> String {
        let ty = basalt_sql::resolve_type(&basalt_sql::parse_type(ty.as_bytes()).unwrap()).unwrap();
        let mut out = Vec::new();
        let value = Json::parse(text.as_bytes()).unwrap();
        write_fitting(&value, &ty, &TextSettings::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_element_that_does_not_fit_leaves_the_others() {
        assert_eq!(fitting("[1,\"x\",300,null,2.9]", "Array(UInt8)"), "[1,null,null,null,2]");
        assert_eq!(fitting("{\"b\":300,\"a\":7}", "Tuple(a UInt8, b UInt8, c String)"), "[7,null,null]");
        assert_eq!(fitting("[1]", "Tuple(UInt8, String)"), "[1,null]");
        assert_eq!(
            fitting("{\"a\":1,\"b\":{\"c\":2}}", "Map(String, String)"),
            r#"{"a":"1","b":"{\"c\":2}"}"#
        );
        assert_eq!(fitting("[\"2020-01-01\",\"x\"]", "Array(Date)"), "[\"2020-01-01\",null]");
    }

    #[test]
    fn objects_are_text_for_a_string_that_is_long_enough() {
        assert_eq!(fitting("{\"b\":1}", "FixedString(7)"), r#""{\"b\":1}""#);
        assert_eq!(fitting("{\"b\":1}", "FixedString(3)"), "null");
    }
}
