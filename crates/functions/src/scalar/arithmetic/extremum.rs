//! `greatest`, `least`, `max2`, `min2`: the largest and the smallest argument of each row.
//!
//! Syntax: `greatest(a, b, ...)`. The result has the common type of the arguments; NULLs are ignored, and the result
//! is NULL only if all arguments are. A number replaces NaN. As in ClickHouse, the second of two arguments is the
//! result unless the first is strictly better. `max2` and `min2` take two numbers as floats.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::{SortOptions, is_not_null, is_null, kernels::zip::zip};
use arrow::datatypes::Float64Type;
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::wide;
use crate::native_order::swap_halves;
use crate::scalar::conversion::Converter;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::wrap_to;
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
        super::zip::zip::<Float64Type, Float64Type>(args, rows, f)
    }))
}

fn bind(call: &Call<'_>, wanted: Ordering) -> Result<Bound> {
    let types: Vec<&SqlType> = (0..call.len()).map(|index| call.ty(index)).collect();
    let ty = common_type(types.iter().copied()).ok_or_else(|| {
        if wide::applies(call) && call.len() == 2 {
            return call.illegal_types();
        }
        let names: Vec<String> = types.iter().map(ToString::to_string).collect();
        let text = format!("`{}` finds no type that holds values of {}", call.name, names.join(", "));
        Error::new(ErrorCode::NoCommonType, text)
    })?;
    let is_wide = |ty: &SqlType| matches!(ty, SqlType::Int64 | SqlType::UInt64);
    if ty.is_float() && types.iter().any(|ty| is_wide(ty)) && call.len() == 2 {
        return Err(call.illegal_types());
    }
    let converters: Vec<Converter> =
        types.iter().map(|from| Converter::new(from, &ty, call.context)).collect::<Result<_>>()?;
    let is_uuid = *ty.stripped() == SqlType::Uuid;
    let is_pair_of_floats = ty.is_float() && call.len() == 2;
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let mut best: Option<ArrayRef> = None;
        for (arg, converter) in args.iter().zip(&converters) {
            let next = converter.convert(&arg.full(rows)?)?;
            let next = if is_uuid { swap_halves(&next) } else { next };
            best = Some(match best {
                None => next,
                Some(best) if is_pair_of_floats => choose_float(&best, &next, wanted)?,
                Some(best) => choose(&best, &next, wanted)?,
            });
        }
        let best = best.ok_or_else(|| Error::logical("an extremum of no arguments"))?;
        Ok(if is_uuid { swap_halves(&best) } else { best })
    }))
}

/// For each row, the value of `left` or `right` that compares as `wanted` with the other.
fn choose(left: &ArrayRef, right: &ArrayRef, wanted: Ordering) -> Result<ArrayRef> {
    // NULL inside an array is neither the largest nor the smallest; NULL itself is handled below.
    let options = SortOptions { descending: false, nulls_first: wanted == Ordering::Greater };
    let compare = make_comparator(left, right, options).map_err(Error::logical)?;
    let (left_nan, right_nan) = (nans_of(left)?, nans_of(right)?);
    let (left_null, right_null) = (is_null(left), is_not_null(right));
    let (left_null, right_there) = (left_null.map_err(Error::logical)?, right_null.map_err(Error::logical)?);
    let takes_right: BooleanArray = (0..left.len())
        .map(|row| {
            let is_nan = |nans: &Option<BooleanArray>| nans.as_ref().is_some_and(|nans| nans.value(row));
            let wins = match (is_nan(&left_nan), is_nan(&right_nan)) {
                (false, false) => compare(row, row) == wanted.reverse(),
                (left_nan, right_nan) => left_nan && !right_nan,
            };
            Some(right_there.value(row) && (left_null.value(row) || wins))
        })
        .collect();
    zip(&takes_right, right, left).map_err(Error::of_arrow)
}

/// For each row, the left float if it compares as `wanted` with the right one, else the right one.
fn choose_float(left: &ArrayRef, right: &ArrayRef, wanted: Ordering) -> Result<ArrayRef> {
    let (ours, theirs) = (wrap_to::<Float64Type>(left)?, wrap_to::<Float64Type>(right)?);
    let stays = |(left, right): (&f64, &f64)| left.partial_cmp(right) == Some(wanted);
    let takes_right: BooleanArray =
        ours.values().iter().zip(theirs.values()).map(|pair| Some(!stays(pair))).collect();
    zip(&takes_right, right, left).map_err(Error::of_arrow)
}

/// The rows that are NaN; `None` if the type is not a float.
pub(in crate::scalar) fn nans_of(array: &ArrayRef) -> Result<Option<BooleanArray>> {
    if !array.data_type().is_floating() {
        return Ok(None);
    }
    let floats = wrap_to::<Float64Type>(array)?;
    Ok(Some(floats.values().iter().map(|float| Some(float.is_nan())).collect()))
}
