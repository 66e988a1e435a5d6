//! Builds a column from the text of its values, in any style.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullBufferBuilder, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use memchr::memchr;

use super::escape::unescape;
use super::json::{JsonScanner, JsonValue};
use super::json_nested::{parse_json_array, parse_json_map, parse_json_object, parse_json_tuple};
use super::nested::QuotedScanner;
use super::scalar::{Scalars, scalars_of};
use super::writer::NULL_SIGN;
use crate::settings::TextSettings;

/// The result of parsing a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A value, or NULL where the type has it.
    Value,
    /// NULL for a type without NULL: the type's default was appended, and the column's `DEFAULT` expression may
    /// replace it.
    Default,
}

/// An array under construction.
///
/// A `parse_*` that fails appends nothing, so that the caller may append something else.
pub struct ColumnBuilder {
    ty: SqlType,
    shape: Shape,
    /// `None` if the type is not nullable.
    nulls: Option<NullBufferBuilder>,
    scratch: Vec<u8>,
    null_as_default: bool,
}

enum Shape {
    Scalars(Box<dyn Scalars>),
    Array { ends: Vec<i32>, element: Box<ColumnBuilder> },
    Map { ends: Vec<i32>, key: Box<ColumnBuilder>, value: Box<ColumnBuilder> },
    Tuple { elements: Vec<ColumnBuilder>, rows: usize },
}

impl ColumnBuilder {
    pub fn new(ty: &SqlType, settings: &TextSettings) -> Result<ColumnBuilder> {
        let inner = ty.stripped();
        let boxed = |ty: &SqlType| ColumnBuilder::new(ty, settings).map(Box::new);
        let shape = match (scalars_of(inner, settings)?, inner) {
            (Some(scalars), _) => Shape::Scalars(scalars),
            (None, SqlType::Array(element)) => Shape::Array { ends: Vec::new(), element: boxed(element)? },
            (None, SqlType::Map(key, value)) => {
                Shape::Map { ends: Vec::new(), key: boxed(key)?, value: boxed(value)? }
            }
            (None, SqlType::Tuple(elements)) => {
                let element =
                    |element: &basalt_base::types::TupleElement| ColumnBuilder::new(&element.ty, settings);
                Shape::Tuple { elements: elements.iter().map(element).collect::<Result<_>>()?, rows: 0 }
            }
            (None, other) => return Err(Error::not_implemented(format!("reading type {other} from text"))),
        };
        Ok(ColumnBuilder {
            ty: ty.clone(),
            shape,
            nulls: ty.accepts_null().then(|| NullBufferBuilder::new(0)),
            scratch: Vec::new(),
            null_as_default: settings.null_as_default,
        })
    }

    pub fn ty(&self) -> &SqlType {
        &self.ty
    }

