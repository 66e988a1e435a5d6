//! One value of any type per group, copied from its block.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray, FixedSizeBinaryArray, make_array,
};
use arrow::buffer::Buffer;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{ArrowNativeType, DataType};
use arrow::row::{RowConverter, Rows as EncodedRows, SortField};
use basalt_base::{Error, Result, SqlType};

use super::EmitTo;

/// The values; an empty slot holds the type's default.
pub(super) struct Slots {
    ty: SqlType,
    seen: Vec<bool>,
    values: Values,
}

/// Storage of the values: by the width of their carrier, or as bytes.
enum Values {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
    W16(Vec<u128>),
    /// Decimal256 as two halves, in memory order.
    W32(Vec<[u128; 2]>),
    Bytes {
        values: Vec<Box<[u8]>>,
        bytes: usize,
    },
}

impl Slots {
    pub(super) fn new(ty: SqlType) -> Slots {
        let values = match ty.carrier() {
            DataType::Boolean => Values::W1(Vec::new()),
            carrier => match carrier.primitive_width() {
                Some(1) => Values::W1(Vec::new()),
                Some(2) => Values::W2(Vec::new()),
                Some(4) => Values::W4(Vec::new()),
                Some(8) => Values::W8(Vec::new()),
                Some(16) => Values::W16(Vec::new()),
                Some(32) => Values::W32(Vec::new()),
                _ => Values::Bytes { values: Vec::new(), bytes: 0 },
            },
        };
        Slots { ty, seen: Vec::new(), values }
    }

    pub(super) fn fresh(&self) -> Slots {
        Slots::new(self.ty.clone())
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.seen.resize(groups, false);
        match &mut self.values {
            Values::W1(values) => values.resize(groups, 0),
            Values::W2(values) => values.resize(groups, 0),
            Values::W4(values) => values.resize(groups, 0),
            Values::W8(values) => values.resize(groups, 0),
            Values::W16(values) => values.resize(groups, 0),
            Values::W32(values) => values.resize(groups, [0, 0]),
            Values::Bytes { values, .. } => values.resize(groups, Box::default()),
        }
    }

    pub(super) fn is_seen(&self, group: usize) -> bool {
        self.seen[group]
    }

    /// Marks the slot as taken; whether it was free.
    pub(super) fn claim(&mut self, group: usize) -> bool {
        !std::mem::replace(&mut self.seen[group], true)
    }

    /// Copies rows of `array` into groups; the later of two rows for one group stays.
    pub(super) fn put(&mut self, array: &ArrayRef, places: &[(usize, usize)]) -> Result<()> {
        for &(_, group) in places {
            self.seen[group] = true;
        }
        match &mut self.values {
            Values::W1(slots) if *array.data_type() == DataType::Boolean => {
                copy(slots, &cast(array, &DataType::UInt8).map_err(Error::of_arrow)?, places);
            }
            Values::W1(slots) => copy(slots, array, places),
            Values::W2(slots) => copy(slots, array, places),
            Values::W4(slots) => copy(slots, array, places),
            Values::W8(slots) => copy(slots, array, places),
            Values::W16(slots) => {
                let data = array.to_data();
                let source = &data.buffers()[0].typed_data::<i128>()[data.offset()..];
                places.iter().for_each(|&(row, group)| slots[group] = source[row] as u128);
            }
            Values::W32(slots) => {
                let data = array.to_data();
                let source = &data.buffers()[0].typed_data::<i128>()[data.offset() * 2..];
                for &(row, group) in places {
                    slots[group] = [source[row * 2] as u128, source[row * 2 + 1] as u128];
                }
            }
            Values::Bytes { values, bytes } => {
                let source = ByteRows::new(array, Null::First)?;
                for &(row, group) in places {
                    let value = source.value(row);
                    *bytes = *bytes + value.len() - values[group].len();
                    values[group] = value.into();
                }
            }
        }
        Ok(())
    }

    /// The values of the emitted groups, and which of them are set.
    pub(super) fn take(&mut self, emit: EmitTo) -> Result<(ArrayRef, BooleanArray)> {
        let seen = emit.take_needed(&mut self.seen);
        let rows = seen.len();
        let carrier = self.ty.carrier();
        let buffer = match &mut self.values {
            Values::W1(values) => Buffer::from_vec(emit.take_needed(values)),
            Values::W2(values) => Buffer::from_vec(emit.take_needed(values)),
            Values::W4(values) => Buffer::from_vec(emit.take_needed(values)),
            Values::W8(values) => Buffer::from_vec(emit.take_needed(values)),
            Values::W16(values) => Buffer::from_iter(emit.take_needed(values).into_iter().map(|v| v as i128)),
            Values::W32(values) => {
                let halves = emit.take_needed(values);
                Buffer::from_iter(halves.into_iter().flatten().map(|half| half as i128))
            }
            Values::Bytes { values, bytes } => {
                let values = emit.take_needed(values);
                *bytes -= values.iter().map(|value| value.len()).sum::<usize>();
                let array = bytes_to_array(&self.ty, &values, &seen, Null::First)?;
                return Ok((array, BooleanArray::from(seen)));
            }
        };
        let array = match carrier {
            DataType::Boolean => {
                let flags = fixed_array(DataType::UInt8, rows, buffer)?;
                cast(&flags, &DataType::Boolean).map_err(Error::of_arrow)?
            }
            carrier => fixed_array(carrier, rows, buffer)?,
        };
        // An enum's default is its first label, not zero.
        let array = if matches!(self.ty, SqlType::Enum8(_) | SqlType::Enum16(_)) && seen.contains(&false) {
            let defaults = self.ty.default_array(1);
            arrow::compute::kernels::zip::zip(
                &BooleanArray::from(seen.clone()),
                &array,
                &arrow::array::Scalar::new(defaults),
            )
            .map_err(Error::logical)?
        } else {
            array
        };
        Ok((array, BooleanArray::from(seen)))
    }

