//! The values of an array, by the type that they are written as.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use basalt_base::types::Wide;
use basalt_base::zone::Zone;
use basalt_base::{Error, Result, SqlType};

use super::labels::Labels;
use super::writer::ValueWriter;
use crate::settings::TextSettings;

#[derive(Clone, Debug)]
pub(super) enum Values {
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
    Wide(FixedSizeBinaryArray, Wide),
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

impl Values {
    pub(super) fn new(ty: &SqlType, array: &ArrayRef, settings: &TextSettings) -> Result<Values> {
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
            SqlType::Wide(wide) => Values::Wide(array.as_fixed_size_binary().clone(), *wide),
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

/// The elements of a list in `row`.
pub(super) fn bounds(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}
