//! The values of a column, ready to be written row by row.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, ListArray,
};
use arrow::datatypes::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type, i256,
};
use basalt_base::types::Wide;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};
use basalt_formats::text::{TextSettings, ValueWriter};

use crate::postgres::oid;

/// The values of one column.
pub(in crate::postgres) struct ColumnValues {
    pub(super) values: Values,
    array: ArrayRef,
    /// The type that the client was told.
    pub(super) oid: u32,
}

/// The values by the form in which they are written.
pub(super) enum Values {
    Bool(BooleanArray),
    Integer(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal128(Decimal128Array, u8),
    Decimal256(Decimal256Array, u8),
    UInt64(Vec<u64>),
    /// Days since 1970-01-01.
    Date(Vec<i64>),
    /// Ticks of `10^-precision` s since 1970.
    Time {
        ticks: Vec<i64>,
        precision: u8,
        zone: Zone,
    },
    Wide(FixedSizeBinaryArray, Wide),
    Uuid(FixedSizeBinaryArray),
    Ipv4(Vec<i64>),
    Ipv6(FixedSizeBinaryArray),
    String(BinaryViewArray),
    Array {
        offsets: ListArray,
        elements: Box<ColumnValues>,
    },
    /// Types that Postgres does not have, as `toString` writes them.
    Written(ValueWriter),
}

impl ColumnValues {
    /// The values of `array`, whose type is `ty`, for a client that was told the type `oid`. `zone` is that of times
    /// without one.
    pub(in crate::postgres) fn new(
        ty: &SqlType,
        array: &ArrayRef,
        oid: u32,
        zone: Zone,
    ) -> Result<ColumnValues> {
        let values = values(ty, array, oid, zone)?;
        Ok(ColumnValues { values, array: array.clone(), oid })
    }

    pub(in crate::postgres) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || matches!(self.array.data_type(), arrow::datatypes::DataType::Null)
    }
}

fn values(ty: &SqlType, array: &ArrayRef, oid: u32, zone: Zone) -> Result<Values> {
    let zone_of =
        |name: &Option<std::sync::Arc<str>>| name.as_ref().map_or(Ok(zone), |name| Zone::parse(name));
    Ok(match ty.stripped() {
        SqlType::Bool => Values::Bool(array.as_boolean().clone()),
        SqlType::UInt8 => Values::Integer(integers::<UInt8Type>(array)),
        SqlType::UInt16 => Values::Integer(integers::<UInt16Type>(array)),
        SqlType::UInt32 => Values::Integer(integers::<UInt32Type>(array)),
        SqlType::Int8 => Values::Integer(integers::<Int8Type>(array)),
        SqlType::Int16 => Values::Integer(integers::<Int16Type>(array)),
        SqlType::Int32 => Values::Integer(integers::<Int32Type>(array)),
        SqlType::Int64 | SqlType::Interval(_) => Values::Integer(integers::<Int64Type>(array)),
        SqlType::UInt64 => Values::UInt64(array.as_primitive::<UInt64Type>().values().to_vec()),
        SqlType::Float32 => Values::Float32(array.as_primitive::<Float32Type>().values().to_vec()),
        SqlType::Float64 => Values::Float64(array.as_primitive::<Float64Type>().values().to_vec()),
        SqlType::Decimal { scale, .. } => match array.as_primitive_opt() {
            Some(small) => Values::Decimal128(small.clone(), *scale),
            None => Values::Decimal256(array.as_primitive().clone(), *scale),
        },
        SqlType::Date => Values::Date(integers::<UInt16Type>(array)),
        SqlType::Date32 => Values::Date(integers::<Int32Type>(array)),
        SqlType::DateTime(name) => {
            Values::Time { ticks: integers::<UInt32Type>(array), precision: 0, zone: zone_of(name)? }
        }
        SqlType::DateTime64 { precision, zone: name } => {
            Values::Time { ticks: integers::<Int64Type>(array), precision: *precision, zone: zone_of(name)? }
        }
        SqlType::Uuid => Values::Uuid(array.as_fixed_size_binary().clone()),
        SqlType::Wide(wide) => Values::Wide(array.as_fixed_size_binary().clone(), *wide),
        SqlType::Ipv4 => Values::Ipv4(integers::<UInt32Type>(array)),
        SqlType::Ipv6 => Values::Ipv6(array.as_fixed_size_binary().clone()),
        SqlType::String => Values::String(array.as_binary_view().clone()),
        SqlType::Array(element) => {
            let list = array.as_list::<i32>();
            let oid = oid::element(oid).unwrap_or(oid::TEXT);
            let elements = match element.stripped() {
                // Dimensions share the type of the innermost elements.
                SqlType::Array(_) => ColumnValues::new(element, list.values(), array_of(oid), zone)?,
                _ => ColumnValues::new(element, list.values(), oid, zone)?,
            };
            Values::Array { offsets: list.clone(), elements: Box::new(elements) }
        }
        _ => Values::Written(ValueWriter::new(ty, array, &TextSettings { zone, ..TextSettings::default() })?),
    })
}

fn array_of(element: u32) -> u32 {
    oid::array(element).unwrap_or(oid::TEXT_ARRAY)
}

fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Vec<i64> {
    array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
}

/// A decimal of any width.
pub(super) fn wide(value: i128) -> i256 {
    i256::from_i128(value)
}
