//! The Parquet schema of our columns, as ClickHouse declares it.

use std::sync::Arc;

use basalt_base::types::TupleElement;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type};

/// The schema of `columns`; String is text or plain bytes.
pub(super) fn schema_of(columns: &Columns, string_as_string: bool) -> Result<SchemaDescriptor> {
    let tree = Tree { string_as_string };
    let fields = columns.iter().map(|column| {
        tree.node(&column.name, &column.ty).map_err(|error| error.within(format!("column `{}`", column.name)))
    });
    let root = Type::group_type_builder("schema").with_fields(fields.collect::<Result<_>>()?).build();
    Ok(SchemaDescriptor::new(Arc::new(root.map_err(refused)?)))
}

struct Tree {
    string_as_string: bool,
}

/// How the values of a column without elements are stored.
struct Leaf {
    physical: PhysicalType,
    logical: Option<LogicalType>,
    /// The bytes of a fixed-length array.
    length: usize,
}

impl Tree {
    fn node(&self, name: &str, ty: &SqlType) -> Result<Arc<Type>> {
        let repetition = if ty.accepts_null() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        match ty.stripped() {
            SqlType::Array(element) => {
                let element = self.node("element", element)?;
                let list = group("list", Repetition::REPEATED, None, vec![element])?;
                group(name, repetition, Some(LogicalType::List), vec![list])
            }
            SqlType::Map(key, value) => {
                let entry = vec![self.node("key", key)?, self.node("value", value)?];
                let entries = group("key_value", Repetition::REPEATED, None, entry)?;
                group(name, repetition, Some(LogicalType::Map), vec![entries])
            }
            SqlType::Tuple(elements) => {
                let named = |(index, element): (usize, &TupleElement)| {
                    let name = element.name.clone().unwrap_or_else(|| (index + 1).to_string());
                    self.node(&name, &element.ty)
                };
                let fields = elements.iter().enumerate().map(named).collect::<Result<Vec<_>>>()?;
                if fields.is_empty() {
                    return Err(unknown(ty));
                }
                group(name, repetition, None, fields)
            }
            scalar => {
                let leaf = self.leaf(scalar)?;
                let builder = Type::primitive_type_builder(name, leaf.physical)
                    .with_repetition(repetition)
                    .with_length(i32::try_from(leaf.length).map_err(|_| unknown(ty))?);
                let builder = match scalar {
                    SqlType::Decimal { precision, scale } => {
                        builder.with_precision((*precision).into()).with_scale((*scale).into())
                    }
                    _ => builder,
                };
                builder.with_logical_type(leaf.logical).build().map(Arc::new).map_err(refused)
            }
        }
    }

    fn leaf(&self, ty: &SqlType) -> Result<Leaf> {
        let plain = |physical| Ok(Leaf { physical, logical: None, length: 0 });
        let logical = |physical, logical| Ok(Leaf { physical, logical: Some(logical), length: 0 });
        let fixed =
            |length, logical| Ok(Leaf { physical: PhysicalType::FIXED_LEN_BYTE_ARRAY, logical, length });
        match ty {
            SqlType::UInt8 => logical(PhysicalType::INT32, integer(8, false)),
            SqlType::UInt16 => logical(PhysicalType::INT32, integer(16, false)),
            SqlType::UInt32 | SqlType::Ipv4 => logical(PhysicalType::INT32, integer(32, false)),
            SqlType::UInt64 => logical(PhysicalType::INT64, integer(64, false)),
            SqlType::Int8 => logical(PhysicalType::INT32, integer(8, true)),
            SqlType::Int16 => logical(PhysicalType::INT32, integer(16, true)),
            SqlType::Int32 => plain(PhysicalType::INT32),
            SqlType::Int64 | SqlType::Interval(_) => plain(PhysicalType::INT64),
            SqlType::Float32 => plain(PhysicalType::FLOAT),
            SqlType::Float64 => plain(PhysicalType::DOUBLE),
            SqlType::Bool => plain(PhysicalType::BOOLEAN),
            SqlType::String if self.string_as_string => {
                logical(PhysicalType::BYTE_ARRAY, LogicalType::String)
            }
            SqlType::String => plain(PhysicalType::BYTE_ARRAY),
            SqlType::Enum8(_) | SqlType::Enum16(_) => logical(PhysicalType::BYTE_ARRAY, LogicalType::Enum),
            SqlType::FixedString(length) => fixed(*length, None),
            SqlType::Wide(wide) => fixed(wide.bytes(), None),
            SqlType::Ipv6 => fixed(16, None),
            SqlType::Uuid => fixed(16, Some(LogicalType::Uuid)),
            SqlType::Date | SqlType::Date32 => logical(PhysicalType::INT32, LogicalType::Date),
            SqlType::DateTime(_) => logical(PhysicalType::INT64, timestamp(3)),
            SqlType::DateTime64 { precision, .. } => logical(PhysicalType::INT64, timestamp(*precision)),
            SqlType::Decimal { precision, scale } => {
                let ty = LogicalType::decimal(i32::from(*scale), i32::from(*precision));
                fixed(decimal_bytes(*precision), Some(ty))
            }
            other => Err(unknown(other)),
        }
    }
}

fn group(
    name: &str,
    repetition: Repetition,
    logical: Option<LogicalType>,
    fields: Vec<Arc<Type>>,
) -> Result<Arc<Type>> {
    let builder = Type::group_type_builder(name).with_repetition(repetition);
    builder.with_logical_type(logical).with_fields(fields).build().map(Arc::new).map_err(refused)
}

fn integer(bit_width: i8, is_signed: bool) -> LogicalType {
    LogicalType::integer(bit_width, is_signed)
}

fn timestamp(precision: u8) -> LogicalType {
    let unit = match precision {
        0..=3 => TimeUnit::MILLIS,
        4..=6 => TimeUnit::MICROS,
        _ => TimeUnit::NANOS,
    };
    LogicalType::timestamp(true, unit)
}

/// The bytes of a decimal: as many as the writer of the library makes of this precision.
fn decimal_bytes(precision: u8) -> usize {
    let bits = (10_f64.powi(precision.into()) + 1.0).log2() + 1.0;
    (bits / 8.0).ceil() as usize
}

fn unknown(ty: &SqlType) -> Error {
    Error::new(ErrorCode::UnknownType, format!("Parquet has no type for {ty}"))
}

fn refused(error: ParquetError) -> Error {
    Error::new(ErrorCode::BadArguments, format!("these columns are no Parquet schema: {error}"))
}
