//! Functions that make arrays: `array`, `range`, `arrayConcat`, `arrayPushBack`, `arrayResize` and others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::query::check_allocation;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use super::lists::{Lists, build, chain, common_of, convert_lists, converters, element_of, gather};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::nulls_of;
use crate::scalar::pace::Pace;
use crate::scalar::{Arity, Bound, Converter, LowCardinality, Operand};

/// The maximum number of elements that `range` or `arrayResize` may make per block, as in ClickHouse.
const ELEMENTS_MAX: i64 = 500_000_000;

/// The maximum number of bytes that `arrayWithConstant` may make per block, as in ClickHouse.
const REPEATED_BYTES_MAX: u64 = 1_000_000_000;

/// The common type of all arguments.
pub(super) static ARRAY: Definition =
    Definition::new("array", Arity::AtLeast(0), bind_array).sees_null().low_cardinality(LowCardinality::Seen);

pub(super) static ARRAY_CONCAT: Definition =
    Definition::new("arrayConcat", Arity::AtLeast(1), bind_concat).sees_null();

pub(super) static ARRAY_PUSH_BACK: Definition =
    Definition::new("arrayPushBack", Arity::Exactly(2), |call| bind_push(call, false)).sees_null();

pub(super) static ARRAY_PUSH_FRONT: Definition =
    Definition::new("arrayPushFront", Arity::Exactly(2), |call| bind_push(call, true)).sees_null();

/// `arrayResize(array, length, filler)`: a negative length pads and cuts at the front.
pub(super) static ARRAY_RESIZE: Definition =
    Definition::new("arrayResize", Arity::Between(2, 3), bind_resize).sees_null();

/// `arrayWithConstant(length, value)`.
pub(super) static ARRAY_WITH_CONSTANT: Definition =
    Definition::new("arrayWithConstant", Arity::Exactly(2), bind_with_constant).sees_null();

/// `range(end)`, `range(start, end, step)`.
pub(super) static RANGE: Definition = Definition::new("range", Arity::Between(1, 3), bind_range);

macro_rules! empty_arrays {
    ($($constant:ident $name:literal $ty:expr;)+) => {
        $(pub(super) static $constant: Definition =
            Definition::new($name, Arity::Exactly(0), |_| Ok(empty_of($ty)));)+
    };
}

empty_arrays! {
    EMPTY_UINT8 "emptyArrayUInt8" SqlType::UInt8;
    EMPTY_UINT16 "emptyArrayUInt16" SqlType::UInt16;
    EMPTY_UINT32 "emptyArrayUInt32" SqlType::UInt32;
    EMPTY_UINT64 "emptyArrayUInt64" SqlType::UInt64;
    EMPTY_INT8 "emptyArrayInt8" SqlType::Int8;
    EMPTY_INT16 "emptyArrayInt16" SqlType::Int16;
    EMPTY_INT32 "emptyArrayInt32" SqlType::Int32;
    EMPTY_INT64 "emptyArrayInt64" SqlType::Int64;
    EMPTY_FLOAT32 "emptyArrayFloat32" SqlType::Float32;
    EMPTY_FLOAT64 "emptyArrayFloat64" SqlType::Float64;
    EMPTY_DATE "emptyArrayDate" SqlType::Date;
    EMPTY_DATE_TIME "emptyArrayDateTime" SqlType::DateTime(None);
    EMPTY_STRING "emptyArrayString" SqlType::String;
}

fn empty_of(element: SqlType) -> Bound {
    let ty = SqlType::array_of(element);
    Bound::new(ty.clone(), move |_: &[Operand], rows: usize| Ok(ty.default_array(rows)))
}

fn bind_array(call: &Call<'_>) -> Result<Bound> {
    let element = common_of(call.name, call.args.iter().map(|arg| &arg.ty))?;
    let converters = converters(call.args, &element, call.context)?;
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let width = operands.len();
        let columns = operands
            .iter()
            .zip(&converters)
            .map(|(operand, converter)| {
                Operand { array: converter.convert(&operand.array)?, ..operand.clone() }.full(rows)
            })
            .collect::<Result<Vec<ArrayRef>>>()?;
        if columns.is_empty() {
            return build(&element, new_empty_array(&element.carrier()), vec![0; rows]);
        }
        // By column in the input, by row in the result.
        let picked = (0..rows).flat_map(|row| (0..width).map(move |column| (column * rows + row) as u32));
        gather(&element, &chain(&element, &columns)?, picked.collect(), vec![width; rows])
    }))
}

