//! The SQL type of a foreign Arrow type.

use std::sync::Arc;

use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, Field, TimeUnit};
use basalt_base::types::TupleElement;
use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType};

/// The columns of a schema, with the types that hold all of their values.
pub(super) fn columns_of(schema: &arrow::datatypes::Schema) -> Result<Columns> {
    let columns = schema.fields().iter().map(|field| {
        let ty = sql_type(field).map_err(|error| error.within(format!("column `{}`", field.name())))?;
        Ok(Column::new(field.name(), ty))
    });
    columns.collect::<Result<Vec<_>>>().map(Columns::new)
}

/// The type that holds all values of a field.
fn sql_type(field: &Field) -> Result<SqlType> {
    let ty = match field.data_type() {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => SqlType::array_of(sql_type(element)?),
        DataType::Struct(fields) => {
            let element = |field: &Arc<Field>| {
                Ok(TupleElement { name: Some(field.name().clone()), ty: sql_type(field)? })
            };
            SqlType::Tuple(fields.iter().map(element).collect::<Result<_>>()?)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let key = sql_type(&fields[0].as_ref().clone().with_nullable(false))?;
                SqlType::Map(Arc::new(key), Arc::new(sql_type(&fields[1])?))
            }
            other => return Err(unsupported(other)),
        },
        DataType::Dictionary(_, value) => {
            let value = scalar(value)?;
            let value = if field.is_nullable() { value.into_nullable() } else { value };
            return Ok(match value.stripped() {
                SqlType::String => SqlType::LowCardinality(Arc::new(value)),
                _ => value,
            });
        }
        DataType::FixedSizeBinary(16) if is_uuid(field) => SqlType::Uuid,
        DataType::Null => return Ok(SqlType::Nullable(Arc::new(SqlType::Nothing))),
        other => scalar(other)?,
    };
    Ok(if field.is_nullable() { ty.into_nullable() } else { ty })
}

fn is_uuid(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid")
}

/// The type of the values of an array without elements.
pub(super) fn scalar(foreign: &DataType) -> Result<SqlType> {
    let date_time = |precision, zone: Option<&Arc<str>>| {
        let zone = zone.filter(|zone| basalt_base::zone::Zone::parse(zone).is_ok()).cloned();
        SqlType::DateTime64 { precision, zone }
    };
    Ok(match foreign {
        DataType::Int8 => SqlType::Int8,
        DataType::Int16 => SqlType::Int16,
        DataType::Int32 | DataType::Time32(_) => SqlType::Int32,
        DataType::Int64 | DataType::Time64(_) | DataType::Duration(_) => SqlType::Int64,
        DataType::UInt8 => SqlType::UInt8,
        DataType::UInt16 => SqlType::UInt16,
        DataType::UInt32 => SqlType::UInt32,
        DataType::UInt64 => SqlType::UInt64,
        DataType::Float16 | DataType::Float32 => SqlType::Float32,
        DataType::Float64 => SqlType::Float64,
        DataType::Boolean => SqlType::Bool,
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => SqlType::String,
        DataType::FixedSizeBinary(bytes) if *bytes > 0 => SqlType::FixedString(*bytes as usize),
        DataType::Date32 => SqlType::Date32,
        DataType::Date64 => date_time(3, None),
        DataType::Timestamp(TimeUnit::Second, zone) => date_time(0, zone.as_ref()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => date_time(3, zone.as_ref()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => date_time(6, zone.as_ref()),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => date_time(9, zone.as_ref()),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if (1..=DECIMAL256_MAX_PRECISION).contains(precision)
                && u8::try_from(*scale).is_ok_and(|scale| scale <= *precision) =>
        {
            SqlType::Decimal { precision: *precision, scale: scale.unsigned_abs() }
        }
        DataType::Null => SqlType::Nothing,
        other => return Err(unsupported(other)),
    })
}

fn unsupported(foreign: &DataType) -> Error {
    Error::new(ErrorCode::UnknownType, format!("the Arrow type {foreign} has no SQL type"))
}
