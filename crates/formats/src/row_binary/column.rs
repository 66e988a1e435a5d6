//! Builds a column from the binary form of its values.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullArray, StructArray};
use arrow::buffer::{MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use basalt_base::string_views::StringViews;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::bytes::{Bytes, Stop};
use crate::binary::{array_of_fixed, check_labels, fixed_width, null_buffer};

/// Elements of an array whose elements have no bytes, at most.
const EMPTY_ELEMENTS_MAX: usize = 1 << 16;

/// An array under construction. A `read` that stops leaves parts of a value, which [`ColumnReader::truncate`] removes.
pub(super) struct ColumnReader {
    ty: SqlType,
    shape: Shape,
    /// A byte a row, 1 for NULL; `None` if the type has no NULL.
    nulls: Option<Vec<u8>>,
}

enum Shape {
    Fixed {
        width: usize,
        values: MutableBuffer,
    },
    String {
        bytes: Vec<u8>,
        lengths: Vec<u32>,
    },
    /// Values of no bytes.
    Empty {
        rows: usize,
    },
    /// The elements of an array, or keys and values of a map.
    List {
        ends: Vec<i32>,
        elements: Vec<ColumnReader>,
    },
    Tuple {
        elements: Vec<ColumnReader>,
    },
}

/// The least bytes of a value.
pub(super) fn bytes_min(ty: &SqlType) -> usize {
    match ty {
        SqlType::LowCardinality(inner) => bytes_min(inner),
        SqlType::Tuple(elements) => elements.iter().map(|element| bytes_min(&element.ty)).sum(),
        SqlType::Nothing => 0,
        ty => fixed_width(ty).unwrap_or(1),
    }
}

impl ColumnReader {
    pub(super) fn new(ty: &SqlType) -> Result<ColumnReader> {
        let inner = ty.stripped();
        let shape = match inner {
            SqlType::String => Shape::String { bytes: Vec::new(), lengths: Vec::new() },
            SqlType::Nothing => Shape::Empty { rows: 0 },
            SqlType::Tuple(elements) if elements.is_empty() => Shape::Empty { rows: 0 },
            SqlType::Tuple(elements) => {
                let elements = elements.iter().map(|element| ColumnReader::new(&element.ty));
                Shape::Tuple { elements: elements.collect::<Result<_>>()? }
            }
            SqlType::Array(element) => {
                Shape::List { ends: Vec::new(), elements: vec![ColumnReader::new(element)?] }
            }
            SqlType::Map(key, value) => Shape::List {
                ends: Vec::new(),
                elements: vec![ColumnReader::new(key)?, ColumnReader::new(value)?],
            },
            fixed => match fixed_width(fixed) {
                Some(width) => Shape::Fixed { width, values: MutableBuffer::new(0) },
                None => return Err(Error::not_implemented(format!("reading type {fixed} from RowBinary"))),
            },
        };
        let has_nulls = ty.accepts_null() && *ty != SqlType::Nothing;
        Ok(ColumnReader { ty: ty.clone(), shape, nulls: has_nulls.then(Vec::new) })
    }

    /// Appends the next value of `input`.
    #[inline]
    pub(super) fn read(&mut self, input: &mut Bytes<'_>) -> Result<(), Stop> {
        if let Some(nulls) = &mut self.nulls {
            let is_null = input.byte()? != 0;
            nulls.push(u8::from(is_null));
            if is_null {
                self.push_placeholder();
                return Ok(());
            }
        }
        match &mut self.shape {
            Shape::Fixed { width, values } => match width {
                1 => values.extend_from_slice(input.array::<1>()?),
                2 => values.extend_from_slice(input.array::<2>()?),
                4 => values.extend_from_slice(input.array::<4>()?),
                8 => values.extend_from_slice(input.array::<8>()?),
                16 => values.extend_from_slice(input.array::<16>()?),
                other => values.extend_from_slice(input.take(*other)?),
            },
            Shape::String { bytes, lengths } => {
                let length = input.varint()?;
                let Ok(short) = u32::try_from(length) else { return Err(too_long(length)) };
                bytes.extend_from_slice(input.take(short as usize)?);
                lengths.push(short);
            }
            Shape::Empty { rows } => *rows += 1,
            Shape::List { ends, elements } => read_list(ends, elements, input)?,
            Shape::Tuple { elements } => {
                elements.iter_mut().try_for_each(|element| element.read(input))?;
            }
        }
        Ok(())
    }

    /// Appends the type's default: 0, the empty string or array, an enum's first label, NULL.
    pub(super) fn push_default(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.push(1);
            return self.push_placeholder();
        }
        match (&mut self.shape, self.ty.stripped()) {
            (Shape::Fixed { values, .. }, SqlType::Enum8(labels)) => {
                values.extend_from_slice(&labels.first().map_or(0, |(_, value)| *value).to_le_bytes());
            }
            (Shape::Fixed { values, .. }, SqlType::Enum16(labels)) => {
                values.extend_from_slice(&labels.first().map_or(0, |(_, value)| *value).to_le_bytes());
            }
            (Shape::Tuple { elements }, _) => elements.iter_mut().for_each(ColumnReader::push_default),
            _ => self.push_placeholder(),
        }
    }

    /// Appends zeroes.
    fn push_placeholder(&mut self) {
        match &mut self.shape {
            Shape::Fixed { width, values } => values.extend_zeros(*width),
            Shape::String { lengths, .. } => lengths.push(0),
            Shape::Empty { rows } => *rows += 1,
            Shape::List { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Shape::Tuple { elements } => elements.iter_mut().for_each(ColumnReader::push_default),
        }
    }

    /// Drops what was appended after the first `rows` values.
    pub(super) fn truncate(&mut self, rows: usize) {
        if let Some(nulls) = &mut self.nulls {
            nulls.truncate(rows);
        }
        match &mut self.shape {
            Shape::Fixed { width, values } => values.truncate(rows * *width),
            Shape::String { bytes, lengths } => {
                let dropped: usize =
                    lengths.get(rows..).unwrap_or_default().iter().map(|&length| length as usize).sum();
                lengths.truncate(rows);
                bytes.truncate(bytes.len() - dropped);
            }
            Shape::Empty { rows: all } => *all = rows.min(*all),
            Shape::List { ends, elements } => {
                ends.truncate(rows);
                let end = end_of(ends);
                elements.iter_mut().for_each(|element| element.truncate(end));
            }
            Shape::Tuple { elements } => elements.iter_mut().for_each(|element| element.truncate(rows)),
        }
    }

    /// Returns the `rows` values as an array, and resets the column. Fails if a value is not one of the type.
    pub(super) fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let nulls = self.nulls.as_mut().map(|nulls| null_buffer(&std::mem::take(nulls)));
        let inner = self.ty.stripped();
        match &mut self.shape {
            Shape::Fixed { values, .. } => {
                let values = std::mem::replace(values, MutableBuffer::new(0));
                let array = array_of_fixed(inner, values.into(), rows, nulls);
                check_labels(inner, &array)?;
                Ok(array)
            }
            Shape::String { bytes, lengths } => {
                let mut views = StringViews::with_capacity(rows);
                views.append_copy(&std::mem::take(bytes), &std::mem::take(lengths));
                Ok(Arc::new(views.finish(nulls)))
            }
            Shape::Empty { rows: all } => {
                *all = 0;
                Ok(empty_values(inner, rows, nulls))
            }
            Shape::List { ends, elements } => finish_list(inner, ends, elements),
            Shape::Tuple { elements } => {
                let columns = elements.iter_mut().map(|element| element.finish(rows));
                let columns = columns.collect::<Result<_>>()?;
                Ok(Arc::new(StructArray::new(inner.struct_fields(), columns, nulls)))
            }
        }
    }
}

