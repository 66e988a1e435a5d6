//! `greatest`, `least`, `max2`, `min2`: the largest and the smallest of the arguments in a row.
//!
//! Syntax: `greatest(a, b, ...)`. The result has the common type of the arguments; NULLs are left out
//! and the result is NULL only if all arguments are. `max2` and `min2` take two numbers as floats.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::{SortOptions, is_not_null, is_null, kernels::zip::zip};
use arrow::datatypes::Float64Type;
use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType};

use super::binary;
use crate::scalar::conversion::Converter;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, Operand};

pub(super) static GREATEST: Definition =
    Definition::new("greatest", Arity::AtLeast(1), |call| bind(call, Ordering::Greater))
        .case_insensitive()
        .sees_null();

pub(super) static LEAST: Definition =
    Definition::new("least", Arity::AtLeast(1), |call| bind(call, Ordering::Less))
        .case_insensitive()
        .sees_null();

pub(super) static MAX2: Definition =
    Definition::new("max2", Arity::Exactly(2), |call| bind_pair(call, f64::max)).case_insensitive();

pub(super) static MIN2: Definition =
    Definition::new("min2", Arity::Exactly(2), |call| bind_pair(call, f64::min)).case_insensitive();

fn bind_pair(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Bound> {
    call.expect_number(0)?;
    call.expect_number(1)?;
    Ok(Bound::new(SqlType::Float64, move |args: &[Operand], rows| {
        binary::zip::<Float64Type, Float64Type>(args, rows, f)
    }))
}

fn bind(call: &Call<'_>, wanted: Ordering) -> Result<Bound> {
    let types: Vec<&SqlType> = (0..call.len()).map(|index| call.ty(index)).collect();
    let ty = common_type(types.iter().copied()).ok_or_else(|| call.illegal_types())?;
    let converters: Vec<Converter> =
        types.iter().map(|from| Converter::new(from, &ty, call.context)).collect::<Result<_>>()?;
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let mut best: Option<ArrayRef> = None;
        for (arg, converter) in args.iter().zip(&converters) {
            let next = converter.convert(&arg.full(rows)?)?;
            best = Some(match best {
                None => next,
                Some(best) => choose(&best, &next, wanted)?,
            });
        }
        best.ok_or_else(|| Error::logical("an extremum of no arguments"))
    }))
}

/// Row by row that of `left` and `right` which is `wanted` against the other.
fn choose(left: &ArrayRef, right: &ArrayRef, wanted: Ordering) -> Result<ArrayRef> {
    // NULL inside of an array is neither the largest nor the smallest; of NULL itself the rows below decide.
    let options = SortOptions { descending: false, nulls_first: wanted == Ordering::Greater };
    let compare = make_comparator(left, right, options).map_err(Error::logical)?;
    let (left_null, right_null) = (is_null(left), is_not_null(right));
    let (left_null, right_there) = (left_null.map_err(Error::logical)?, right_null.map_err(Error::logical)?);
    let takes_right: BooleanArray = (0..left.len())
        .map(|row| {
            Some(right_there.value(row) && (left_null.value(row) || compare(row, row) == wanted.reverse()))
        })
        .collect();
    zip(&takes_right, right, left).map_err(Error::logical)
}
