//! Test data: types of every carrier, and arrays with values at the edges of each.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, NullArray,
    RecordBatch, RecordBatchOptions, StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    make_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, i256};
use basalt_base::types::{TupleElement, Wide};
use basalt_base::{Column, Columns, SqlType};

/// A fixed sequence of pseudo-random words for each seed (splitmix64).
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// One type of each kind, plain, nullable and nested.
pub(crate) fn types() -> Vec<SqlType> {
    let scalars = vec![
        SqlType::UInt8,
        SqlType::UInt16,
        SqlType::UInt32,
        SqlType::UInt64,
        SqlType::Int8,
        SqlType::Int16,
        SqlType::Int32,
        SqlType::Int64,
        SqlType::Float32,
        SqlType::Float64,
        SqlType::Bool,
        SqlType::String,
        SqlType::FixedString(3),
        SqlType::Uuid,
        SqlType::Ipv6,
        SqlType::Wide(Wide::Int128),
        SqlType::Wide(Wide::UInt256),
        SqlType::Date,
        SqlType::DateTime(None),
        SqlType::Decimal { precision: 9, scale: 2 },
        SqlType::Decimal { precision: 18, scale: 2 },
        SqlType::Decimal { precision: 38, scale: 2 },
        SqlType::Decimal { precision: 60, scale: 2 },
    ];
    let mut types = scalars.clone();
    types.extend(scalars.iter().cloned().map(SqlType::into_nullable));
    types.extend(scalars.iter().cloned().map(SqlType::array_of));
    types.push(SqlType::Nothing);
    types.push(SqlType::LowCardinality(Arc::new(SqlType::String)));
    types.push(SqlType::array_of(SqlType::array_of(SqlType::String.into_nullable())));
    types.push(SqlType::tuple_of([SqlType::String, SqlType::UInt8.into_nullable()]));
    types.push(SqlType::Tuple(Arc::new([TupleElement { name: Some("a".into()), ty: SqlType::UInt64 }])));
    types.push(SqlType::tuple_of([]));
    types.push(SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::array_of(SqlType::UInt16))));
    types
}

/// `rows` values of `ty`, many of them equal.
pub(crate) fn array(ty: &SqlType, rows: usize, noise: &mut Noise) -> ArrayRef {
    match ty {
        SqlType::Nullable(inner) => nullable(inner, rows, noise),
        SqlType::LowCardinality(inner) => array(inner, rows, noise),
        SqlType::Nothing => Arc::new(NullArray::new(rows)),
        SqlType::Array(element) => list(ty, element, rows, noise),
        SqlType::Map(key, value) => {
            let pair = SqlType::tuple_of([key.as_ref().clone(), value.as_ref().clone()]);
            list(ty, &pair, rows, noise)
        }
        SqlType::Tuple(elements) if elements.is_empty() => {
            Arc::new(StructArray::new_empty_fields(rows, None))
        }
        SqlType::Tuple(elements) => {
            let columns = elements.iter().map(|element| array(&element.ty, rows, noise)).collect();
            Arc::new(StructArray::new(ty.struct_fields(), columns, None))
        }
        scalar => scalars(&scalar.carrier(), rows, noise),
    }
}

fn nullable(inner: &SqlType, rows: usize, noise: &mut Noise) -> ArrayRef {
    let values = array(inner, rows, noise);
    // Blocks without NULL are written differently.
    let none_is_null = noise.below(3) == 0;
    let valid: Vec<bool> = (0..rows).map(|_| none_is_null || noise.below(4) > 0).collect();
    let data = values.to_data().into_builder().nulls(Some(NullBuffer::from(valid)));
    make_array(data.build().unwrap())
}

fn list(ty: &SqlType, element: &SqlType, rows: usize, noise: &mut Noise) -> ArrayRef {
    let lengths: Vec<usize> =
        (0..rows).map(|_| if noise.below(50) == 0 { 300 } else { noise.below(4) as usize }).collect();
    let elements = array(element, lengths.iter().sum(), noise);
    let DataType::List(field) = ty.carrier() else { panic!("{ty} is not carried by a list") };
    let elements = match (field.data_type(), elements.data_type()) {
        (DataType::Struct(fields), DataType::Struct(_)) => {
            let columns = elements.as_any().downcast_ref::<StructArray>().unwrap().columns().to_vec();
            Arc::new(StructArray::new(fields.clone(), columns, None)) as ArrayRef
        }
        _ => elements,
    };
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), elements, None))
}

fn scalars(carrier: &DataType, rows: usize, noise: &mut Noise) -> ArrayRef {
    // Small numbers repeat and compress; the shift adds large ones.
    let mut word = || if noise.below(2) == 0 { noise.below(5) } else { noise.next() };
    let mut words = Vec::with_capacity(rows);
    words.resize_with(rows, &mut word);
    let words = words.into_iter();
    match carrier {
        DataType::UInt8 => Arc::new(words.map(|w| w as u8).collect::<UInt8Array>()),
        DataType::UInt16 => Arc::new(words.map(|w| w as u16).collect::<UInt16Array>()),
        DataType::UInt32 => Arc::new(words.map(|w| w as u32).collect::<UInt32Array>()),
        DataType::UInt64 => Arc::new(words.collect::<UInt64Array>()),
        DataType::Int8 => Arc::new(words.map(|w| w as i8).collect::<Int8Array>()),
        DataType::Int16 => Arc::new(words.map(|w| w as i16).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(words.map(|w| w as i32).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(words.map(|w| w as i64).collect::<Int64Array>()),
        DataType::Float32 => Arc::new(words.map(|w| w as f32 / 3.0).collect::<Float32Array>()),
        DataType::Float64 => Arc::new(words.map(|w| w as f64 / 3.0).collect::<Float64Array>()),
        DataType::Boolean => Arc::new(words.map(|w| Some(w % 3 == 0)).collect::<BooleanArray>()),
        DataType::BinaryView => Arc::new(BinaryViewArray::from_iter_values(words.map(string))),
        DataType::FixedSizeBinary(width) => {
            let bytes: Vec<u8> =
                words.flat_map(|w| (0..*width).map(move |at| (w >> (at % 8)) as u8)).collect();
            Arc::new(FixedSizeBinaryArray::new(*width, bytes.into(), None))
        }
        DataType::Decimal128(..) => {
            let values: Decimal128Array = words.map(|w| Some(i128::from(w as i32 % 1000))).collect();
            Arc::new(values.with_data_type(carrier.clone()))
        }
        DataType::Decimal256(..) => {
            let values: Decimal256Array = words.map(|w| Some(i256::from_i128(i128::from(w)))).collect();
            Arc::new(values.with_data_type(carrier.clone()))
        }
        other => panic!("{other} carries no scalar"),
    }
}

/// Strings of every length class: empty, inline in a view, longer, over 255 bytes.
fn string(word: u64) -> Vec<u8> {
    let length = match word % 8 {
        0 => 0,
        1..5 => word % 13,
        5 | 6 => 13 + word % 30,
        _ => 200 + word % 200,
    };
    (0..length).map(|at| (word >> (at % 7)) as u8).collect()
}

/// A table with all types; its columns are called `c0`, `c1` and so on.
pub(crate) fn all_columns() -> Columns {
    types().into_iter().enumerate().map(|(index, ty)| Column::new(format!("c{index}"), ty)).collect()
}

pub(crate) fn batch(columns: &Columns, rows: usize, seed: u64) -> RecordBatch {
    let mut noise = Noise(seed);
    let arrays = columns.iter().map(|column| array(&column.ty, rows, &mut noise)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(columns.to_arrow(), arrays, &options).unwrap()
}
