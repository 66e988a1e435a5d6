//! Writes the values of one column as text, in the style of a format.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::i256;
use basalt_base::zone::Zone;
use basalt_base::{Error, Result, SqlType};

use super::address::{write_ipv4, write_uuid};
use super::escape::{write_csv_quoted, write_escaped, write_json_string, write_quoted};
use super::ipv6::write_ipv6;
use super::labels::Labels;
use super::number::{write_decimal, write_float32, write_float64, write_integer};
use super::time::{write_date, write_date_time, write_date_time64};
use crate::settings::TextSettings;

/// The style of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Unchanged, as returned by `toString`. NULL is `\N`.
    Raw,
    /// With backslash escapes and without quotes: TabSeparated. NULL is `\N`.
    Escaped,
    /// An SQL literal, as inside arrays. NULL is `NULL`.
    Quoted,
    /// A field of CSV. NULL is `\N`.
    Csv,
    /// A value of JSON. NULL is `null`.
    Json,
}

/// The values of one array, prepared for writing row by row.
#[derive(Clone, Debug)]
pub struct ValueWriter {
    values: Values,
    nulls: Option<NullBuffer>,
    settings: TextSettings,
}

#[derive(Clone, Debug)]
enum Values {
    Nothing,
    UInt8(UInt8Array),
    UInt16(UInt16Array),
    UInt32(UInt32Array),
    UInt64(UInt64Array),
    Int8(Int8Array),
    Int16(Int16Array),
    Int32(Int32Array),
    Int64(Int64Array),
    Float32(Float32Array),
    Float64(Float64Array),
    Bool(BooleanArray),
    Decimal128(Decimal128Array, u8),
    Decimal256(Decimal256Array, u8),
    String(BinaryViewArray),
    FixedString(FixedSizeBinaryArray),
    Uuid(FixedSizeBinaryArray),
    Ipv4(UInt32Array),
    Ipv6(FixedSizeBinaryArray),
    Date(UInt16Array),
    Date32(Int32Array),
    DateTime(UInt32Array, Zone),
    DateTime64(Int64Array, u8, Zone),
    Enum8(Int8Array, Labels),
    Enum16(Int16Array, Labels),
    Array(OffsetBuffer<i32>, Box<ValueWriter>),
    Tuple(Vec<(Option<String>, ValueWriter)>),
    Map(OffsetBuffer<i32>, Box<ValueWriter>, Box<ValueWriter>),
}

/// Writes the value of one row; prepare a [`ValueWriter`] for more rows.
pub fn write_value(
    ty: &SqlType,
    array: &ArrayRef,
    row: usize,
    out: &mut Vec<u8>,
    style: Style,
    settings: &TextSettings,
) -> Result<()> {
    ValueWriter::new(ty, array, settings)?.write(row, style, out);
    Ok(())
}

