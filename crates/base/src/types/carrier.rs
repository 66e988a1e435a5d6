//! The Arrow type that carries each SQL type, and arrays of a type's default value.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, FixedSizeBinaryArray, ListArray, StructArray, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::{DECIMAL128_DIGITS, SqlType, U256};

impl SqlType {
    /// The Arrow type of arrays of this type; see the table in the module documentation.
    pub fn carrier(&self) -> DataType {
        match self {
            SqlType::UInt8 => DataType::UInt8,
            SqlType::UInt16 | SqlType::Date => DataType::UInt16,
            SqlType::UInt32 | SqlType::DateTime(_) | SqlType::Ipv4 => DataType::UInt32,
            SqlType::UInt64 => DataType::UInt64,
            SqlType::Int8 | SqlType::Enum8(_) => DataType::Int8,
            SqlType::Int16 | SqlType::Enum16(_) => DataType::Int16,
            SqlType::Int32 | SqlType::Date32 => DataType::Int32,
            SqlType::Int64 | SqlType::DateTime64 { .. } | SqlType::Interval(_) => DataType::Int64,
            SqlType::Float32 => DataType::Float32,
            SqlType::Float64 => DataType::Float64,
            SqlType::Bool => DataType::Boolean,
            SqlType::String => DataType::BinaryView,
            SqlType::FixedString(bytes) => DataType::FixedSizeBinary(*bytes as i32),
            SqlType::Uuid | SqlType::Ipv6 => DataType::FixedSizeBinary(16),
            SqlType::Wide(wide) => DataType::FixedSizeBinary(wide.bytes() as i32),
            SqlType::Decimal { precision, scale } if *precision <= DECIMAL128_DIGITS => {
                DataType::Decimal128(*precision, *scale as i8)
            }
            SqlType::Decimal { precision, scale } => DataType::Decimal256(*precision, *scale as i8),
            SqlType::Nothing => DataType::Null,
            SqlType::Nullable(inner) | SqlType::LowCardinality(inner) => inner.carrier(),
            SqlType::Array(element) => DataType::List(element.element_field()),
            SqlType::Tuple(_) => DataType::Struct(self.struct_fields()),
            SqlType::Map(..) => {
                DataType::List(Arc::new(Field::new("item", DataType::Struct(self.struct_fields()), false)))
            }
        }
    }

    /// The field of a list whose elements have this type.
    pub fn element_field(&self) -> FieldRef {
        Arc::new(Field::new("item", self.carrier(), self.accepts_null()))
    }

    /// The fields of the struct inside a `Tuple` or a `Map`; none for every other type.
    pub fn struct_fields(&self) -> Fields {
        let field = |name: String, ty: &SqlType| Field::new(name, ty.carrier(), ty.accepts_null());
        match self {
            SqlType::Tuple(elements) => elements
                .iter()
                .enumerate()
                .map(|(index, element)| field((index + 1).to_string(), &element.ty))
                .collect(),
            SqlType::Map(key, value) => {
                Fields::from(vec![field("keys".into(), key), field("values".into(), value)])
            }
            _ => Fields::empty(),
        }
    }

    /// `rows` default values: 0, the empty string or array, the first label of an enum, NULL for a nullable type.
    pub fn default_array(&self, rows: usize) -> ArrayRef {
        match self {
            SqlType::Nullable(_) | SqlType::Nothing => new_null_array(&self.carrier(), rows),
            SqlType::LowCardinality(inner) => inner.default_array(rows),
            SqlType::String => Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(b"", rows))),
            SqlType::FixedString(_) | SqlType::Uuid | SqlType::Ipv6 => {
                let width = self.fixed_bytes().unwrap_or_default();
                let zeroes = vec![0_u8; rows * width];
                Arc::new(FixedSizeBinaryArray::new(width as i32, zeroes.into(), None))
            }
            SqlType::Wide(wide) => {
                let zeroes = wide.encoded(U256::ZERO).repeat(rows);
                Arc::new(FixedSizeBinaryArray::new(wide.bytes() as i32, zeroes.into(), None))
            }
            SqlType::Array(_) | SqlType::Map(..) => empty_lists(&self.carrier(), rows),
            SqlType::Tuple(elements) if elements.is_empty() => {
                Arc::new(StructArray::new_empty_fields(rows, None))
            }
            SqlType::Tuple(elements) => Arc::new(StructArray::new(
                self.struct_fields(),
                elements.iter().map(|element| element.ty.default_array(rows)).collect(),
                None,
            )),
            SqlType::Enum8(values) => {
                let first = values.first().map_or(0, |(_, value)| *value);
                Arc::new(arrow::array::Int8Array::from_value(first, rows))
            }
            SqlType::Enum16(values) => {
                let first = values.first().map_or(0, |(_, value)| *value);
                Arc::new(arrow::array::Int16Array::from_value(first, rows))
            }
            number => zeroes(&number.carrier(), rows),
        }
    }
}

/// `rows` zeroes of a fixed-width Arrow type.
fn zeroes(carrier: &DataType, rows: usize) -> ArrayRef {
    let nulls = new_null_array(carrier, rows);
    // A null array of a fixed-width type has zeroed values: dropping its mask leaves the zeroes.
    let data = nulls.to_data().into_builder().nulls(None);
    // SAFETY: only the validity mask was removed; buffers and length are those of a valid array.
    arrow::array::make_array(unsafe { data.build_unchecked() })
}

fn empty_lists(carrier: &DataType, rows: usize) -> ArrayRef {
    let DataType::List(field) = carrier else {
        unreachable!("arrays and maps are carried by lists");
    };
    let elements = arrow::array::new_empty_array(field.data_type());
    Arc::new(ListArray::new(Arc::clone(field), OffsetBuffer::new_zeroed(rows), elements, None))
}

#[cfg(test)]
mod tests {
    use super::super::Wide;
    use super::*;

    #[test]
    fn defaults_have_the_carrier_type() {
        let types = [
            SqlType::UInt8,
            SqlType::Bool,
            SqlType::String,
            SqlType::FixedString(3),
            SqlType::Uuid,
            SqlType::Ipv6,
            SqlType::Wide(Wide::Int128),
            SqlType::Wide(Wide::UInt256),
            SqlType::Decimal { precision: 40, scale: 2 },
            SqlType::array_of(SqlType::String),
            SqlType::tuple_of([SqlType::Date, SqlType::String.into_nullable()]),
            SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::UInt64)),
            SqlType::String.into_nullable(),
            SqlType::Nothing,
        ];
        for ty in types {
            let array = ty.default_array(3);
            assert_eq!((array.data_type(), array.len()), (&ty.carrier(), 3), "{ty}");
            assert_eq!(array.logical_null_count() > 0, ty.accepts_null(), "{ty}");
        }
    }
}