fn bind_concat(call: &Call<'_>) -> Result<Bound> {
    let elements = (0..call.len()).map(|index| element_of(call, index)).collect::<Result<Vec<_>>>()?;
    let element = common_of(call.name, elements.iter().copied())?;
    let converters = elements
        .iter()
        .map(|from| Converter::new(from, &element, call.context))
        .collect::<Result<Vec<_>>>()?;
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let lists = operands
            .iter()
            .zip(&converters)
            .map(|(operand, converter)| convert_lists(&Lists::of(operand, rows)?, converter, &element))
            .collect::<Result<Vec<Lists>>>()?;
        join(&element, &lists, rows)
    }))
}

/// Concatenates the lists of each row.
fn join(element: &SqlType, lists: &[Lists], rows: usize) -> Result<ArrayRef> {
    let elements: Vec<ArrayRef> = lists.iter().map(|list| Arc::clone(list.elements())).collect();
    let mut picked = Vec::with_capacity(elements.iter().map(|elements| elements.len()).sum());
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let before = picked.len();
        let mut base = 0;
        for list in lists {
            picked.extend(list.range(row).map(|index| (base + index) as u32));
            base += list.elements().len();
        }
        lengths.push(picked.len() - before);
    }
    gather(element, &chain(element, &elements)?, picked, lengths)
}

fn bind_push(call: &Call<'_>, front: bool) -> Result<Bound> {
    let given = element_of(call, 0)?;
    let element = common_of(call.name, [given, &call.args[1].ty])?;
    let of_list = Converter::new(given, &element, call.context)?;
    let of_value = Converter::new(&call.args[1].ty, &element, call.context)?;
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let lists = convert_lists(&Lists::of(&operands[0], rows)?, &of_list, &element)?;
        let values = of_value.convert(&operands[1].full(rows)?)?;
        let values = Lists::of_array(&build(&element, values, vec![1; rows])?)?;
        let both = if front { [values, lists] } else { [lists, values] };
        join(&element, &both, rows)
    }))
}

fn bind_resize(call: &Call<'_>) -> Result<Bound> {
    if call.ty(1).accepts_null() {
        return Err(call.illegal(1));
    }
    call_expects_integer(call, 1)?;
    let given = element_of(call, 0)?;
    let element = match call.args.get(2) {
        Some(filler) => common_of(call.name, [given, &filler.ty])?,
        None => given.clone(),
    };
    let of_list = Converter::new(given, &element, call.context)?;
    let of_filler =
        call.args.get(2).map(|arg| Converter::new(&arg.ty, &element, call.context)).transpose()?;
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let lists = convert_lists(&Lists::of(&operands[0], rows)?, &of_list, &element)?;
        let fillers = match (&of_filler, operands.get(2)) {
            (Some(converter), Some(operand)) => converter.convert(&operand.full(rows)?)?,
            _ => element.default_array(rows),
        };
        let wanted = whole_numbers(&operands[1], rows)?;
        let total: i64 =
            wanted.values().iter().fold(0, |sum, length| sum.saturating_add(length.saturating_abs()));
        check_total("arrayResize", total)?;
        check_allocation(4 * total.unsigned_abs())?;
        let base = lists.elements().len();
        let elements = chain(&element, &[Arc::clone(lists.elements()), fillers])?;
        let mut picked = Vec::with_capacity(total as usize);
        let mut lengths = Vec::with_capacity(rows);
        for row in 0..rows {
            let (range, length) = (lists.range(row), wanted.value(row));
            let count = length.unsigned_abs() as usize;
            let missing = count.saturating_sub(range.len());
            let filler = std::iter::repeat_n((base + row) as u32, missing);
            if length >= 0 {
                picked.extend(range.take(count).map(|index| index as u32));
                picked.extend(filler);
            } else {
                picked.extend(filler);
                let kept = count - missing;
                picked.extend((range.end - kept..range.end).map(|index| index as u32));
            }
            lengths.push(count);
        }
        gather(&element, &elements, picked, lengths)
    }))
}

fn bind_with_constant(call: &Call<'_>) -> Result<Bound> {
    call_expects_integer(call, 0)?;
    let element = call.args[1].ty.full().clone();
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let wanted = whole_numbers(&operands[0], rows)?;
        let values = operands[1].full(rows)?;
        check_repetition(&wanted, &values)?;
        let lengths: Vec<usize> = wanted.values().iter().map(|length| *length as usize).collect();
        let picked =
            lengths.iter().enumerate().flat_map(|(row, &count)| std::iter::repeat_n(row as u32, count));
        gather(&element, &values, picked.collect(), lengths)
    }))
}

/// Refuses negative lengths and results that are too large.
fn check_repetition(lengths: &Int64Array, values: &ArrayRef) -> Result<()> {
    let mut bytes = 0_u64;
    for (row, &length) in lengths.values().iter().enumerate() {
        let Ok(length) = u64::try_from(length) else {
            bail!(TooLargeArraySize, "`arrayWithConstant` takes a length of 0 or more, got {length}");
        };
        let width = value_bytes(values, row);
        bytes = bytes.saturating_add(length.saturating_mul(width));
        if bytes > REPEATED_BYTES_MAX || length > ELEMENTS_MAX as u64 {
            bail!(
                TooLargeArraySize,
                "`arrayWithConstant` would make arrays of {length} elements of {width} bytes: a block has at most \
                 {REPEATED_BYTES_MAX} bytes of them"
            );
        }
    }
    check_allocation(bytes)
}

