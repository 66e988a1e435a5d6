//! Values of one SQL type as those of another, for columns whose type differs between a file and a table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, make_array};
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::types::Wide;
use basalt_base::{Error, Result, SqlType};

use super::outgoing::cast_exactly;
use crate::settings::TextSettings;
use crate::text::{ColumnBuilder, Style, ValueWriter};

/// The values of `array`, which carries `from`, as an array that carries `to`. Both types are stripped of Nullable and
/// LowCardinality. NULLs stay, whatever `to` is. A value that `to` does not have is an error.
pub(super) fn convert(
    array: &ArrayRef,
    from: &SqlType,
    to: &SqlType,
    settings: &TextSettings,
) -> Result<ArrayRef> {
    match (from, to) {
        (from, to) if from == to || is_same_value(from, to) => Ok(Arc::clone(array)),
        // ClickHouse writes the little-endian bytes of wide integers, without saying what they are.
        (SqlType::FixedString(bytes), SqlType::Wide(wide)) if *bytes == wide.bytes() => {
            let carried = wide.from_memory(array.as_fixed_size_binary().value_data());
            reordered(*wide, carried, array)
        }
        (SqlType::Nothing, to) => Ok(arrow::array::new_null_array(&to.carrier(), array.len())),
        (SqlType::DateTime64 { precision, .. }, SqlType::DateTime(_)) => {
            cast_exactly(&rescaled(array, *precision, 0)?, &DataType::UInt32)
        }
        (SqlType::DateTime64 { precision, .. }, SqlType::DateTime64 { precision: wanted, .. }) => {
            rescaled(array, *precision, *wanted)
        }
        (SqlType::DateTime(_), SqlType::DateTime64 { precision, .. }) => {
            rescaled(&cast_exactly(array, &DataType::Int64)?, 0, *precision)
        }
        (from, to) if is_number(from) && is_number(to) => cast_exactly(array, &to.carrier()),
        (SqlType::Date32, SqlType::Date) => cast_exactly(array, &DataType::UInt16),
        (SqlType::UInt64 | SqlType::Int64 | SqlType::Int32, SqlType::DateTime(_) | SqlType::Ipv4) => {
            cast_exactly(array, &DataType::UInt32)
        }
        _ => through_text(array, from, to, settings),
    }
}

/// An array of these bytes, with the NULLs of `source`.
pub(super) fn reordered(wide: Wide, bytes: Vec<u8>, source: &ArrayRef) -> Result<ArrayRef> {
    let array = FixedSizeBinaryArray::try_new(wide.bytes() as i32, bytes.into(), source.nulls().cloned());
    Ok(Arc::new(array.map_err(Error::of_arrow)?))
}

/// Whether the two types have the same values in the same arrays.
fn is_same_value(from: &SqlType, to: &SqlType) -> bool {
    matches!(
        (from, to),
        (SqlType::UInt32, SqlType::DateTime(_) | SqlType::Ipv4)
            | (SqlType::DateTime(_), SqlType::DateTime(_))
            | (SqlType::UInt16, SqlType::Date)
            | (SqlType::Int32, SqlType::Date32)
            | (SqlType::FixedString(16), SqlType::Uuid | SqlType::Ipv6)
    )
}

fn is_number(ty: &SqlType) -> bool {
    ty.is_number() || matches!(ty, SqlType::Bool)
}

/// Ticks of `10^-precision` seconds as those of `10^-wanted` seconds; rounded down, as a clock does.
fn rescaled(ticks: &ArrayRef, precision: u8, wanted: u8) -> Result<ArrayRef> {
    let ticks = ticks.as_primitive::<Int64Type>();
    let factor = 10_i64.pow(precision.abs_diff(wanted).into());
    let rescaled = ticks.try_unary::<_, Int64Type, Error>(|tick| match wanted < precision {
        true => Ok(tick.div_euclid(factor)),
        false => tick.checked_mul(factor).ok_or_else(|| {
            let what = format!("{tick} ticks are out of the range of DateTime64({wanted})");
            Error::new(basalt_base::ErrorCode::ValueIsOutOfRange, what)
        }),
    })?;
    Ok(Arc::new(rescaled))
}

/// Prints each value and parses it as the other type.
fn through_text(array: &ArrayRef, from: &SqlType, to: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let writer = ValueWriter::new(from, array, settings)?;
    let mut builder = ColumnBuilder::new(to, settings)?;
    let enum_numbers = to.enum_number().is_some() && from.is_integer();
    if enum_numbers {
        return enum_of_numbers(array, to, settings);
    }
    let mut text = Vec::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_default();
            continue;
        }
        text.clear();
        writer.write(row, Style::Raw, &mut text);
        builder.parse_raw(&text)?;
    }
    with_nulls_of(array, &builder.finish())
}

/// Integers as the labels with these numbers.
fn enum_of_numbers(array: &ArrayRef, to: &SqlType, settings: &TextSettings) -> Result<ArrayRef> {
    let numbers = cast_exactly(array, &to.carrier())?;
    let labels = ValueWriter::new(to, &numbers, settings)?;
    let mut label = Vec::new();
    let mut checker = ColumnBuilder::new(to, settings)?;
    for row in (0..numbers.len()).filter(|&row| !numbers.is_null(row)) {
        label.clear();
        labels.write(row, Style::Raw, &mut label);
        checker.parse_raw(&label)?;
    }
    Ok(numbers)
}

fn with_nulls_of(nulls: &ArrayRef, array: &ArrayRef) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().nulls(nulls.logical_nulls());
    Ok(make_array(data.build().map_err(Error::of_arrow)?))
}
