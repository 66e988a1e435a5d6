//! Values of a fixed number of bytes: little-endian numbers, one after the other, as arrays and back.
//!
//! | type | bytes of a value |
//! |---|---|
//! | numbers, dates, times, enums, IPv4 | those of the carrier |
//! | Int128, UInt128, Int256, UInt256 | 16, 32 |
//! | Bool | one byte, 0 or 1 |
//! | Decimal | 4, 8, 16 or 32 by the precision |
//! | UUID | two numbers of 8 bytes, the high half first |
//! | FixedString, IPv6 | as they are |

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::{Error, ErrorCode, Result, SqlType};

/// Digits of the decimals of 4 and of 8 bytes.
const DECIMAL32_DIGITS: u8 = 9;
const DECIMAL64_DIGITS: u8 = 18;
/// Bytes of a half of a UUID.
const HALF_BYTES: usize = 8;

// Buffers are copied as they are.
const _: () = assert!(cfg!(target_endian = "little"));

/// Bytes of each value; `None` if they differ, or the type is nested or nullable.
pub(crate) fn fixed_width(ty: &SqlType) -> Option<usize> {
    match ty {
        SqlType::Decimal { precision, .. } if *precision <= DECIMAL32_DIGITS => Some(4),
        SqlType::Decimal { precision, .. } if *precision <= DECIMAL64_DIGITS => Some(8),
        SqlType::LowCardinality(_) => None,
        other => other.fixed_bytes(),
    }
}

/// The array of the values in `raw`, which has the bytes of `rows` values and is aligned as Arrow aligns buffers.
///
/// # Panics
///
/// If the buffer is too short or not aligned.
pub(crate) fn array_of_fixed(ty: &SqlType, raw: Buffer, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    match ty.carrier() {
        DataType::UInt8 => numbers::<UInt8Type>(raw, rows, nulls),
        DataType::UInt16 => numbers::<UInt16Type>(raw, rows, nulls),
        DataType::UInt32 => numbers::<UInt32Type>(raw, rows, nulls),
        DataType::UInt64 => numbers::<UInt64Type>(raw, rows, nulls),
        DataType::Int8 => numbers::<Int8Type>(raw, rows, nulls),
        DataType::Int16 => numbers::<Int16Type>(raw, rows, nulls),
        DataType::Int32 => numbers::<Int32Type>(raw, rows, nulls),
        DataType::Int64 => numbers::<Int64Type>(raw, rows, nulls),
        DataType::Float32 => numbers::<Float32Type>(raw, rows, nulls),
        DataType::Float64 => numbers::<Float64Type>(raw, rows, nulls),
        DataType::Boolean => {
            let bits = BooleanBuffer::collect_bool(rows, |row| raw[row] != 0);
            Arc::new(BooleanArray::new(bits, nulls))
        }
        DataType::FixedSizeBinary(width) => {
            let raw = match ty {
                SqlType::Uuid => Buffer::from_vec(swapped_halves(&raw)),
                SqlType::Wide(wide) => Buffer::from_vec(wide.from_memory(&raw)),
                _ => raw,
            };
            Arc::new(FixedSizeBinaryArray::new(width, raw, nulls))
        }
        decimal => decimals(ty, decimal, raw, rows, nulls),
    }
}

fn decimals(
    ty: &SqlType,
    data_type: DataType,
    raw: Buffer,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let values: ScalarBuffer<i128> = match fixed_width(ty) {
        Some(4) => typed::<i32>(raw, rows).iter().map(|&value| i128::from(value)).collect(),
        Some(8) => typed::<i64>(raw, rows).iter().map(|&value| i128::from(value)).collect(),
        Some(16) => typed(raw, rows),
        _ => {
            let wide = PrimitiveArray::<Decimal256Type>::new(typed(raw, rows), nulls);
            return Arc::new(wide.with_data_type(data_type));
        }
    };
    Arc::new(PrimitiveArray::<Decimal128Type>::new(values, nulls).with_data_type(data_type))
}

fn numbers<T: ArrowPrimitiveType>(raw: Buffer, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(typed(raw, rows), nulls))
}

fn typed<T: arrow::datatypes::ArrowNativeType>(raw: Buffer, rows: usize) -> ScalarBuffer<T> {
    ScalarBuffer::new(raw, 0, rows)
}

/// Converts UUIDs between the order of their text and two little-endian numbers.
fn swapped_halves(raw: &[u8]) -> Vec<u8> {
    let mut swapped = raw.to_vec();
    swapped.as_chunks_mut::<HALF_BYTES>().0.iter_mut().for_each(|half| half.reverse());
    swapped
}

/// The bytes of the values of `array`, which carries `ty`; zeroes for NULL.
///
/// # Panics
///
/// If `ty` has no fixed width, or the array does not carry it.
pub(crate) fn fixed_of_array<'a>(ty: &SqlType, array: &'a dyn Array) -> Cow<'a, [u8]> {
    let mut raw = raw_bytes(ty, array);
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        let width = fixed_width(ty).unwrap_or_default();
        let values = raw.to_mut().chunks_exact_mut(width).zip(nulls);
        values.filter(|(_, valid)| !valid).for_each(|(value, _)| value.fill(0));
    }
    raw
}

