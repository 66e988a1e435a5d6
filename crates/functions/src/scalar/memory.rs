//! Values as the bytes that ClickHouse holds in memory, for hashes and reinterpretations.
//!
//! Numbers are little-endian in the width of their SQL type. A UUID is two little-endian words, the high one first. A
//! decimal has the width of its digits.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type};
use basalt_base::{Error, Result, SqlType};

use super::number::with_number;
use super::operand::Bytes;

/// The fixed-width values of an array, as little-endian bytes.
pub(super) enum Memory<'a> {
    /// Strings without conversion.
    Text(Bytes<'a>),
    /// Values of one width, stored contiguously.
    Fixed { bytes: Vec<u8>, width: usize },
}

impl<'a> Memory<'a> {
    /// `None` for types without a contiguous value: arrays, tuples, maps.
    pub(super) fn of(ty: &SqlType, array: &'a ArrayRef) -> Result<Option<Memory<'a>>> {
        let fixed = |bytes, width| Ok(Some(Memory::Fixed { bytes, width }));
        match ty.stripped() {
            SqlType::String | SqlType::FixedString(_) | SqlType::Ipv6 => {
                Bytes::of(array).map(|bytes| Some(Memory::Text(bytes)))
            }
            SqlType::Uuid => {
                let uuids = array.as_fixed_size_binary();
                let mut bytes = Vec::with_capacity(uuids.len() * 16);
                for row in 0..uuids.len() {
                    let uuid = uuids.value(row);
                    bytes.extend(uuid[..8].iter().rev());
                    bytes.extend(uuid[8..].iter().rev());
                }
                fixed(bytes, 16)
            }
            SqlType::Wide(wide) => {
                let values = array.as_fixed_size_binary();
                let bytes: Vec<u8> =
                    (0..values.len()).flat_map(|row| wide.to_memory(values.value(row))).collect();
                fixed(bytes, wide.bytes())
            }
            SqlType::Decimal { precision, .. } => {
                let width = decimal_width(*precision);
                fixed(decimal_bytes(array, width)?, width)
            }
            SqlType::Bool => {
                let flags = array.as_boolean();
                fixed((0..flags.len()).map(|row| u8::from(flags.value(row))).collect(), 1)
            }
            SqlType::Nothing => fixed(vec![0; array.len()], 1),
            _ => with_number!(array.data_type(), T => {
                let numbers = array.as_primitive::<T>();
                let width = size_of::<<T as arrow::array::ArrowPrimitiveType>::Native>();
                let mut bytes = Vec::with_capacity(numbers.len() * width);
                for number in numbers.values() {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                fixed(bytes, width)
            }, Ok(None)),
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        match self {
            Memory::Text(text) => text.get(row),
            Memory::Fixed { bytes, width } => &bytes[row * width..(row + 1) * width],
        }
    }
}

/// The bytes of a decimal with that many digits.
pub(super) fn decimal_width(precision: u8) -> usize {
    match precision {
        0..=9 => 4,
        10..=18 => 8,
        19..=38 => 16,
        _ => 32,
    }
}

fn decimal_bytes(array: &ArrayRef, width: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(array.len() * width);
    if let Some(narrow) = array.as_primitive_opt::<Decimal128Type>() {
        for value in narrow.values() {
            bytes.extend_from_slice(&value.to_le_bytes()[..width.min(16)]);
        }
        return Ok(bytes);
    }
    let wide = array.as_primitive_opt::<Decimal256Type>();
    let wide =
        wide.ok_or_else(|| Error::logical(format!("{} is not the carrier of a decimal", array.data_type())))?;
    for value in wide.values() {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    Ok(bytes)
}
