//! `concat`, `concatWithSeparator`, `format`: several values in one string.
//!
//! Syntax: `concat(x, ...)`, `concatWithSeparator(sep, x, ...)`, `format(pattern, x, ...)`. Values of other types are
//! converted as by `toString`. `concat` of arrays joins them to one array. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Error, Result, SqlType, bail};

use crate::scalar::conversion::Converter;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{append, build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static CONCAT: Definition =
    Definition::new("concat", Arity::AtLeast(1), bind_concat).case_insensitive();

pub(super) static CONCAT_WITH_SEPARATOR: Definition =
    Definition::new("concatWithSeparator", Arity::AtLeast(1), bind_with_separator)
        .aliases(&["concat_ws"])
        .case_insensitive();

pub(super) static FORMAT: Definition = Definition::new("format", Arity::AtLeast(2), bind_format);

fn bind_concat(call: &Call<'_>) -> Result<Bound> {
    if matches!(call.ty(0), SqlType::Array(_)) {
        return delegate(call, "arrayConcat");
    }
    let texts = Texts::of(call)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let (args, rows) = (texts.convert(args)?, rows_needed(args, rows));
        let columns = args.iter().map(Operand::bytes).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(build_strings(rows, |row, out| {
            columns.iter().try_for_each(|column| append(out, column.get(row)))
        })?))
    }))
}

/// The same call with another function.
fn delegate(call: &Call<'_>, name: &str) -> Result<Bound> {
    let function = crate::scalar::all().iter().find(|function| function.name() == name);
    function.ok_or_else(|| Error::not_implemented(format!("`{name}`")))?.bind(call.args, call.context)
}

fn bind_with_separator(call: &Call<'_>) -> Result<Bound> {
    call.expect_string(0)?;
    let texts = Texts::of(call)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let (args, rows) = (texts.convert(args)?, rows_needed(args, rows));
        let columns = args.iter().map(Operand::bytes).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(build_strings(rows, |row, out| {
            for (index, column) in columns[1..].iter().enumerate() {
                if index > 0 {
                    append(out, columns[0].get(row))?;
                }
                append(out, column.get(row))?;
            }
            Ok(())
        })?))
    }))
}

/// A part of a pattern for `format`.
#[derive(Debug, PartialEq)]
enum PatternPart {
    Literal(Vec<u8>),
    Argument(usize),
}

fn bind_format(call: &Call<'_>) -> Result<Bound> {
    let parts = parse_pattern(call.expect_text(0)?.as_bytes(), call.len() - 1)?;
    let texts = Texts::of(call)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let (args, rows) = (texts.convert(args)?, rows_needed(args, rows));
        let columns = args.iter().map(Operand::bytes).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(build_strings(rows, |row, out| {
            for part in &parts {
                match part {
                    PatternPart::Literal(text) => append(out, text)?,
                    PatternPart::Argument(index) => append(out, columns[index + 1].get(row))?,
                }
            }
            Ok(())
        })?))
    }))
}

/// `{}` is the next argument, `{1}` the second one, `{{` and `}}` are braces.
fn parse_pattern(pattern: &[u8], arguments: usize) -> Result<Vec<PatternPart>> {
    let mut parts = Vec::new();
    let mut literal = Vec::new();
    let mut next = 0;
    let mut at = 0;
    while at < pattern.len() {
        match (pattern[at], pattern.get(at + 1)) {
            (b'{', Some(b'{')) | (b'}', Some(b'}')) => {
                literal.push(pattern[at]);
                at += 2;
            }
            (b'{', _) => {
                let Some(length) = pattern[at..].iter().position(|&byte| byte == b'}') else {
                    bail!(BadArguments, "the pattern of `format` has a brace that is not closed");
                };
                let inside = std::str::from_utf8(&pattern[at + 1..at + length]).unwrap_or("?");
                let index = if inside.is_empty() { Ok(next) } else { inside.parse() };
                let Some(index) = index.ok().filter(|&index| index < arguments) else {
                    bail!(
                        BadArguments,
                        "the pattern of `format` has `{{{inside}}}`, there are {arguments} arguments"
                    );
                };
                next += 1;
                parts.push(PatternPart::Literal(std::mem::take(&mut literal)));
                parts.push(PatternPart::Argument(index));
                at += length + 1;
            }
            (b'}', _) => bail!(BadArguments, "the pattern of `format` closes a brace that is not open"),
            (byte, _) => {
                literal.push(byte);
                at += 1;
            }
        }
    }
    parts.push(PatternPart::Literal(literal));
    Ok(parts)
}

/// Converts every argument to a string.
struct Texts(Vec<Converter>);

impl Texts {
    fn of(call: &Call<'_>) -> Result<Texts> {
        let converter = |index| match call.ty(index) {
            // Its padding is part of the result.
            fixed @ SqlType::FixedString(_) => Converter::new(fixed, fixed, call.context),
            other => Converter::new(other, &SqlType::String, call.context),
        };
        (0..call.len()).map(converter).collect::<Result<_>>().map(Texts)
    }

    fn convert(&self, args: &[Operand]) -> Result<Vec<Operand>> {
        let convert = |(arg, converter): (&Operand, &Converter)| {
            let array: ArrayRef = converter.convert(&arg.array)?;
            Ok(Operand { array, constant: arg.constant })
        };
        args.iter().zip(&self.0).map(convert).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_braces_and_numbers() {
        let literal = |text: &str| PatternPart::Literal(text.into());
        let expected =
            [literal("{"), PatternPart::Argument(1), literal("-"), PatternPart::Argument(0), literal("")];
        assert_eq!(parse_pattern(b"{{{1}-{0}", 2).unwrap(), expected);
        for broken in [&b"{"[..], b"}", b"{2}", b"{x}"] {
            assert!(parse_pattern(broken, 2).is_err());
        }
    }
}