    pub fn len(&self) -> usize {
        match &self.shape {
            Shape::Scalars(scalars) => scalars.len(),
            Shape::Array { ends, .. } | Shape::Map { ends, .. } => ends.len(),
            Shape::Tuple { rows, .. } => *rows,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Parses all of `text` as a value in the form of `toString`.
    pub fn parse_raw(&mut self, text: &[u8]) -> Result<Parsed> {
        match &mut self.shape {
            Shape::Scalars(scalars) => {
                scalars.push_text(text)?;
                self.mark_valid();
                Ok(Parsed::Value)
            }
            _ => self.parse_quoted(text),
        }
    }

    /// Parses a field of TabSeparated: `\N` is NULL, other escapes are decoded.
    pub fn parse_escaped(&mut self, text: &[u8]) -> Result<Parsed> {
        if text == b"\\N" {
            return self.append_missing();
        }
        // Inside brackets the escapes belong to the nested strings.
        if memchr(b'\\', text).is_none() || !matches!(self.shape, Shape::Scalars(_)) {
            return self.parse_raw(text);
        }
        self.with_scratch(|builder, scratch| {
            unescape(text, scratch)?;
            builder.parse_raw(scratch)
        })
    }

    /// Parses a field of CSV without its quotes; `in_quotes` says whether it had any.
    pub fn parse_csv(&mut self, text: &[u8], in_quotes: bool) -> Result<Parsed> {
        if !in_quotes && text == b"\\N" {
            return self.append_missing();
        }
        self.parse_raw(text)
    }

    /// Parses an SQL literal.
    pub fn parse_quoted(&mut self, text: &[u8]) -> Result<Parsed> {
        let mut scanner = QuotedScanner::new(text);
        if matches!(self.shape, Shape::Scalars(_)) {
            return self.parse_whole_scalar(&mut scanner);
        }
        let before = self.len();
        let parsed = self.parse_literal(&mut scanner);
        let ended = parsed.and_then(|parsed| scanner.expect_end().map(|()| parsed));
        if ended.is_err() {
            self.truncate(before);
        }
        ended
    }

    /// Checks the end of the text before it appends, because removing a string is expensive.
    fn parse_whole_scalar(&mut self, scanner: &mut QuotedScanner<'_>) -> Result<Parsed> {
        if scanner.eat_null() {
            scanner.expect_end()?;
            return self.append_missing();
        }
        if self.must_quote() || scanner.peek() == Some(b'\'') {
            return self.with_scratch(|builder, scratch| {
                scanner.string(scratch)?;
                scanner.expect_end()?;
                builder.parse_raw(scratch)
            });
        }
        let token = scanner.token();
        scanner.expect_end()?;
        self.parse_raw(token)
    }

    /// Parses the literal at the scanner's position.
    pub(crate) fn parse_literal(&mut self, scanner: &mut QuotedScanner<'_>) -> Result<Parsed> {
        if scanner.eat_null() {
            return self.append_missing();
        }
        let before = self.len();
        let parsed = match &mut self.shape {
            Shape::Scalars(_) => return self.parse_scalar_literal(scanner),
            Shape::Array { .. } => self.parse_items(scanner, *b"[]", |shape, scanner| match shape {
                Shape::Array { element, .. } => element.parse_literal(scanner),
                _ => Ok(Parsed::Value),
            }),
            Shape::Map { .. } => self.parse_items(scanner, *b"{}", |shape, scanner| match shape {
                Shape::Map { key, value, .. } => {
                    key.parse_literal(scanner)?;
                    scanner.expect(b':')?;
                    value.parse_literal(scanner)
                }
                _ => Ok(Parsed::Value),
            }),
            Shape::Tuple { elements, .. } => parse_tuple_literal(elements, scanner),
        };
        self.finish_nested(before, parsed)
    }

    fn parse_scalar_literal(&mut self, scanner: &mut QuotedScanner<'_>) -> Result<Parsed> {
        if self.must_quote() || scanner.peek() == Some(b'\'') {
            return self.with_scratch(|builder, scratch| {
                scanner.string(scratch)?;
                builder.parse_raw(scratch)
            });
        }
        self.parse_raw(scanner.token())
    }

    fn must_quote(&self) -> bool {
        matches!(
            self.ty.stripped(),
            SqlType::String | SqlType::FixedString(_) | SqlType::Enum8(_) | SqlType::Enum16(_)
        )
    }

    /// Parses the items between two brackets, separated by commas, with an optional trailing comma.
    fn parse_items(
        &mut self,
        scanner: &mut QuotedScanner<'_>,
        brackets: [u8; 2],
        mut parse: impl FnMut(&mut Shape, &mut QuotedScanner<'_>) -> Result<Parsed>,
    ) -> Result<()> {
        scanner.expect(brackets[0])?;
        while !scanner.eat(brackets[1]) {
            parse(&mut self.shape, scanner)?;
            if !scanner.eat(b',') {
                return scanner.expect(brackets[1]);
            }
        }
        Ok(())
    }

    /// Parses the JSON value at the scanner's position.
    pub fn parse_json(&mut self, scanner: &mut JsonScanner<'_>) -> Result<Parsed> {
        let value = scanner.peek_value()?;
        if value == JsonValue::Null {
            scanner.token();
            return self.append_missing();
        }
        let before = self.len();
        let parsed = match &mut self.shape {
            Shape::Scalars(_) => return self.parse_scalar_json(value, scanner),
            Shape::Array { element, .. } => parse_json_array(element, scanner),
            Shape::Map { key, value, .. } => parse_json_map(key, value, scanner),
            Shape::Tuple { elements, .. } if value == JsonValue::Object => {
                parse_json_object(&self.ty, elements, scanner)
            }
            Shape::Tuple { elements, .. } => parse_json_tuple(elements, scanner),
        };
        self.finish_nested(before, parsed)
    }

    /// Parses the JSON string at the scanner's position as the text of a value.
    pub(crate) fn parse_json_text(&mut self, scanner: &mut JsonScanner<'_>) -> Result<Parsed> {
        if scanner.peek() != Some(b'"') {
            let what = scanner.error("a string in double quotes");
            return Err(Error::new(ErrorCode::CannotParseQuotedString, what.message()));
        }
        self.with_scratch(|builder, scratch| match scanner.string(scratch)? {
            b"NULL" | NULL_SIGN => builder.append_missing(),
            text => builder.parse_raw(text),
        })
    }

    fn parse_scalar_json(&mut self, value: JsonValue, scanner: &mut JsonScanner<'_>) -> Result<Parsed> {
        let inner = self.ty.stripped();
        match value {
            JsonValue::String => self.with_scratch(|builder, scratch| {
                let text = scanner.string(scratch)?;
                builder.parse_raw(text)
            }),
            // A string column takes the text of any value.
            _ if *inner == SqlType::String => {
                let text = scanner.skip_value()?;
                self.parse_raw(text)
            }
            JsonValue::Bool if *inner != SqlType::Bool => match scanner.token() {
                b"true" => self.parse_raw(b"1"),
                b"false" => self.parse_raw(b"0"),
                other => self.parse_raw(other),
            },
            JsonValue::Bool | JsonValue::Number => self.parse_raw(scanner.token()),
            _ => Err(scanner.error(&format!("a value of type {inner}"))),
        }
    }

    /// Appends NULL, or the default if the type is not nullable and the settings allow it.
    pub fn append_missing(&mut self) -> Result<Parsed> {
        if self.nulls.is_some() {
            self.append_null()?;
            return Ok(Parsed::Value);
        }
        if !self.null_as_default {
            let what = format!("NULL is not a value of type {}", self.ty);
            return Err(Error::new(ErrorCode::CannotInsertNullInOrdinaryColumn, what));
        }
        self.append_default();
        Ok(Parsed::Default)
    }

    /// Appends NULL; fails if the type is not nullable.
    pub fn append_null(&mut self) -> Result<()> {
        let Some(nulls) = &mut self.nulls else {
            let what = format!("NULL is not a value of type {}", self.ty);
            return Err(Error::new(ErrorCode::CannotInsertNullInOrdinaryColumn, what));
        };
        nulls.append_null();
        if let Shape::Scalars(scalars) = &mut self.shape {
            scalars.push_default();
        }
        Ok(())
    }

    /// Appends the type's default: 0, the empty string or array, an enum's first label, NULL.
    pub fn append_default(&mut self) {
        match &mut self.shape {
            Shape::Scalars(scalars) => scalars.push_default(),
            Shape::Array { ends, .. } | Shape::Map { ends, .. } => {
                ends.push(ends.last().copied().unwrap_or(0));
            }
            Shape::Tuple { elements, rows } => {
                elements.iter_mut().for_each(ColumnBuilder::append_default);
                *rows += 1;
            }
        }
        if let Some(nulls) = &mut self.nulls {
            nulls.append_null();
        }
    }

    /// Drops the values after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        let end_of = |ends: &[i32]| ends.last().map_or(0, |&end| end as usize);
        match &mut self.shape {
            Shape::Scalars(scalars) => scalars.truncate(len),
            Shape::Array { ends, element } => {
                ends.truncate(len);
                element.truncate(end_of(ends));
            }
            Shape::Map { ends, key, value } => {
                ends.truncate(len);
                key.truncate(end_of(ends));
                value.truncate(end_of(ends));
            }
            Shape::Tuple { elements, rows } => {
                *rows = (*rows).min(len);
                elements.iter_mut().for_each(|element| element.truncate(len));
            }
        }
        if let Some(nulls) = &mut self.nulls {
            nulls.truncate(len.min(nulls.len()));
        }
    }

    /// Returns the array, of the type's carrier, and resets the builder.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        match &mut self.shape {
            Shape::Scalars(scalars) => scalars.finish(nulls),
            Shape::Array { ends, element } => {
                let elements = element.finish();
                list_array(&self.ty, ends, elements, nulls)
            }
            Shape::Map { ends, key, value } => {
                let fields = self.ty.stripped().struct_fields();
                let entries = StructArray::new(fields, vec![key.finish(), value.finish()], None);
                list_array(&self.ty, ends, Arc::new(entries), nulls)
            }
            Shape::Tuple { elements, rows } => {
                let rows = std::mem::take(rows);
                if elements.is_empty() {
                    return Arc::new(StructArray::new_empty_fields(rows, nulls));
                }
                let columns = elements.iter_mut().map(ColumnBuilder::finish).collect();
                Arc::new(StructArray::new(self.ty.stripped().struct_fields(), columns, nulls))
            }
        }
    }