impl ValueWriter {
    /// Prepares `array`, whose Arrow type must be the carrier of `ty`.
    pub fn new(ty: &SqlType, array: &ArrayRef, settings: &TextSettings) -> Result<ValueWriter> {
        let values = Values::new(ty, array, settings)?;
        Ok(ValueWriter { values, nulls: array.nulls().cloned(), settings: *settings })
    }

    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Nothing) || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the value in `row`.
    ///
    /// # Panics
    ///
    /// If the array has no such row.
    pub fn write(&self, row: usize, style: Style, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(match style {
                Style::Quoted => b"NULL",
                Style::Json => b"null",
                Style::Raw | Style::Escaped | Style::Csv => b"\\N",
            });
            return;
        }
        match &self.values {
            Values::Nothing => {}
            Values::UInt8(array) => write_integer(array.value(row), out),
            Values::UInt16(array) => write_integer(array.value(row), out),
            Values::UInt32(array) => write_integer(array.value(row), out),
            Values::Int8(array) => write_integer(array.value(row), out),
            Values::Int16(array) => write_integer(array.value(row), out),
            Values::Int32(array) => write_integer(array.value(row), out),
            Values::UInt64(array) => self.write_wide(style, out, |out| write_integer(array.value(row), out)),
            Values::Int64(array) => self.write_wide(style, out, |out| write_integer(array.value(row), out)),
            Values::Float32(array) => self.write_float(f64::from(array.value(row)), style, out, |out| {
                write_float32(array.value(row), out);
            }),
            Values::Float64(array) => self.write_float(array.value(row), style, out, |out| {
                write_float64(array.value(row), out);
            }),
            Values::Bool(array) => out.extend_from_slice(if array.value(row) { b"true" } else { b"false" }),
            Values::String(array) => self.write_string(array.value(row), style, out),
            Values::FixedString(array) => self.write_string(array.value(row), style, out),
            Values::Array(..) | Values::Tuple(_) | Values::Map(..) => self.write_nested(row, style, out),
            _ => self.write_named(row, style, out),
        }
    }

    /// Writes types whose text has no escapes but, in some styles, quotes.
    fn write_named(&self, row: usize, style: Style, out: &mut Vec<u8>) {
        match &self.values {
            Values::Decimal128(array, scale) => {
                self.write_decimal(i256::from_i128(array.value(row)), *scale, style, out);
            }
            Values::Decimal256(array, scale) => self.write_decimal(array.value(row), *scale, style, out),
            Values::Uuid(array) => quoted(style, out, |out| write_uuid(array.value(row), out)),
            Values::Ipv4(array) => quoted(style, out, |out| write_ipv4(array.value(row), out)),
            Values::Ipv6(array) => quoted(style, out, |out| write_ipv6(array.value(row), out)),
            Values::Date(array) => quoted(style, out, |out| write_date(i32::from(array.value(row)), out)),
            Values::Date32(array) => quoted(style, out, |out| write_date(array.value(row), out)),
            Values::DateTime(array, zone) => {
                quoted(style, out, |out| write_date_time(i64::from(array.value(row)), *zone, out));
            }
            Values::DateTime64(array, precision, zone) => {
                quoted(style, out, |out| write_date_time64(array.value(row), *precision, *zone, out));
            }
            Values::Enum8(array, labels) => {
                self.write_label(i16::from(array.value(row)), labels, style, out);
            }
            Values::Enum16(array, labels) => self.write_label(array.value(row), labels, style, out),
            _ => {}
        }
    }

    fn write_decimal(&self, value: i256, scale: u8, style: Style, out: &mut Vec<u8>) {
        let in_quotes = style == Style::Json && self.settings.json_quote_decimals;
        surround(in_quotes, b'"', out, |out| {
            write_decimal(value, scale, self.settings.decimal_trailing_zeros, out);
        });
    }

    fn write_wide(&self, style: Style, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        surround(style == Style::Json && self.settings.json_quote_64bit_integers, b'"', out, write);
    }

    fn write_float(&self, value: f64, style: Style, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if style != Style::Json {
            return write(out);
        }
        if value.is_finite() {
            let wide = matches!(self.values, Values::Float64(_));
            surround(wide && self.settings.json_quote_64bit_floats, b'"', out, write);
        } else if self.settings.json_quote_denormals {
            surround(true, b'"', out, write);
        } else {
            out.extend_from_slice(b"null");
        }
    }

    fn write_string(&self, text: &[u8], style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Raw => out.extend_from_slice(text),
            Style::Escaped => write_escaped(text, out),
            Style::Quoted => write_quoted(text, out),
            Style::Csv => write_csv_quoted(text, out),
            Style::Json => write_json_string(text, self.settings.json_escape_forward_slashes, out),
        }
    }

    fn write_label(&self, number: i16, labels: &Labels, style: Style, out: &mut Vec<u8>) {
        match labels.label(number) {
            Some(label) => self.write_string(label.as_bytes(), style, out),
            // A number without a label came from outside. Its digits do not parse as an enum, so the error shows
            // when it is read.
            None => write_integer(number, out),
        }
    }

    fn write_nested(&self, row: usize, style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Json => self.write_json(row, out),
            Style::Csv => {
                let mut text = Vec::new();
                self.write_literal(row, &mut text);
                write_csv_quoted(&text, out);
            }
            Style::Raw | Style::Escaped | Style::Quoted => self.write_literal(row, out),
        }
    }

    /// `[1,2]`, `(1,'x')`, `{'k':1}`.
    fn write_literal(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Array(offsets, element) => {
                let write = |at: usize, out: &mut Vec<u8>| element.write(at, Style::Quoted, out);
                separated(b"[]", bounds(offsets, row), out, write);
            }
            Values::Tuple(elements) => separated(b"()", 0..elements.len(), out, |at, out| {
                elements[at].1.write(row, Style::Quoted, out);
            }),
            Values::Map(offsets, keys, values) => separated(b"{}", bounds(offsets, row), out, |at, out| {
                keys.write(at, Style::Quoted, out);
                out.push(b':');
                values.write(at, Style::Quoted, out);
            }),
            _ => self.write(row, Style::Quoted, out),
        }
    }

    fn write_json(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Array(offsets, element) => {
                separated(b"[]", bounds(offsets, row), out, |at, out| element.write(at, Style::Json, out));
            }
            Values::Tuple(elements) if self.has_names() => {
                separated(b"{}", 0..elements.len(), out, |at, out| {
                    self.write_element_name(at, out);
                    out.push(b':');
                    elements[at].1.write(row, Style::Json, out);
                })
            }
            Values::Tuple(elements) => separated(b"[]", 0..elements.len(), out, |at, out| {
                elements[at].1.write(row, Style::Json, out);
            }),
            Values::Map(offsets, keys, values) => separated(b"{}", bounds(offsets, row), out, |at, out| {
                keys.write_json_key(at, out);
                out.push(b':');
                values.write(at, Style::Json, out);
            }),
            _ => self.write(row, Style::Json, out),
        }
    }

    /// Like [`Style::Json`], but a nested value takes a line for each element, indented by `indent` tabs; an array
    /// of plain values stays on one line.
    pub(crate) fn write_json_indented(&self, row: usize, indent: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return self.write(row, Style::Json, out);
        }
        match &self.values {
            Values::Array(offsets, element) if element.is_nested() => {
                let bounds = bounds(offsets, row);
                if bounds.is_empty() {
                    return out.extend_from_slice(b"[]");
                }
                lines(b"[]", bounds, indent, out, |at, out| {
                    element.write_json_indented(at, indent + 1, out);
                });
            }
            Values::Tuple(elements) if self.has_names() => {
                lines(b"{}", 0..elements.len(), indent, out, |at, out| {
                    self.write_element_name(at, out);
                    out.extend_from_slice(b": ");
                    elements[at].1.write_json_indented(row, indent + 1, out);
                });
            }
            Values::Tuple(elements) => lines(b"[]", 0..elements.len(), indent, out, |at, out| {
                elements[at].1.write_json_indented(row, indent + 1, out);
            }),
            Values::Map(offsets, keys, values) => {
                let bounds = bounds(offsets, row);
                if bounds.is_empty() {
                    return out.extend_from_slice(b"{}");
                }
                lines(b"{}", bounds, indent, out, |at, out| {
                    keys.write_json_key(at, out);
                    out.extend_from_slice(b": ");
                    values.write_json_indented(at, indent + 1, out);
                });
            }
            _ => self.write(row, Style::Json, out),
        }
    }

    /// The elements of a tuple, which CSV writes as separate fields.
    pub(crate) fn tuple_elements(&self) -> Option<impl Iterator<Item = &ValueWriter>> {
        match &self.values {
            Values::Tuple(elements) => Some(elements.iter().map(|(_, element)| element)),
            _ => None,
        }
    }

    /// The value as a float, if it is a number.
    pub(crate) fn as_number(&self, row: usize) -> Option<f64> {
        if self.is_null(row) {
            return None;
        }
        let decimal = |text: &dyn Fn(&mut Vec<u8>)| {
            let mut digits = Vec::new();
            text(&mut digits);
            super::number::parse_float(&digits).ok()
        };
        Some(match &self.values {
            Values::UInt8(array) => f64::from(array.value(row)),
            Values::UInt16(array) => f64::from(array.value(row)),
            Values::UInt32(array) => f64::from(array.value(row)),
            Values::UInt64(array) => array.value(row) as f64,
            Values::Int8(array) => f64::from(array.value(row)),
            Values::Int16(array) => f64::from(array.value(row)),
            Values::Int32(array) => f64::from(array.value(row)),
            Values::Int64(array) => array.value(row) as f64,
            Values::Float32(array) => f64::from(array.value(row)),
            Values::Float64(array) => array.value(row),
            Values::Decimal128(..) | Values::Decimal256(..) => {
                return decimal(&|digits| self.write(row, Style::Raw, digits));
            }
            _ => return None,
        })
    }

    fn is_nested(&self) -> bool {
        matches!(self.values, Values::Array(..) | Values::Tuple(_) | Values::Map(..))
    }

    fn has_names(&self) -> bool {
        match &self.values {
            Values::Tuple(elements) => {
                !elements.is_empty() && elements.iter().all(|(name, _)| name.is_some())
            }
            _ => false,
        }
    }

    fn write_element_name(&self, at: usize, out: &mut Vec<u8>) {
        if let Values::Tuple(elements) = &self.values {
            let name = elements[at].0.as_deref().unwrap_or_default();
            write_json_string(name.as_bytes(), self.settings.json_escape_forward_slashes, out);
        }
    }

    fn write_json_key(&self, row: usize, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        self.write(row, Style::Raw, &mut text);
        write_json_string(&text, self.settings.json_escape_forward_slashes, out);
    }
}