/// The bytes of one value, including strings and elements.
fn value_bytes(values: &ArrayRef, row: usize) -> u64 {
    if let Some(list) = values.as_list_opt::<i32>() {
        let range = list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
        return 8 + range.map(|element| value_bytes(list.values(), element)).sum::<u64>();
    }
    if let Some(fields) = values.as_struct_opt() {
        return fields.columns().iter().map(|field| value_bytes(field, row)).sum();
    }
    match values.as_binary_view_opt() {
        Some(texts) => 9 + texts.value(row).len() as u64,
        None => values.data_type().primitive_width().unwrap_or(1) as u64,
    }
}

fn call_expects_integer(call: &Call<'_>, index: usize) -> Result<()> {
    if call.ty(index).stripped().is_integer() { Ok(()) } else { Err(call.illegal(index)) }
}

fn whole_numbers(operand: &Operand, rows: usize) -> Result<Int64Array> {
    let numbers = cast(&operand.full(rows)?, &DataType::Int64).map_err(Error::of_arrow)?;
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

fn check_total(function: &str, total: i64) -> Result<()> {
    if total > ELEMENTS_MAX {
        bail!(
            ArgumentOutOfBound,
            "function `{function}` would make {total} elements in one block, the most is {ELEMENTS_MAX}"
        );
    }
    Ok(())
}

fn bind_range(call: &Call<'_>) -> Result<Bound> {
    for index in 0..call.len() {
        call.expect_integer(index)?;
    }
    let element = common_of(call.name, call.args.iter().map(|arg| &arg.ty))?;
    let is_wide = *element.stripped() == SqlType::UInt64;
    let narrow = Converter::new(&SqlType::Int64, &element, call.context)?;
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let numbers =
            operands.iter().map(|operand| operand.numbers::<Int64Type>()).collect::<Result<Vec<_>>>()?;
        // An unsigned 64-bit number may use the highest bit.
        let widened = |number: i64| if is_wide { i128::from(number as u64) } else { i128::from(number) };
        let mut total = 0_i64;
        let mut ranges = Vec::with_capacity(rows);
        let nulls = nulls_of(operands, rows);
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                bail!(BadArguments, "`range` takes no NULL");
            }
            let (start, end, step) = match numbers.as_slice() {
                [end] if widened(end.get(row)) < 0 => return Err(negative_end()),
                [end] => (0, end.get(row), 1),
                [start, end] => (start.get(row), end.get(row), 1),
                [start, end, step, ..] => (start.get(row), end.get(row), step.get(row)),
                [] => (0, 0, 1),
            };
            if step == 0 {
                return Err(Error::new(ErrorCode::ArgumentOutOfBound, "the step of `range` is not 0"));
            }
            let count = range_length(widened(start), widened(end), widened(step));
            total = total.saturating_add(count);
            check_total("range", total)?;
            ranges.push((start, step, count));
        }
        check_allocation(8 * total.unsigned_abs())?;
        let mut values = Vec::with_capacity(total as usize);
        let mut pace = Pace::default();
        for &(start, step, count) in &ranges {
            values.extend((0..count).map(|index| start.wrapping_add(index.wrapping_mul(step))));
            pace.step(count as usize)?;
        }
        let values: ArrayRef = Arc::new(Int64Array::from(values));
        let lengths = ranges.iter().map(|&(_, _, count)| count as usize).collect();
        build(&element, narrow.convert(&values)?, lengths)
    }))
}

fn negative_end() -> Error {
    Error::new(
        ErrorCode::ArgumentOutOfBound,
        "`range` of one argument counts up from 0 to it, and it is negative",
    )
}

/// How many numbers `range(start, end, step)` has; `end` is excluded.
fn range_length(start: i128, end: i128, step: i128) -> i64 {
    let distance = end - start;
    if distance.signum() != step.signum() {
        return 0;
    }
    let count = (distance.abs() + step.abs() - 1) / step.abs();
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_long_as_clickhouse_has_them() {
        assert_eq!(range_length(0, 3, 1), 3);
        assert_eq!(range_length(0, 10, 3), 4);
        assert_eq!(range_length(5, 1, 1), 0);
        assert_eq!(range_length(5, 1, -2), 2);
        assert_eq!(range_length(i64::MIN.into(), i64::MAX.into(), 1), i64::MAX);
        assert_eq!(range_length(0, 10, u64::MAX.into()), 1);
    }
}
