//! `generateRandom('a UInt8, b String' [, seed [, max_string_length [, max_array_length]]])`: endless random rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, StructArray, make_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::Field;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::types::DECIMAL128_DIGITS;
use basalt_base::{Columns, Error, Result, SqlType, bail};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::arguments::Arguments;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};
use crate::structure::columns_of;
use crate::tables::{Table, VirtualTable};

/// One of so many values of a Nullable type is NULL.
const NULL_SHARE: u32 = 16;
/// Days of the first and the last Date32 since 1970.
const DATE32_DAYS: std::ops::RangeInclusive<i32> = -25_567..=120_529;
/// Bytes of a string, and elements of an array, at most, whatever the arguments say.
const LENGTH_MAX: u64 = 1 << 16;
/// Rows of a block, at most.
const BLOCK_ROWS_MAX: u64 = 65_536;

/// The lengths of strings and arrays, at most.
#[derive(Clone, Copy)]
struct Lengths {
    string: usize,
    array: usize,
}

pub(super) fn generate_random(args: &Arguments<'_>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 4)?;
    let columns = columns_of(&args.text(0)?, "c")?;
    let optional = |at: usize, default: u64| -> Result<u64> {
        if at < args.len() && !args.constant(at)?.0.is_null(0) { args.unsigned(at) } else { Ok(default) }
    };
    let seed = optional(1, rand::rng().random())?;
    let lengths = Lengths {
        string: optional(2, 10)?.min(LENGTH_MAX) as usize,
        array: optional(3, 10)?.min(LENGTH_MAX) as usize,
    };
    // A type without random values is refused before the first row.
    let mut random = StdRng::seed_from_u64(seed);
    columns.iter().try_for_each(|column| values(&column.ty, 0, lengths, &mut random).map(|_| ()))?;
    let all = columns.clone();
    let table =
        VirtualTable::new("GenerateRandom", "_table_function", "generateRandom", &columns, move |request| {
            Ok(Arc::new(RandomSource::new(&all, seed, lengths, request)))
        })?;
    Ok(Arc::new(table))
}

struct RandomSource {
    columns: Columns,
    projection: Vec<usize>,
    seed: u64,
    lengths: Lengths,
    rows: usize,
}

impl RandomSource {
    fn new(columns: &Columns, seed: u64, lengths: Lengths, request: &ScanRequest) -> RandomSource {
        RandomSource {
            columns: columns.clone(),
            projection: request.columns.clone(),
            seed,
            lengths,
            rows: request.query.settings.max_block_size.clamp(1, BLOCK_ROWS_MAX) as usize,
        }
    }
}

impl BlockSource for RandomSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let (columns, projection) = (self.columns.clone(), self.projection.clone());
        let (lengths, rows) = (self.lengths, self.rows);
        let mut random = StdRng::seed_from_u64(self.seed);
        Ok(Box::new(std::iter::from_fn(move || {
            // All columns are drawn, so that the values of one do not depend on which others are read.
            let arrays: Result<Vec<ArrayRef>> =
                columns.iter().map(|column| values(&column.ty, rows, lengths, &mut random)).collect();
            Some(arrays.and_then(|arrays| {
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let block = RecordBatch::try_new_with_options(columns.to_arrow(), arrays, &options);
                block.and_then(|block| block.project(&projection)).map_err(Error::of_arrow)
            }))
        })))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(1 << 60)
    }

    fn describe(&self) -> String {
        "random rows".to_owned()
    }
}