impl Values {
    fn new(ty: &SqlType, array: &ArrayRef, settings: &TextSettings) -> Result<Values> {
        if *array.data_type() != ty.carrier() {
            let what = format!("an array of {} was given as {ty}", array.data_type());
            return Err(Error::logical(what));
        }
        let zone = |name: &Option<std::sync::Arc<str>>| match name {
            Some(name) => Zone::parse(name),
            None => Ok(settings.zone),
        };
        Ok(match ty {
            SqlType::Nullable(inner) | SqlType::LowCardinality(inner) => Values::new(inner, array, settings)?,
            SqlType::UInt8 => Values::UInt8(array.as_primitive().clone()),
            SqlType::UInt16 => Values::UInt16(array.as_primitive().clone()),
            SqlType::UInt32 => Values::UInt32(array.as_primitive().clone()),
            SqlType::UInt64 => Values::UInt64(array.as_primitive().clone()),
            SqlType::Int8 => Values::Int8(array.as_primitive().clone()),
            SqlType::Int16 => Values::Int16(array.as_primitive().clone()),
            SqlType::Int32 => Values::Int32(array.as_primitive().clone()),
            SqlType::Int64 | SqlType::Interval(_) => Values::Int64(array.as_primitive().clone()),
            SqlType::Float32 => Values::Float32(array.as_primitive().clone()),
            SqlType::Float64 => Values::Float64(array.as_primitive().clone()),
            SqlType::Bool => Values::Bool(array.as_boolean().clone()),
            SqlType::String => Values::String(array.as_binary_view().clone()),
            SqlType::FixedString(_) => Values::FixedString(array.as_fixed_size_binary().clone()),
            SqlType::Uuid => Values::Uuid(array.as_fixed_size_binary().clone()),
            SqlType::Ipv4 => Values::Ipv4(array.as_primitive().clone()),
            SqlType::Ipv6 => Values::Ipv6(array.as_fixed_size_binary().clone()),
            SqlType::Date => Values::Date(array.as_primitive().clone()),
            SqlType::Date32 => Values::Date32(array.as_primitive().clone()),
            SqlType::DateTime(name) => Values::DateTime(array.as_primitive().clone(), zone(name)?),
            SqlType::DateTime64 { precision, zone: name } => {
                Values::DateTime64(array.as_primitive().clone(), *precision, zone(name)?)
            }
            SqlType::Decimal { scale, .. } => match array.as_primitive_opt() {
                Some(narrow) => Values::Decimal128(narrow.clone(), *scale),
                None => Values::Decimal256(array.as_primitive().clone(), *scale),
            },
            SqlType::Nothing => Values::Nothing,
            nested => Values::of_labels_or_nested(nested, array, settings)?,
        })
    }