    /// The elements of a tuple, for formats that write them as separate fields; [`ColumnBuilder::end_tuple`] ends
    /// the row.
    pub(crate) fn tuple_elements(&mut self) -> Option<&mut [ColumnBuilder]> {
        match &mut self.shape {
            Shape::Tuple { elements, .. } => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn end_tuple(&mut self) {
        if let Shape::Tuple { rows, .. } = &mut self.shape {
            *rows += 1;
            self.mark_valid();
        }
    }

    fn mark_valid(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.append_non_null();
        }
    }

    /// Ends the row of a nested value whose parts were parsed, or removes the parts.
    fn finish_nested(&mut self, before: usize, parsed: Result<()>) -> Result<Parsed> {
        let ended = parsed.and_then(|()| match &mut self.shape {
            Shape::Array { ends, element } => push_end(ends, element.len()),
            Shape::Map { ends, key, .. } => push_end(ends, key.len()),
            Shape::Tuple { rows, .. } => {
                *rows += 1;
                Ok(())
            }
            Shape::Scalars(_) => Ok(()),
        });
        match ended {
            Ok(()) => {
                self.mark_valid();
                Ok(Parsed::Value)
            }
            Err(error) => {
                self.truncate(before);
                Err(error)
            }
        }
    }

    /// Lends the empty scratch buffer.
    fn with_scratch<T>(&mut self, work: impl FnOnce(&mut ColumnBuilder, &mut Vec<u8>) -> T) -> T {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let done = work(self, &mut scratch);
        self.scratch = scratch;
        done
    }
}

fn push_end(ends: &mut Vec<i32>, len: usize) -> Result<()> {
    let end = i32::try_from(len).map_err(|_| {
        Error::new(ErrorCode::ValueIsOutOfRange, "a block's arrays have more than 2^31 elements")
    })?;
    ends.push(end);
    Ok(())
}

fn list_array(ty: &SqlType, ends: &mut Vec<i32>, elements: ArrayRef, nulls: Option<NullBuffer>) -> ArrayRef {
    let DataType::List(field) = ty.carrier() else {
        unreachable!("arrays and maps are carried by lists");
    };
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.drain(..)).collect();
    Arc::new(ListArray::new(field, OffsetBuffer::new(ScalarBuffer::from(offsets)), elements, nulls))
}

fn parse_tuple_literal(elements: &mut [ColumnBuilder], scanner: &mut QuotedScanner<'_>) -> Result<()> {
    scanner.expect(b'(')?;
    let single = elements.len() == 1;
    for (at, element) in elements.iter_mut().enumerate() {
        if at > 0 {
            scanner.expect(b',')?;
        }
        element.parse_literal(scanner)?;
    }
    // A tuple of one element may be written `(1,)`.
    if single {
        scanner.eat(b',');
    }
    scanner.expect(b')')
}
