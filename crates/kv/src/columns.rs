//! Reads and builds Arrow arrays one value at a time: [`ColumnReader`] takes bytes out of an array,
//! [`ColumnBuilder`] makes an array of them.
//!
//! # Layout of a value
//!
//! ```text
//! fixed width   its bytes, little-endian        Boolean  one byte, 0 or 1
//! String        length varint, bytes            Array, Map  count varint, elements
//! Tuple         its elements
//! ```
//! Inside arrays and tuples, a value of a nullable type is preceded by a byte: 1, or 0 for NULL, which has no
//! further bytes. NULLs of whole columns are in the row's bitmap.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::builder::BinaryViewBuilder;
use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewArray, BooleanArray, ListArray, StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, FieldRef, Fields};
use basalt_base::{Error, Result, SqlType};

use crate::error::Corrupt;

/// The size of the values of this Arrow type, if it is fixed.
pub(crate) fn fixed_width(carrier: &DataType) -> Option<usize> {
    match carrier {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    }
}

/// An array, read row by row.
pub(crate) struct ColumnReader<'a> {
    nulls: Option<&'a NullBuffer>,
    nullable: bool,
    values: Values<'a>,
}

enum Values<'a> {
    Fixed { data: ArrayData, width: usize },
    Booleans(&'a BooleanArray),
    Strings(&'a BinaryViewArray),
    List { list: &'a ListArray, elements: Box<ColumnReader<'a>> },
    Tuple(Vec<ColumnReader<'a>>),
}

impl<'a> ColumnReader<'a> {
    /// `nullable` is whether the column's type is nullable.
    pub(crate) fn new(array: &'a ArrayRef, nullable: bool) -> Result<ColumnReader<'a>> {
        let values = match array.data_type() {
            DataType::Boolean => Values::Booleans(array.as_boolean()),
            DataType::BinaryView => Values::Strings(array.as_binary_view()),
            DataType::List(field) => {
                let list = array.as_list();
                let elements = Box::new(ColumnReader::new(list.values(), field.is_nullable())?);
                Values::List { list, elements }
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                let readers = columns.map(|(column, field)| ColumnReader::new(column, field.is_nullable()));
                Values::Tuple(readers.collect::<Result<_>>()?)
            }
            other => match fixed_width(other) {
                Some(width) => Values::Fixed { data: array.to_data(), width },
                None => return Err(Error::not_implemented(format!("a key/value column carried by {other}"))),
            },
        };
        Ok(ColumnReader { nulls: array.nulls(), nullable, values })
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    /// The bytes of a fixed-width value.
    pub(crate) fn fixed(&self, row: usize) -> Option<&[u8]> {
        match &self.values {
            Values::Fixed { data, width } => {
                let at = (data.offset() + row) * width;
                Some(&data.buffers()[0].as_slice()[at..at + width])
            }
            _ => None,
        }
    }

    pub(crate) fn boolean(&self, row: usize) -> Option<bool> {
        match &self.values {
            Values::Booleans(booleans) => Some(booleans.value(row)),
            _ => None,
        }
    }

    pub(crate) fn string(&self, row: usize) -> Option<&[u8]> {
        match &self.values {
            Values::Strings(strings) => Some(strings.value(row)),
            _ => None,
        }
    }

    /// Appends the value at `row`, which is not NULL.
    pub(crate) fn write(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Fixed { .. } => out.extend_from_slice(self.fixed(row).unwrap_or_default()),
            Values::Booleans(booleans) => out.push(u8::from(booleans.value(row))),
            Values::Strings(strings) => {
                let string = strings.value(row);
                write_varint(string.len() as u64, out);
                out.extend_from_slice(string);
            }
            Values::List { list, elements } => {
                let offsets = list.value_offsets();
                let (from, to) = (offsets[row].as_usize(), offsets[row + 1].as_usize());
                write_varint((to - from) as u64, out);
                (from..to).for_each(|element| elements.write_nested(element, out));
            }
            Values::Tuple(columns) => columns.iter().for_each(|column| column.write_nested(row, out)),
        }
    }

    fn write_nested(&self, row: usize, out: &mut Vec<u8>) {
        if self.nullable {
            let is_there = !self.is_null(row);
            out.push(u8::from(is_there));
            if !is_there {
                return;
            }
        }
        self.write(row, out);
    }
}

/// The unread part of a row's bytes.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Corrupt> {
        let (front, rest) = self.rest.split_at_checked(bytes).ok_or(Corrupt::Truncated)?;
        self.rest = rest;
        Ok(front)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Corrupt> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Corrupt> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(Corrupt::Flag { found }),
        }
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return Err(Corrupt::Length);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Corrupt::Length)
    }

    /// Reads a length and checks that it is at most the number of bytes left.
    fn length(&mut self) -> Result<usize, Corrupt> {
        let length = usize::try_from(self.varint()?).map_err(|_| Corrupt::Length)?;
        if length > self.rest.len() { Err(Corrupt::Truncated) } else { Ok(length) }
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}

pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    out.push(low_byte(value));
}

fn low_byte(value: u64) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low
}

/// Builds an array value by value.
pub struct ColumnBuilder {
    carrier: DataType,
    nullable: bool,
    valid: Vec<bool>,
    parts: Parts,
}

enum Parts {
    Fixed { bytes: MutableBuffer, width: usize },
    Booleans(Vec<bool>),
    Strings(Box<BinaryViewBuilder>),
    List { field: FieldRef, ends: Vec<i32>, elements: Box<ColumnBuilder> },
    Tuple { fields: Fields, columns: Vec<ColumnBuilder> },
}