    fn of_labels_or_nested(ty: &SqlType, array: &ArrayRef, settings: &TextSettings) -> Result<Values> {
        if let Some(labels) = Labels::of(ty) {
            return Ok(match array.as_primitive_opt() {
                Some(narrow) => Values::Enum8(narrow.clone(), labels),
                None => Values::Enum16(array.as_primitive().clone(), labels),
            });
        }
        Ok(match ty {
            SqlType::Array(element) => {
                let list = array.as_list::<i32>();
                let element = ValueWriter::new(element, list.values(), settings)?;
                Values::Array(list.offsets().clone(), Box::new(element))
            }
            SqlType::Map(key, value) => {
                let list = array.as_list::<i32>();
                let entries = list.values().as_struct();
                let keys = ValueWriter::new(key, entries.column(0), settings)?;
                let values = ValueWriter::new(value, entries.column(1), settings)?;
                Values::Map(list.offsets().clone(), Box::new(keys), Box::new(values))
            }
            SqlType::Tuple(elements) => {
                let columns = array.as_struct().columns();
                let writer = |(element, column): (&basalt_base::types::TupleElement, &ArrayRef)| {
                    Ok((element.name.clone(), ValueWriter::new(&element.ty, column, settings)?))
                };
                Values::Tuple(elements.iter().zip(columns).map(writer).collect::<Result<_>>()?)
            }
            other => return Err(Error::not_implemented(format!("the text of type {other}"))),
        })
    }
}

fn bounds(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

fn surround(wanted: bool, mark: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    if wanted {
        out.push(mark);
    }
    write(out);
    if wanted {
        out.push(mark);
    }
}

/// Writes text without escapes, in the quotes of the style.
fn quoted(style: Style, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    match style {
        Style::Raw | Style::Escaped => write(out),
        Style::Quoted => surround(true, b'\'', out, write),
        Style::Csv | Style::Json => surround(true, b'"', out, write),
    }
}

fn separated(
    brackets: &[u8; 2],
    items: std::ops::Range<usize>,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>),
) {
    out.push(brackets[0]);
    for at in items.clone() {
        if at > items.start {
            out.push(b',');
        }
        write(at, out);
    }
    out.push(brackets[1]);
}

fn lines(
    brackets: &[u8; 2],
    items: std::ops::Range<usize>,
    indent: usize,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>),
) {
    out.extend_from_slice(&[brackets[0], b'\n']);
    for at in items.clone() {
        out.extend(std::iter::repeat_n(b'\t', indent + 1));
        write(at, out);
        out.extend_from_slice(if at + 1 < items.end { b",\n" } else { b"" });
    }
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b'\t', indent));
    out.push(brackets[1]);
}
