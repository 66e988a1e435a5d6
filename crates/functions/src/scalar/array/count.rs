//! Functions that number and count elements: `arrayUniq`, `arrayEnumerate`, `arrayEnumerateUniq`,
//! `arrayCount`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::lists::{Keys, Lists, element_of};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// The number of distinct elements; with several arrays, of distinct rows.
pub(super) static ARRAY_UNIQ: Definition = Definition::new("arrayUniq", Arity::AtLeast(1), bind_uniq);

pub(super) static ARRAY_ENUMERATE: Definition =
    Definition::new("arrayEnumerate", Arity::Exactly(1), |call| bind_numbers(call, Numbering::Position));

/// The number of occurrences of the element so far.
pub(super) static ARRAY_ENUMERATE_UNIQ: Definition =
    Definition::new("arrayEnumerateUniq", Arity::Exactly(1), |call| {
        bind_numbers(call, Numbering::Occurrence)
    });

/// The number of the element among the distinct ones.
pub(super) static ARRAY_ENUMERATE_DENSE: Definition =
    Definition::new("arrayEnumerateDense", Arity::Exactly(1), |call| bind_numbers(call, Numbering::Dense));

/// The number of elements that are not zero.
pub(super) static ARRAY_COUNT: Definition = Definition::new("arrayCount", Arity::Exactly(1), |call| {
    if !element_of(call, 0)?.is_number() {
        return Err(call.illegal(0));
    }
    Ok(Bound::new(SqlType::UInt32, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let truths = cast(lists.elements(), &DataType::Boolean).map_err(Error::of_arrow)?;
        let truths = arrow::array::AsArray::as_boolean(&truths).values();
        let count = |row| lists.range(row).filter(|&element| truths.value(element)).count() as u32;
        Ok(Arc::new(UInt32Array::from_iter_values((0..rows).map(count))) as ArrayRef)
    }))
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    Position,
    Occurrence,
    Dense,
}

fn bind_uniq(call: &Call<'_>) -> Result<Bound> {
    for index in 0..call.len() {
        element_of(call, index)?;
    }
    Ok(Bound::new(SqlType::UInt32, move |operands: &[Operand], rows: usize| {
        let lists =
            operands.iter().map(|operand| Lists::of(operand, rows)).collect::<Result<Vec<Lists>>>()?;
        let keys = lists.iter().map(|lists| Keys::of(lists.elements())).collect::<Result<Vec<Keys>>>()?;
        let mut seen = HashSet::new();
        let mut counts = Vec::with_capacity(rows);
        for row in 0..rows {
            expect_same_size(&lists, row)?;
            seen.clear();
            for index in 0..lists[0].len(row) {
                let tuple: Vec<&[u8]> = lists
                    .iter()
                    .zip(&keys)
                    .map(|(list, keys)| keys.get(list.range(row).start + index))
                    .collect();
                seen.insert(tuple);
            }
            counts.push(seen.len() as u32);
        }
        Ok(Arc::new(UInt32Array::from(counts)) as ArrayRef)
    }))
}

/// Arrays that are processed together must have one size in each row.
pub(super) fn expect_same_size(lists: &[Lists], row: usize) -> Result<()> {
    let sizes = |lists: &Lists| lists.len(row);
    match lists.split_first() {
        Some((first, rest)) if rest.iter().any(|list| sizes(list) != sizes(first)) => Err(Error::new(
            ErrorCode::SizesOfArraysDontMatch,
            format!(
                "arrays of one call have one size, got {:?}",
                lists.iter().map(sizes).collect::<Vec<_>>()
            ),
        )),
        _ => Ok(()),
    }
}

fn bind_numbers(call: &Call<'_>, numbering: Numbering) -> Result<Bound> {
    element_of(call, 0)?;
    Ok(Bound::new(SqlType::array_of(SqlType::UInt32), move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let mut numbers = vec![0_u32; lists.elements().len()];
        if numbering == Numbering::Position {
            for row in 0..rows {
                lists.range(row).zip(1..).for_each(|(element, number)| numbers[element] = number);
            }
        } else {
            let keys = Keys::of(lists.elements())?;
            let mut seen: HashMap<&[u8], u32> = HashMap::new();
            for row in 0..rows {
                seen.clear();
                for element in lists.range(row) {
                    let dense = seen.len() as u32 + 1;
                    let entry = seen.entry(keys.get(element)).or_insert(match numbering {
                        Numbering::Dense => dense,
                        _ => 0,
                    });
                    *entry += u32::from(numbering == Numbering::Occurrence);
                    numbers[element] = *entry;
                }
            }
        }
        lists.with_elements(&SqlType::UInt32, Arc::new(UInt32Array::from(numbers)))
    }))
}