impl ColumnBuilder {
    /// For values of type `ty`.
    pub fn new(ty: &SqlType) -> Result<ColumnBuilder> {
        ColumnBuilder::of_carrier(&ty.carrier(), ty.accepts_null())
    }

    fn of_carrier(carrier: &DataType, nullable: bool) -> Result<ColumnBuilder> {
        let parts = match carrier {
            DataType::Boolean => Parts::Booleans(Vec::new()),
            DataType::BinaryView => Parts::Strings(Box::default()),
            DataType::List(field) => Parts::List {
                field: Arc::clone(field),
                ends: vec![0],
                elements: Box::new(ColumnBuilder::of_carrier(field.data_type(), field.is_nullable())?),
            },
            DataType::Struct(fields) => {
                let columns = fields
                    .iter()
                    .map(|field| ColumnBuilder::of_carrier(field.data_type(), field.is_nullable()));
                Parts::Tuple { fields: fields.clone(), columns: columns.collect::<Result<_>>()? }
            }
            other => match fixed_width(other) {
                Some(width) if width > 0 => Parts::Fixed { bytes: MutableBuffer::new(0), width },
                _ => return Err(Error::not_implemented(format!("a key/value column carried by {other}"))),
            },
        };
        Ok(ColumnBuilder { carrier: carrier.clone(), nullable, valid: Vec::new(), parts })
    }

    pub(crate) fn nullable(&self) -> bool {
        self.nullable
    }

    pub(crate) fn push_null(&mut self) {
        self.valid.push(false);
        match &mut self.parts {
            Parts::Fixed { bytes, width } => bytes.extend_zeros(*width),
            Parts::Booleans(booleans) => booleans.push(false),
            Parts::Strings(strings) => strings.append_null(),
            Parts::List { ends, .. } => ends.push(ends.last().copied().unwrap_or_default()),
            Parts::Tuple { columns, .. } => columns.iter_mut().for_each(ColumnBuilder::push_null),
        }
    }

    /// Appends a fixed-width value; a Boolean is one byte.
    pub(crate) fn push_fixed(&mut self, value: &[u8]) {
        self.valid.push(true);
        match &mut self.parts {
            Parts::Fixed { bytes, .. } => bytes.extend_from_slice(value),
            Parts::Booleans(booleans) => booleans.push(value != [0]),
            _ => unreachable!("only key parts of fixed width are pushed so"),
        }
    }

    pub(crate) fn push_string(&mut self, value: &[u8]) {
        self.valid.push(true);
        match &mut self.parts {
            Parts::Strings(strings) => strings.append_value(value),
            _ => unreachable!("only strings are pushed so"),
        }
    }

    /// Reads a value that [`ColumnReader::write`] wrote. After an error the builder must not be used.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Corrupt> {
        self.valid.push(true);
        match &mut self.parts {
            Parts::Fixed { bytes, width } => bytes.extend_from_slice(cursor.take(*width)?),
            Parts::Booleans(booleans) => booleans.push(cursor.flag()?),
            Parts::Strings(strings) => {
                let length = cursor.length()?;
                strings.append_value(cursor.take(length)?);
            }
            Parts::List { ends, elements, .. } => {
                let count = cursor.length()?;
                let end = ends.last().map_or(0, |end| end.as_usize()) + count;
                ends.push(i32::try_from(end).map_err(|_| Corrupt::Length)?);
                (0..count).try_for_each(|_| elements.read_nested(cursor))?;
            }
            Parts::Tuple { columns, .. } => {
                columns.iter_mut().try_for_each(|column| column.read_nested(cursor))?;
            }
        }
        Ok(())
    }

    fn read_nested(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Corrupt> {
        if self.nullable && !cursor.flag()? {
            self.push_null();
            return Ok(());
        }
        self.read(cursor)
    }

    pub fn finish(self) -> Result<ArrayRef> {
        let nulls = NullBuffer::from(BooleanBuffer::from(self.valid.as_slice()));
        let rows = self.valid.len();
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        Ok(match self.parts {
            Parts::Fixed { bytes, .. } => {
                let data = ArrayData::builder(self.carrier).len(rows).add_buffer(bytes.into()).nulls(nulls);
                make_array(data.build().map_err(unfit)?)
            }
            Parts::Booleans(booleans) => {
                Arc::new(BooleanArray::new(BooleanBuffer::from(booleans.as_slice()), nulls))
            }
            Parts::Strings(mut strings) => Arc::new(strings.finish()),
            Parts::List { field, ends, elements } => {
                let offsets = OffsetBuffer::new(ends.into());
                Arc::new(ListArray::try_new(field, offsets, elements.finish()?, nulls).map_err(unfit)?)
            }
            Parts::Tuple { fields, columns } => {
                let columns = columns.into_iter().map(ColumnBuilder::finish).collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(fields, columns, nulls).map_err(unfit)?)
            }
        })
    }
}

/// Skips a value of `carrier`.
pub(crate) fn skip(carrier: &DataType, cursor: &mut Cursor<'_>) -> Result<(), Corrupt> {
    match carrier {
        DataType::Boolean => cursor.flag().map(|_| ()),
        DataType::BinaryView => {
            let length = cursor.length()?;
            cursor.take(length).map(|_| ())
        }
        DataType::List(field) => {
            let count = cursor.length()?;
            (0..count).try_for_each(|_| skip_nested(field, cursor))
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| skip_nested(field, cursor)),
        other => cursor.take(fixed_width(other).unwrap_or_default()).map(|_| ()),
    }
}

fn skip_nested(field: &FieldRef, cursor: &mut Cursor<'_>) -> Result<(), Corrupt> {
    if field.is_nullable() && !cursor.flag()? {
        return Ok(());
    }
    skip(field.data_type(), cursor)
}

fn unfit(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("decoded columns do not fit together: {error}"))
}
