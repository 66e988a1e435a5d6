//! Writes the values of one column as text, in the style of a format.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::i256;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};

use super::address::{write_ipv4, write_uuid};
use super::escape::{
    write_csv_quoted, write_doubling_quoted, write_escaped, write_json_string, write_quoted, write_xml,
};
use super::ipv6::write_ipv6;
use super::labels::Labels;
use super::number::{write_decimal, write_float32, write_float64, write_integer};
use super::time::{write_date, write_date_time, write_date_time64, write_iso_time, write_unix_time};
use super::values::Values;
use crate::settings::{DateTimeOutput, TextSettings};

/// NULL where every other text could be a string: Vertical, Pretty and JSON formats of strings.
pub(crate) const NULL_SIGN: &[u8] = "\u{1d3a}\u{1d41}\u{1d38}\u{1d38}".as_bytes();

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
    /// Like `Raw`, with XML's escapes, and elements around the parts of nested values.
    Xml,
}

/// The values of one array, prepared for writing row by row.
#[derive(Clone, Debug)]
pub struct ValueWriter {
    pub(super) values: Values,
    nulls: Option<NullBuffer>,
    pub(super) settings: TextSettings,
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
                Style::Raw | Style::Escaped | Style::Csv | Style::Xml => b"\\N",
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
            Values::Wide(array, wide) => {
                self.write_wide(style, out, |out| wide.decode(array.value(row)).write(out));
            }
            Values::Float32(array) => self.write_float(f64::from(array.value(row)), style, out, |out| {
                write_float32(array.value(row), out);
            }),
            Values::Float64(array) => self.write_float(array.value(row), style, out, |out| {
                write_float64(array.value(row), out);
            }),
            Values::Bool(array) => self.write_bool(array.value(row), style, out),
            Values::String(array) => self.write_string(array.value(row), style, out),
            Values::FixedString(array) => self.write_string(self.trimmed(array.value(row)), style, out),
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
                quoted(style, out, |out| self.write_time(i64::from(array.value(row)), 0, *zone, out));
            }
            Values::DateTime64(array, precision, zone) => {
                quoted(style, out, |out| self.write_time(array.value(row), *precision, *zone, out));
            }
            Values::Enum8(array, labels) => {
                self.write_label(i16::from(array.value(row)), labels, style, out);
            }
            Values::Enum16(array, labels) => self.write_label(array.value(row), labels, style, out),
            _ => {}
        }
    }

    fn write_time(&self, ticks: i64, precision: u8, zone: Zone, out: &mut Vec<u8>) {
        match self.settings.date_time_output {
            DateTimeOutput::Simple if precision == 0 => write_date_time(ticks, zone, out),
            DateTimeOutput::Simple => write_date_time64(ticks, precision, zone, out),
            DateTimeOutput::Iso => write_iso_time(ticks, precision, out),
            DateTimeOutput::UnixTimestamp => write_unix_time(ticks, precision, out),
        }
    }

    fn write_bool(&self, value: bool, style: Style, out: &mut Vec<u8>) {
        match self.settings.bool_words {
            Some(words) if !matches!(style, Style::Json | Style::Quoted | Style::Xml) => {
                out.extend_from_slice(if value { words.yes.as_bytes() } else { words.no.as_bytes() });
            }
            _ => out.extend_from_slice(if value { b"true" } else { b"false" }),
        }
    }

    /// A FixedString as it is written.
    fn trimmed<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        if !self.settings.trim_fixed_string {
            return text;
        }
        &text[..text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
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

    pub(super) fn write_string(&self, text: &[u8], style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Raw => out.extend_from_slice(text),
            Style::Escaped => write_escaped(text, out),
            Style::Quoted if self.settings.double_single_quotes => write_doubling_quoted(text, out),
            Style::Quoted => write_quoted(text, out),
            Style::Csv => write_csv_quoted(text, out),
            Style::Json => write_json_string(text, self.settings.json_escape_forward_slashes, out),
            Style::Xml => write_xml(text, out),
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
            Values::Wide(array, wide) => wide.decode(array.value(row)).to_f64(),
            Values::Float32(array) => f64::from(array.value(row)),
            Values::Float64(array) => array.value(row),
            Values::Decimal128(..) | Values::Decimal256(..) => {
                return decimal(&|digits| self.write(row, Style::Raw, digits));
            }
            _ => return None,
        })
    }
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
        Style::Raw | Style::Escaped | Style::Xml => write(out),
        Style::Quoted => surround(true, b'\'', out, write),
        Style::Csv | Style::Json => surround(true, b'"', out, write),
    }
}