/// `rows` random values of the type.
fn values(ty: &SqlType, rows: usize, lengths: Lengths, random: &mut StdRng) -> Result<ArrayRef> {
    Ok(match ty {
        SqlType::Bool => Arc::new(BooleanArray::from_iter((0..rows).map(|_| Some(random.random::<bool>())))),
        SqlType::String => {
            let strings = (0..rows).map(|_| {
                let length = random.random_range(0..=lengths.string);
                (0..length).map(|_| random.random_range(b' '..=b'~')).collect::<Vec<u8>>()
            });
            Arc::new(BinaryViewArray::from_iter_values(strings.collect::<Vec<_>>()))
        }
        SqlType::Enum8(names) => {
            let number = |_| names[random.random_range(0..names.len())].1;
            Arc::new(Int8Array::from_iter_values((0..rows).map(number)))
        }
        SqlType::Enum16(names) => {
            let number = |_| names[random.random_range(0..names.len())].1;
            Arc::new(Int16Array::from_iter_values((0..rows).map(number)))
        }
        SqlType::Date32 => {
            Arc::new(Int32Array::from_iter_values((0..rows).map(|_| random.random_range(DATE32_DAYS))))
        }
        SqlType::DateTime64 { precision, .. } => {
            let ticks = 10_i64.pow(u32::from(*precision));
            let number = |_| i64::from(random.random::<u32>()) * ticks + random.random_range(0..ticks);
            Arc::new(Int64Array::from_iter_values((0..rows).map(number)))
        }
        SqlType::Nullable(inner) => {
            let array = values(inner, rows, lengths, random)?;
            let nulls = NullBuffer::from_iter((0..rows).map(|_| random.random_range(0..NULL_SHARE) != 0));
            make_array(array.to_data().into_builder().nulls(Some(nulls)).build().map_err(Error::of_arrow)?)
        }
        SqlType::LowCardinality(inner) => values(inner, rows, lengths, random)?,
        SqlType::Array(inner) => {
            let (offsets, count) = offsets(rows, lengths, random);
            Arc::new(ListArray::new(
                inner.element_field(),
                offsets,
                values(inner, count, lengths, random)?,
                None,
            ))
        }
        SqlType::Map(key, value) => {
            let (offsets, count) = offsets(rows, lengths, random);
            let pairs = vec![values(key, count, lengths, random)?, values(value, count, lengths, random)?];
            let fields = ty.struct_fields();
            let entries = StructArray::new(fields.clone(), pairs, None);
            let item = Arc::new(Field::new_struct("item", fields, false));
            Arc::new(ListArray::new(item, offsets, Arc::new(entries), None))
        }
        SqlType::Tuple(elements) if !elements.is_empty() => {
            let arrays = elements.iter().map(|element| values(&element.ty, rows, lengths, random));
            Arc::new(StructArray::new(ty.struct_fields(), arrays.collect::<Result<_>>()?, None))
        }
        SqlType::Decimal { .. } => decimals(ty, rows, random)?,
        other => any_bits(other, rows, random)?,
    })
}

/// The bounds of `rows` lists, and how many elements they have together.
fn offsets(rows: usize, lengths: Lengths, random: &mut StdRng) -> (OffsetBuffer<i32>, usize) {
    let lengths: Vec<usize> = (0..rows).map(|_| random.random_range(0..=lengths.array)).collect();
    let count = lengths.iter().sum();
    (OffsetBuffer::from_lengths(lengths), count)
}

fn decimals(ty: &SqlType, rows: usize, random: &mut StdRng) -> Result<ArrayRef> {
    let SqlType::Decimal { precision, .. } = ty else {
        bail!(NotImplemented, "random values of type {ty} are not implemented");
    };
    let most = 10_i128.pow(u32::from((*precision).min(DECIMAL128_DIGITS))) - 1;
    let numbers = Decimal128Array::from_iter_values((0..rows).map(|_| random.random_range(-most..=most)));
    arrow::compute::cast(&numbers.with_data_type(wide(ty)), &ty.carrier()).map_err(Error::of_arrow)
}

/// The type of the same scale that holds the digits of the numbers.
fn wide(ty: &SqlType) -> arrow::datatypes::DataType {
    match ty {
        SqlType::Decimal { scale, .. } => {
            arrow::datatypes::DataType::Decimal128(DECIMAL128_DIGITS, (*scale).min(DECIMAL128_DIGITS) as i8)
        }
        other => other.carrier(),
    }
}

/// Values of a type for which any bits are a value.
fn any_bits(ty: &SqlType, rows: usize, random: &mut StdRng) -> Result<ArrayRef> {
    let Some(width) = ty.fixed_bytes() else {
        bail!(NotImplemented, "random values of type {ty} are not implemented");
    };
    let mut bytes = vec![0_u8; rows * width];
    random.fill(&mut bytes[..]);
    let array = ArrayData::builder(ty.carrier()).len(rows).add_buffer(Buffer::from_vec(bytes));
    Ok(make_array(array.align_buffers(true).build().map_err(Error::of_arrow)?))
}