#[cold]
fn too_long(length: u64) -> Stop {
    let what = format!("a string of {length} bytes is longer than {} bytes", u32::MAX);
    Error::new(ErrorCode::TooLargeStringSize, what).into()
}

fn read_list(ends: &mut Vec<i32>, elements: &mut [ColumnReader], input: &mut Bytes<'_>) -> Result<(), Stop> {
    let count = input.varint()?;
    let before = ends.last().copied().unwrap_or(0);
    let end = i32::try_from(count).ok().and_then(|count| before.checked_add(count));
    let Some(end) = end else {
        let what = format!("an array has {count} elements, or all arrays of a block more than {}", i32::MAX);
        return Err(Error::new(ErrorCode::TooLargeArraySize, what).into());
    };
    let count = end.abs_diff(before) as usize;
    let least: usize = elements.iter().map(|element| bytes_min(&element.ty)).sum();
    if least == 0 && count > EMPTY_ELEMENTS_MAX {
        let what = format!("an array of elements without bytes has {count} of them");
        return Err(Error::new(ErrorCode::TooLargeArraySize, what).into());
    }
    if count.saturating_mul(least) > input.len() {
        return Err(Stop::Incomplete);
    }
    for _ in 0..count {
        elements.iter_mut().try_for_each(|element| element.read(input))?;
    }
    ends.push(end);
    Ok(())
}

/// How many elements the lists have.
#[expect(clippy::cast_sign_loss, reason = "ends ascend from 0")]
fn end_of(ends: &[i32]) -> usize {
    ends.last().map_or(0, |&end| end as usize)
}

fn empty_values(ty: &SqlType, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    match ty {
        SqlType::Nothing => Arc::new(NullArray::new(rows)),
        _ => Arc::new(StructArray::new_empty_fields(rows, nulls)),
    }
}

fn finish_list(ty: &SqlType, ends: &mut Vec<i32>, elements: &mut [ColumnReader]) -> Result<ArrayRef> {
    let ends = std::mem::take(ends);
    let count = end_of(&ends);
    let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let mut columns = elements.iter_mut().map(|element| element.finish(count)).collect::<Result<Vec<_>>>()?;
    let DataType::List(field) = ty.carrier() else {
        unreachable!("arrays and maps are carried by lists");
    };
    let values = match ty {
        SqlType::Map(..) => Arc::new(StructArray::new(ty.struct_fields(), columns, None)),
        _ => columns.remove(0),
    };
    Ok(Arc::new(ListArray::new(field, offsets, values, None)))
}
