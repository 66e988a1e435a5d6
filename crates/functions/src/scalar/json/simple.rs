//! `simpleJSONExtractInt` and variants: a value found by its name without parsing the document.
//!
//! Syntax: `simpleJSONExtractInt(json, name)`. The first `"name":` in the text is used, at any depth; the value
//! follows the colon immediately. A missing value or one of another kind gives 0 or an empty string. The older names,
//! such as `visitParamExtractInt`, are aliases.

use std::sync::Arc;

use arrow::array::{Float64Array, Int64Array, UInt8Array, UInt64Array};
use basalt_base::{ErrorCode, Result, SqlType};
use basalt_formats::text::JsonScanner;
use memchr::memmem::Finder;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

/// Declares functions that convert the text after the name to a number.
macro_rules! numbers {
    ($($constant:ident $name:literal $alias:literal $ty:ident $array:ident $of:expr;)+) => { $(
        pub(super) static $constant: Definition = Definition::new($name, Arity::Exactly(2), |call| {
            let field = Field::of(call)?;
            Ok(Bound::of(SqlType::$ty, move |args: &[Operand], rows| {
                let texts = args[0].bytes()?;
                let values = (0..rows_needed(args, rows)).map(|row| $of(field.find(texts.get(row))));
                Ok(Arc::new($array::from_iter_values(values)))
            }))
        })
        .aliases(&[$alias]);
    )+ };
}

numbers! {
    HAS "simpleJSONHas" "visitParamHas" UInt8 UInt8Array |found: Option<&[u8]>| u8::from(found.is_some());
    EXTRACT_INT "simpleJSONExtractInt" "visitParamExtractInt" Int64 Int64Array
        |found| whole(found).parse::<i64>().unwrap_or_default();
    EXTRACT_UINT "simpleJSONExtractUInt" "visitParamExtractUInt" UInt64 UInt64Array
        |found| whole(found).parse::<u64>().unwrap_or_default();
    EXTRACT_FLOAT "simpleJSONExtractFloat" "visitParamExtractFloat" Float64 Float64Array
        |found| token(found).parse::<f64>().unwrap_or_default();
    EXTRACT_BOOL "simpleJSONExtractBool" "visitParamExtractBool" UInt8 UInt8Array
        |found: Option<&[u8]>| u8::from(found.is_some_and(|text| text.starts_with(b"true")));
}

pub(super) static EXTRACT_STRING: Definition =
    Definition::new("simpleJSONExtractString", Arity::Exactly(2), |call| {
        bind_text(call, |text, out| {
            if text.first() == Some(&b'"') {
                let mut scratch = Vec::new();
                // A truncated string counts as missing.
                out.extend_from_slice(JsonScanner::new(text).string(&mut scratch).unwrap_or_default());
            }
        })
    })
    .aliases(&["visitParamExtractString"]);

pub(super) static EXTRACT_RAW: Definition =
    Definition::new("simpleJSONExtractRaw", Arity::Exactly(2), |call| {
        bind_text(call, |text, out| {
            // Blanks around the value are part of it.
            let mut scanner = JsonScanner::new(text);
            if scanner.skip_value().is_ok() {
                scanner.skip_spaces();
                out.extend_from_slice(&text[..scanner.position()]);
            }
        })
    })
    .aliases(&["visitParamExtractRaw"]);

/// The name with its quotes and colon.
struct Field {
    finder: Finder<'static>,
}

impl Field {
    fn of(call: &Call<'_>) -> Result<Field> {
        call.expect_string(0)?;
        call.refuse_fixed_string(0, ErrorCode::IllegalColumn)?;
        let needle = format!("\"{}\":", call.expect_text(1)?);
        Ok(Field { finder: Finder::new(needle.as_bytes()).into_owned() })
    }

    /// The text after the name.
    fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let at = self.finder.find(text)?;
        Some(&text[at + self.finder.needle().len()..])
    }
}

/// The number at the start of the text, which may be quoted.
fn token(found: Option<&[u8]>) -> &str {
    let text = found.unwrap_or_default();
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let belongs = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    let length = text.iter().take_while(belongs).count();
    std::str::from_utf8(&text[..length]).unwrap_or_default()
}

/// The digits of a number before its point or exponent.
fn whole(found: Option<&[u8]>) -> &str {
    let token = token(found);
    token.split(['.', 'e', 'E']).next().unwrap_or_default()
}

fn bind_text(call: &Call<'_>, write: fn(&[u8], &mut Vec<u8>)) -> Result<Bound> {
    let field = Field::of(call)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        Ok(Arc::new(build_strings(rows_needed(args, rows), |row, out| {
            if let Some(found) = field.find(texts.get(row)) {
                write(found, out);
            }
            Ok(())
        })?))
    }))
}