    pub(super) fn bytes(&self) -> usize {
        let held = match &self.values {
            Values::W1(values) => values.capacity(),
            Values::W2(values) => values.capacity() * 2,
            Values::W4(values) => values.capacity() * 4,
            Values::W8(values) => values.capacity() * 8,
            Values::W16(values) => values.capacity() * 16,
            Values::W32(values) => values.capacity() * 32,
            Values::Bytes { values, bytes } => values.capacity() * size_of::<Box<[u8]>>() + bytes,
        };
        size_of_val(self) + self.seen.capacity() + held
    }
}

fn copy<T: ArrowNativeType>(slots: &mut [T], array: &ArrayRef, places: &[(usize, usize)]) {
    let data = array.to_data();
    let source = &data.buffers()[0].typed_data::<T>()[data.offset()..];
    places.iter().for_each(|&(row, group)| slots[group] = source[row]);
}

fn fixed_array(carrier: DataType, rows: usize, buffer: Buffer) -> Result<ArrayRef> {
    let data = ArrayData::builder(carrier).len(rows).add_buffer(buffer).build();
    Ok(make_array(data.map_err(Error::logical)?))
}

/// The position of NULL inside an encoded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    First,
    Last,
}

/// Values as byte strings that have the order of the values.
pub(super) enum ByteRows<'a> {
    View(&'a arrow::array::BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
    Encoded(EncodedRows),
}

impl<'a> ByteRows<'a> {
    pub(super) fn new(array: &'a ArrayRef, null: Null) -> Result<ByteRows<'a>> {
        Ok(match array.data_type() {
            DataType::BinaryView => ByteRows::View(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => ByteRows::Fixed(array.as_fixed_size_binary()),
            other => {
                let converter = converter(other, null)?;
                let columns = std::slice::from_ref(array);
                ByteRows::Encoded(converter.convert_columns(columns).map_err(Error::of_arrow)?)
            }
        })
    }

    #[inline]
    pub(super) fn value(&self, row: usize) -> &[u8] {
        match self {
            ByteRows::View(array) => array.value(row),
            ByteRows::Fixed(array) => array.value(row),
            ByteRows::Encoded(rows) => rows.row(row).data(),
        }
    }
}

fn converter(carrier: &DataType, null: Null) -> Result<RowConverter> {
    let options = SortOptions { descending: false, nulls_first: null == Null::First };
    RowConverter::new(vec![SortField::new_with_options(carrier.clone(), options)])
        .map_err(|_| Error::not_implemented(format!("an aggregate over values carried by {carrier}")))
}

/// The inverse of [`ByteRows`]; a missing value becomes the default.
pub(super) fn bytes_to_array(
    ty: &SqlType,
    values: &[Box<[u8]>],
    seen: &[bool],
    null: Null,
) -> Result<ArrayRef> {
    match ty.carrier() {
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::with_capacity(values.len());
            values.iter().for_each(|value| builder.append_value(value));
            Ok(Arc::new(builder.finish()))
        }
        DataType::FixedSizeBinary(width) => {
            let default = ty.default_array(1);
            let default = default.as_fixed_size_binary_opt().map(|array| array.value(0)).unwrap_or_default();
            let mut flat = Vec::with_capacity(values.len() * width as usize);
            for value in values {
                // An empty slot has no bytes.
                flat.extend_from_slice(if value.is_empty() { default } else { value });
            }
            Ok(Arc::new(FixedSizeBinaryArray::new(width, flat.into(), None)))
        }
        carrier => {
            let converter = converter(&carrier, null)?;
            let defaults = ty.default_array(1);
            let default = converter.convert_columns(&[defaults]).map_err(Error::of_arrow)?;
            let parser = converter.parser();
            let encoded = values
                .iter()
                .zip(seen)
                .map(|(value, &seen)| if seen { parser.parse(value) } else { default.row(0) });
            let mut columns = converter.convert_rows(encoded).map_err(Error::of_arrow)?;
            columns.pop().ok_or_else(|| Error::logical("a row without columns"))
        }
    }
}
