//! Functions that search for elements: `has`, `indexOf`, `countEqual`, `hasAny`, `hasAll`.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt8Array, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType};

use super::lists::{Keys, Lists, common_of, convert_lists, element_of};
use crate::native_order::{Nan, ranked};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::pace::Pace;
use crate::scalar::{Arity, Bound, Converter, LowCardinality, Operand};

pub(super) static HAS: Definition =
    Definition::new("has", Arity::Exactly(2), |call| bind_search(call, SearchResult::Has))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static INDEX_OF: Definition =
    Definition::new("indexOf", Arity::Exactly(2), |call| bind_search(call, SearchResult::Position))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static COUNT_EQUAL: Definition =
    Definition::new("countEqual", Arity::Exactly(2), |call| bind_search(call, SearchResult::Count))
        .sees_null();

pub(super) static HAS_ANY: Definition =
    Definition::new("hasAny", Arity::Exactly(2), |call| bind_sets(call, false));

pub(super) static HAS_ALL: Definition =
    Definition::new("hasAll", Arity::Exactly(2), |call| bind_sets(call, true));

/// The result of a search for elements that equal a value. NULL equals NULL here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchResult {
    /// Whether there is such an element.
    Has,
    /// The position of the first, from 1; 0 if there is none.
    Position,
    /// The number of such elements.
    Count,
}

fn bind_search(call: &Call<'_>, result: SearchResult) -> Result<Bound> {
    if let SqlType::Map(key, _) = call.ty(0) {
        let key = key.as_ref().clone();
        return bind_elements(call, result, key, true);
    }
    let element = element_of(call, 0)?.clone();
    bind_elements(call, result, element, false)
}

/// Searches the elements of an array, or the keys of a map.
fn bind_elements(call: &Call<'_>, result: SearchResult, element: SqlType, of_map: bool) -> Result<Bound> {
    let value = &call.args[1].ty;
    let ty = if result == SearchResult::Has { SqlType::UInt8 } else { SqlType::UInt64 };
    let meet = |ty: &SqlType| ty.stripped().is_integer() || ty.stripped().is_float();
    let is_wide = |ty: &SqlType| matches!(ty.stripped(), SqlType::Int64 | SqlType::UInt64);
    let is_float = |ty: &SqlType| ty.stripped().is_float();
    // As floats, 64-bit integers would be rounded.
    let is_rounded = (is_wide(&element) && is_float(value)) || (is_float(&element) && is_wide(value));
    let has_none = common_type([&element, value]).is_none();
    if (has_none || is_rounded) && meet(&element) && meet(value) {
        return Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
            let lists = Lists::shared(&operands[0], rows)?;
            let elements = exact_numbers(&elements_of(&lists, of_map))?;
            let values = exact_numbers(&operands[1].full(rows)?)?;
            answer_all(result, &lists, |row, element| elements[element] == values[row])
        }));
    }
    let are_strings = element.stripped().is_string() && value.stripped().is_string();
    if are_strings && element.stripped() != value.stripped() && !matches!(value, SqlType::LowCardinality(_)) {
        return Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
            let lists = Lists::of(&operands[0], rows)?;
            let elements = all_bytes(&elements_of(&lists, of_map))?;
            let values = all_bytes(&operands[1].full(rows)?)?;
            search(result, &lists, &elements, &values)
        }));
    }
    let common = common_of(call.name, [&element, value])?;
    let of_element = Converter::new(&element, &common, call.context)?;
    let of_value = Converter::new(value, &common, call.context)?;
    Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let lists = Lists::shared(&operands[0], rows)?;
        let elements = of_element.convert(&elements_of(&lists, of_map))?;
        let values = of_value.convert(&operands[1].full(rows)?)?;
        let (elements, values) =
            (ranked(&elements, &common, Nan::Last)?, ranked(&values, &common, Nan::Last)?);
        search(result, &lists, &elements, &values)
    }))
}

fn elements_of(lists: &Lists, of_map: bool) -> ArrayRef {
    match of_map {
        true => Arc::clone(lists.elements().as_struct().column(0)),
        false => Arc::clone(lists.elements()),
    }
}

/// Strings including the trailing zero bytes of a FixedString.
fn all_bytes(strings: &ArrayRef) -> Result<ArrayRef> {
    cast(strings, &DataType::BinaryView).map_err(Error::logical)
}

/// A number whose type has no common type with the other side's.
#[derive(Clone, Copy, PartialEq)]
enum Exact {
    Whole(i128),
    /// Not an integer; NaN equals nothing.
    Float(f64),
}

fn exact_numbers(numbers: &ArrayRef) -> Result<Vec<Option<Exact>>> {
    if numbers.data_type().is_signed_integer() {
        let numbers = cast(numbers, &DataType::Int64).map_err(Error::logical)?;
        let numbers = numbers.as_primitive::<Int64Type>().iter();
        return Ok(numbers.map(|number| number.map(|number| Exact::Whole(number.into()))).collect());
    }
    if numbers.data_type().is_unsigned_integer() {
        let numbers = cast(numbers, &DataType::UInt64).map_err(Error::logical)?;
        let numbers = numbers.as_primitive::<UInt64Type>().iter();
        return Ok(numbers.map(|number| number.map(|number| Exact::Whole(number.into()))).collect());
    }
    let numbers = cast(numbers, &DataType::Float64).map_err(Error::logical)?;
    let exact = |number: f64| match number.fract() == 0.0 && number.abs() < 1e38 {
        true => Exact::Whole(number as i128),
        false => Exact::Float(number),
    };
    Ok(numbers.as_primitive::<Float64Type>().iter().map(|number| number.map(exact)).collect())
}

