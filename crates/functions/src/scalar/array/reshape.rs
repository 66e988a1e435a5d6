//! Functions that remove or reorder elements: `arraySlice`, `arraySort`, `arrayDistinct` and others.

use std::collections::HashSet;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use basalt_base::{Error, Result, SqlType};

use super::lists::{Keys, Lists, element_of};
use crate::native_order::with_one_nan;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static ARRAY_REVERSE: Definition = Definition::new("arrayReverse", Arity::Exactly(1), |call| {
    rearranged(call, |range, picked| {
        picked.extend(range.rev().map(position));
    })
});

pub(super) static ARRAY_POP_BACK: Definition = Definition::new("arrayPopBack", Arity::Exactly(1), |call| {
    rearranged(call, |range, picked| {
        let end = range.end.saturating_sub(1).max(range.start);
        picked.extend((range.start..end).map(position));
    })
});

pub(super) static ARRAY_POP_FRONT: Definition = Definition::new("arrayPopFront", Arity::Exactly(1), |call| {
    rearranged(call, |range, picked| {
        picked.extend(range.skip(1).map(position));
    })
});

pub(super) static ARRAY_SORT: Definition =
    Definition::new("arraySort", Arity::Exactly(1), |call| sorted(call, false));

pub(super) static ARRAY_REVERSE_SORT: Definition =
    Definition::new("arrayReverseSort", Arity::Exactly(1), |call| sorted(call, true));

/// Removes NULL.
pub(super) static ARRAY_DISTINCT: Definition = Definition::new("arrayDistinct", Arity::Exactly(1), |call| {
    let element = element_of(call, 0)?.stripped().clone();
    let result = SqlType::array_of(element.clone());
    Ok(Bound::new(result, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let keys = Keys::of(lists.elements())?;
        let nulls = lists.elements().logical_nulls();
        let mut seen = HashSet::new();
        lists.rearrange(&element, |_, range, picked| {
            seen.clear();
            let is_present = |index: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*index));
            let fresh = range.filter(is_present).filter(|&index| seen.insert(keys.get(index)));
            picked.extend(fresh.map(position));
        })
    }))
});

/// Keeps the first of equal neighbours.
pub(super) static ARRAY_COMPACT: Definition = Definition::new("arrayCompact", Arity::Exactly(1), |call| {
    let element = element_of(call, 0)?.clone();
    let result = SqlType::array_of(element.clone());
    Ok(Bound::new(result, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let keys = Keys::of(&with_one_nan(lists.elements()))?;
        lists.rearrange(&element, |_, range, picked| {
            let start = range.start;
            let differs = |&index: &usize| index == start || keys.get(index) != keys.get(index - 1);
            picked.extend(range.filter(differs).map(position));
        })
    }))
});

/// `arraySlice(array, offset, length)`: negative values count from the end.
pub(super) static ARRAY_SLICE: Definition =
    Definition::new("arraySlice", Arity::Between(2, 3), bind_slice).sees_null();

/// Elements are numbered in 32 bits, like the offsets of lists.
fn position(index: usize) -> u32 {
    index as u32
}

fn rearranged(call: &Call<'_>, pick: fn(Range<usize>, &mut Vec<u32>)) -> Result<Bound> {
    let element = element_of(call, 0)?.clone();
    let result = SqlType::array_of(element.clone());
    Ok(Bound::new(result, move |operands: &[Operand], rows: usize| {
        Lists::of(&operands[0], rows)?.rearrange(&element, |_, range, picked| pick(range, picked))
    }))
}

/// NULL comes after NaN, and both come after all other values, in either direction.
fn sorted(call: &Call<'_>, descending: bool) -> Result<Bound> {
    let element = element_of(call, 0)?.clone();
    let result = SqlType::array_of(element.clone());
    Ok(Bound::new(result, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let keys = Keys::of_type(lists.elements(), &element)?;
        let rank = last_ranks(lists.elements());
        lists.rearrange(&element, |_, range, picked| {
            let start = picked.len();
            picked.extend(range.map(position));
            picked[start..].sort_by(|&left, &right| {
                let (left, right) = (left as usize, right as usize);
                let by_key = keys.get(left).cmp(keys.get(right));
                rank(left).cmp(&rank(right)).then(if descending { by_key.reverse() } else { by_key })
            });
        })
    }))
}

/// 0 for a plain value, 1 for NaN, 2 for NULL.
fn last_ranks(elements: &ArrayRef) -> impl Fn(usize) -> u8 {
    let nulls = elements.logical_nulls();
    let nan: Option<Vec<bool>> = match elements.data_type() {
        DataType::Float32 => {
            Some(elements.as_primitive::<Float32Type>().values().iter().map(|value| value.is_nan()).collect())
        }
        DataType::Float64 => {
            Some(elements.as_primitive::<Float64Type>().values().iter().map(|value| value.is_nan()).collect())
        }
        _ => None,
    };
    move |index| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)) {
            return 2;
        }
        u8::from(nan.as_ref().is_some_and(|nan| nan[index]))
    }
}

fn bind_slice(call: &Call<'_>) -> Result<Bound> {
    let element = element_of(call, 0)?.clone();
    for index in 1..call.len() {
        let ty = call.ty(index).stripped();
        if !ty.is_integer() && *ty != SqlType::Nothing {
            return Err(call.illegal(index));
        }
    }
    let result = SqlType::array_of(element.clone());
    Ok(Bound::new(result, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let numbers =
            |operand: &Operand| cast(&operand.full(rows)?, &DataType::Int64).map_err(Error::of_arrow);
        let offsets = numbers(&operands[1])?;
        let lengths = operands.get(2).map(numbers).transpose()?;
        let number = |array: &ArrayRef, row: usize| {
            let array = array.as_primitive::<Int64Type>();
            array.is_valid(row).then(|| array.value(row))
        };
        lists.rearrange(&element, |row, range, picked| {
            let offset = number(&offsets, row);
            let length = lengths.as_ref().and_then(|lengths| number(lengths, row));
            let slice = slice_range(range.len() as i64, offset, length);
            picked.extend(slice.map(|index| position(range.start + index)));
        })
    }))
}

/// The range of a slice; `None` means from the start, or to the end.
fn slice_range(count: i64, offset: Option<i64>, length: Option<i64>) -> Range<usize> {
    let start = match offset {
        None => 0,
        // Positions count from 1: there is no element 0.
        Some(0) => return 0..0,
        Some(offset) if offset > 0 => offset - 1,
        Some(offset) => count.saturating_add(offset),
    };
    let end = match length {
        None => count,
        Some(length) if length >= 0 => start.saturating_add(length),
        Some(length) => count.saturating_add(length),
    };
    let (start, end) = (start.clamp(0, count), end.clamp(0, count));
    start as usize..end.max(start) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_clickhouse() {
        let slice = |count, offset, length| slice_range(count, Some(offset), length);
        assert_eq!(slice(4, 2, Some(2)), 1..3);
        assert_eq!(slice(4, -2, None), 2..4);
        assert_eq!(slice(4, 2, Some(-1)), 1..3);
        assert_eq!(slice(4, -3, Some(2)), 1..3);
        assert!(slice(3, 0, Some(2)).is_empty());
        assert!(slice(3, 5, None).is_empty());
        assert_eq!(slice(3, -5, Some(3)), 0..1);
        assert!(slice(3, i64::MIN, Some(1)).is_empty());
        assert_eq!(slice(3, 1, Some(i64::MAX)), 0..3);
    }
}
