//! `simpleJSONExtractInt` and its kin: a value behind its name, found without reading the document.
//!
//! Syntax: `simpleJSONExtractInt(json, name)`. The first `"name":` in the text counts, at whatever depth;
//! the value stands right behind the colon. What is not there or is of another kind is 0 or empty. The
//! older names `visitParamExtractInt` and so on are the same functions.

use std::sync::Arc;

use arrow::array::{Float64Array, Int64Array, UInt8Array, UInt64Array};
use basalt_base::{ErrorCode, Result, SqlType};
use basalt_formats::text::JsonScanner;
use memchr::memmem::Finder;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

/// Declares functions that make a number of the text behind the name.
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
                // A string that is cut short is no string.
                out.extend_from_slice(JsonScanner::new(text).string(&mut scratch).unwrap_or_default());
            }
        })
    })
    .aliases(&["visitParamExtractString"]);

pub(super) static EXTRACT_RAW: Definition =
    Definition::new("simpleJSONExtractRaw", Arity::Exactly(2), |call| {
        bind_text(call, |text, out| {
            // Blanks before and after the value belong to it.
            let mut scanner = JsonScanner::new(text);
            if scanner.skip_value().is_ok() {
                scanner.skip_spaces();
                out.extend_from_slice(&text[..scanner.position()]);
            }
        })
    })
    .aliases(&["visitParamExtractRaw"]);

/// The name that is looked for, with its quotes and colon.
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

    /// What stands behind the name.
    fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let at = self.finder.find(text)?;
        Some(&text[at + self.finder.needle().len()..])
    }
}

/// The number that the text begins with, which may stand in quotes.
fn token(found: Option<&[u8]>) -> &str {
    let text = found.unwrap_or_default();
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let belongs = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    let length = text.iter().take_while(belongs).count();
    std::str::from_utf8(&text[..length]).unwrap_or_default()
}

/// The digits of a number in front of its point or exponent.
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