fn search(result: SearchResult, lists: &Lists, elements: &ArrayRef, values: &ArrayRef) -> Result<ArrayRef> {
    macro_rules! integers {
        ($carrier:ty) => {
            return search_integers::<$carrier>(result, lists, elements, values)
        };
    }
    match elements.data_type() {
        DataType::Float32 => return search_floats::<Float32Type>(result, lists, elements, values),
        DataType::Float64 => return search_floats::<Float64Type>(result, lists, elements, values),
        _ => {}
    }
    if elements.null_count() == 0 && values.null_count() == 0 {
        match elements.data_type() {
            DataType::UInt8 => integers!(UInt8Type),
            DataType::UInt16 => integers!(UInt16Type),
            DataType::UInt32 => integers!(UInt32Type),
            DataType::UInt64 => integers!(UInt64Type),
            DataType::Int8 => integers!(Int8Type),
            DataType::Int16 => integers!(Int16Type),
            DataType::Int32 => integers!(Int32Type),
            DataType::Int64 => integers!(Int64Type),
            DataType::BinaryView => {
                let (elements, values) = (elements.as_binary_view(), values.as_binary_view());
                return answer_all(result, lists, |row, element| {
                    elements.value(element) == values.value(row)
                });
            }
            _ => {}
        }
    }
    let keys = Keys::of_all(&[elements, values])?;
    answer_all(result, lists, |row, element| keys[0].get(element) == keys[1].get(row))
}

fn search_integers<T: ArrowPrimitiveType>(
    result: SearchResult,
    lists: &Lists,
    elements: &ArrayRef,
    values: &ArrayRef,
) -> Result<ArrayRef> {
    let (elements, values) = (elements.as_primitive::<T>().values(), values.as_primitive::<T>().values());
    answer_all(result, lists, |row, element| elements[element] == values[row])
}

/// NaN equals nothing here.
fn search_floats<T: ArrowPrimitiveType>(
    result: SearchResult,
    lists: &Lists,
    elements: &ArrayRef,
    values: &ArrayRef,
) -> Result<ArrayRef> {
    let (elements, values) = (elements.as_primitive::<T>(), values.as_primitive::<T>());
    answer_all(result, lists, |row, element| match (elements.is_null(element), values.is_null(row)) {
        (false, false) => elements.value(element) == values.value(row),
        (one, other) => one && other,
    })
}

#[inline]
fn answer_all(result: SearchResult, lists: &Lists, equal: impl Fn(usize, usize) -> bool) -> Result<ArrayRef> {
    let mut pace = Pace::default();
    let rows = (0..lists.rows()).map(|row| {
        let range = lists.range(row);
        pace.step(range.len())?;
        Ok((row, range))
    });
    Ok(match result {
        SearchResult::Has => {
            let found = |(row, mut range): (usize, Range<usize>)| u8::from(range.any(|at| equal(row, at)));
            Arc::new(UInt8Array::from(rows.map(|row| row.map(found)).collect::<Result<Vec<_>>>()?))
        }
        SearchResult::Position => {
            let place = |(row, mut range): (usize, Range<usize>)| {
                range.position(|at| equal(row, at)).map_or(0, |position| position as u64 + 1)
            };
            Arc::new(UInt64Array::from(rows.map(|row| row.map(place)).collect::<Result<Vec<_>>>()?))
        }
        SearchResult::Count => {
            let count =
                |(row, range): (usize, Range<usize>)| range.filter(|&at| equal(row, at)).count() as u64;
            Arc::new(UInt64Array::from(rows.map(|row| row.map(count)).collect::<Result<Vec<_>>>()?))
        }
    })
}

/// Whether all, or any, elements of the second array are in the first.
fn bind_sets(call: &Call<'_>, all: bool) -> Result<Bound> {
    let (left, right) = (element_of(call, 0)?, element_of(call, 1)?);
    let common = common_of(call.name, [left, right])?;
    let of_left = Converter::new(left, &common, call.context)?;
    let of_right = Converter::new(right, &common, call.context)?;
    Ok(Bound::new(SqlType::UInt8, move |operands: &[Operand], rows: usize| {
        let left = convert_lists(&Lists::shared(&operands[0], rows)?, &of_left, &common)?;
        let right = convert_lists(&Lists::shared(&operands[1], rows)?, &of_right, &common)?;
        let keys = Keys::of_all(&[left.elements(), right.elements()])?;
        let mut set = HashSet::new();
        let answers = (0..rows).map(|row| {
            set.clear();
            set.extend(left.range(row).map(|element| keys[0].get(element)));
            let mut found = right.range(row).map(|element| set.contains(keys[1].get(element)));
            u8::from(if all { found.all(|found| found) } else { found.any(|found| found) })
        });
        Ok(Arc::new(UInt8Array::from_iter_values(answers)) as ArrayRef)
    }))
}