fn raw_bytes<'a>(ty: &SqlType, array: &'a dyn Array) -> Cow<'a, [u8]> {
    let owned_bytes = |values: Vec<u8>| Cow::Owned(values);
    match array.data_type() {
        DataType::UInt8 => bytes_of::<UInt8Type>(array),
        DataType::UInt16 => bytes_of::<UInt16Type>(array),
        DataType::UInt32 => bytes_of::<UInt32Type>(array),
        DataType::UInt64 => bytes_of::<UInt64Type>(array),
        DataType::Int8 => bytes_of::<Int8Type>(array),
        DataType::Int16 => bytes_of::<Int16Type>(array),
        DataType::Int32 => bytes_of::<Int32Type>(array),
        DataType::Int64 => bytes_of::<Int64Type>(array),
        DataType::Float32 => bytes_of::<Float32Type>(array),
        DataType::Float64 => bytes_of::<Float64Type>(array),
        DataType::Decimal256(..) => bytes_of::<Decimal256Type>(array),
        DataType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            // Values of so many digits fit; others lose their high bits, as in ClickHouse.
            match fixed_width(ty) {
                Some(4) => {
                    owned_bytes(values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect())
                }
                Some(8) => {
                    owned_bytes(values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect())
                }
                _ => bytes_of::<Decimal128Type>(array),
            }
        }
        DataType::Boolean => owned_bytes(array.as_boolean().values().iter().map(u8::from).collect()),
        DataType::FixedSizeBinary(_) => {
            let raw = array.as_fixed_size_binary().value_data();
            match ty {
                SqlType::Uuid => owned_bytes(swapped_halves(raw)),
                SqlType::Wide(wide) => owned_bytes(wide.to_memory(raw)),
                _ => Cow::Borrowed(raw),
            }
        }
        other => unreachable!("{other} has values of a fixed width"),
    }
}

fn bytes_of<T: ArrowPrimitiveType>(array: &dyn Array) -> Cow<'_, [u8]> {
    Cow::Borrowed(array.as_primitive::<T>().values().inner().as_slice())
}

/// The nulls of bytes that are not zero where a value is NULL.
pub(crate) fn null_buffer(bytes: &[u8]) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::collect_bool(bytes.len(), |row| bytes[row] == 0))
}

/// Fails if a value of an enum, other than NULL, is none of its labels' values.
pub(crate) fn check_labels(ty: &SqlType, array: &ArrayRef) -> Result<()> {
    let unknown = match ty {
        SqlType::Enum8(labels) => {
            let mut known = [false; 1 << 8];
            labels.iter().for_each(|(_, value)| known[usize::from(*value as u8)] = true);
            let values = array.as_primitive::<Int8Type>();
            first_unknown(values, |value| known[usize::from(value as u8)]).map(i64::from)
        }
        SqlType::Enum16(labels) => {
            let mut known = vec![false; 1 << 16];
            labels.iter().for_each(|(_, value)| known[usize::from(*value as u16)] = true);
            let values = array.as_primitive::<Int16Type>();
            first_unknown(values, |value| known[usize::from(value as u16)]).map(i64::from)
        }
        _ => None,
    };
    match unknown {
        None => Ok(()),
        Some(value) => {
            let what = format!("{value} is not a value of type {ty}");
            Err(Error::new(ErrorCode::UnknownElementOfEnum, what))
        }
    }
}

fn first_unknown<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    is_known: impl Fn(T::Native) -> bool,
) -> Option<T::Native> {
    let values = array.values().iter().copied().enumerate();
    values.filter(|&(row, value)| !is_known(value) && array.is_valid(row)).map(|(_, value)| value).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_precision() {
        let decimal = |precision| fixed_width(&SqlType::Decimal { precision, scale: 0 });
        assert_eq!([9, 10, 18, 19, 38, 39].map(decimal), [4, 8, 8, 16, 16, 32].map(Some));
        assert_eq!(fixed_width(&SqlType::UInt8.into_nullable()), None);
    }

    #[test]
    fn values_under_null_are_zeroes() {
        let array = PrimitiveArray::<Int16Type>::new(vec![7, 8].into(), Some(vec![true, false].into()));
        assert_eq!(*fixed_of_array(&SqlType::Int16, &array), [7, 0, 0, 0]);
    }

    #[test]
    fn values_without_a_label_are_refused() {
        let ty = SqlType::Enum8([("a".to_owned(), -1)].into());
        let array = |values: Vec<i8>| -> ArrayRef { Arc::new(PrimitiveArray::<Int8Type>::from(values)) };
        check_labels(&ty, &array(vec![-1, -1])).unwrap();
        assert_eq!(
            check_labels(&ty, &array(vec![-1, 2])).unwrap_err().code(),
            ErrorCode::UnknownElementOfEnum
        );
    }
}
