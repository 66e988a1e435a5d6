//! `ifNull`, `nullIf`, `coalesce`, `isNull`, `isNotNull`, `isNullable`, `assumeNotNull`, `toNullable`,
//! `isZeroOrNull`: functions about NULL.
//!
//! Syntax: `ifNull(x, instead)`, `coalesce(x, ...)`, `nullIf(a, b)`, `isNull(x)`. A NULL argument alone does not make
//! their result NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt8Array};
use arrow::compute::{cast, is_not_null, kernels::zip::zip, nullif};
use arrow::datatypes::{DataType, Float64Type};
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use super::branch::is_true;
use crate::scalar::comparison::Comparison;
use crate::scalar::conversion::Converter;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::wrap_to;
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

pub(super) static IF_NULL: Definition =
    Definition::new("ifNull", Arity::Exactly(2), bind_coalesce).case_insensitive().sees_null();

pub(super) static COALESCE: Definition =
    Definition::new("coalesce", Arity::AtLeast(1), bind_coalesce).case_insensitive().sees_null();

pub(super) static NULL_IF: Definition =
    Definition::new("nullIf", Arity::Exactly(2), bind_null_if).case_insensitive().sees_null();

pub(super) static IS_NULL: Definition = Definition::new("isNull", Arity::Exactly(1), |_| Ok(bind_is_null(1)))
    .case_insensitive()
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static IS_NOT_NULL: Definition =
    Definition::new("isNotNull", Arity::Exactly(1), |_| Ok(bind_is_null(0)))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static IS_NULLABLE: Definition = Definition::new("isNullable", Arity::Exactly(1), |call| {
    let answer = u8::from(call.ty(0).accepts_null());
    Ok(Bound::of(SqlType::UInt8, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt8Array::from_value(answer, rows)))
    }))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

pub(super) static ASSUME_NOT_NULL: Definition = Definition::new("assumeNotNull", Arity::Exactly(1), |call| {
    let ty = call.ty(0).stripped().clone();
    Ok(Bound::new(ty.clone(), move |args: &[Operand], _| fill(&args[0].array, &ty.default_array(1))))
})
.sees_null();

pub(super) static TO_NULLABLE: Definition = Definition::new("toNullable", Arity::Exactly(1), |call| {
    let ty = call.ty(0).clone().into_nullable();
    Ok(Bound::new(ty, |args: &[Operand], _| Ok(Arc::clone(&args[0].array))))
})
.sees_null();

pub(super) static IS_ZERO_OR_NULL: Definition = Definition::new("isZeroOrNull", Arity::Exactly(1), |call| {
    let ty = call.ty(0).stripped();
    if matches!(ty, SqlType::Decimal { .. }) {
        bail!(IllegalColumn, "`{}` takes a number of fixed width, not a {ty}", call.name);
    }
    if !ty.is_number() && *ty != SqlType::Nothing {
        return Err(call.illegal(0));
    }
    Ok(Bound::of(SqlType::UInt8, |args: &[Operand], _| {
        let array = &args[0].array;
        if array.data_type() == &DataType::Null {
            return Ok(Arc::new(UInt8Array::from_value(1, array.len())));
        }
        let numbers = wrap_to::<Float64Type>(array)?;
        let answer = |row| u8::from(numbers.is_null(row) || numbers.value(row) == 0.0);
        Ok(Arc::new(UInt8Array::from_iter_values((0..numbers.len()).map(answer))))
    }))
})
.sees_null();

/// Replaces NULL in `array` by the value of `default`.
fn fill(array: &ArrayRef, default: &ArrayRef) -> Result<ArrayRef> {
    if array.logical_null_count() == 0 {
        return Ok(Arc::clone(array));
    }
    let valid = is_not_null(array).map_err(Error::logical)?;
    let default = arrow::array::Scalar::new(Arc::clone(default));
    zip(&valid, array, &default).map_err(Error::of_arrow)
}

fn bind_is_null(answer_for_null: u8) -> Bound {
    Bound::of(SqlType::UInt8, move |args: &[Operand], _| {
        let array = &args[0].array;
        let nulls = array.logical_nulls();
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let answer = |row| if is_null(row) { answer_for_null } else { 1 - answer_for_null };
        Ok(Arc::new(UInt8Array::from_iter_values((0..array.len()).map(answer))))
    })
}

/// The first value that is not NULL. The result can be NULL only if every argument can.
fn bind_coalesce(call: &Call<'_>) -> Result<Bound> {
    let mut types = Vec::new();
    let mut taken = Vec::new();
    let mut nullable = true;
    for index in 0..call.len() {
        let ty = call.ty(index);
        if ty.stripped() == &SqlType::Nothing {
            continue;
        }
        types.push(ty.stripped().clone());
        taken.push(index);
        // Arguments after one that is never NULL are not used.
        if !ty.accepts_null() {
            nullable = false;
            break;
        }
    }
    if taken.is_empty() {
        let ty = SqlType::Nothing.into_nullable();
        return Ok(Bound::of(ty, |_: &[Operand], rows| Ok(Arc::new(arrow::array::NullArray::new(rows)))));
    }
    let common = common_type(&types).ok_or_else(|| {
        let what = format!("the arguments of `{}` have no common type", call.name);
        Error::new(ErrorCode::TypeMismatch, what)
    })?;
    let keeps_bytes = common == SqlType::String && types.iter().all(SqlType::is_string);
    let target = common.clone().into_nullable();
    let converters: Vec<Converter> = taken
        .iter()
        .map(|&index| Converter::new(call.ty(index), &target, call.context))
        .collect::<Result<_>>()?;
    let ty = if nullable { target } else { common };
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let value = |at: usize| -> Result<ArrayRef> {
            let array = args[taken[at]].full(rows)?;
            match (array.data_type(), keeps_bytes) {
                // The zero bytes of a FixedString are kept.
                (DataType::FixedSizeBinary(_), true) => {
                    cast(&array, &DataType::BinaryView).map_err(Error::logical)
                }
                _ => converters[at].convert(&array),
            }
        };
        let mut result = value(0)?;
        for at in 1..taken.len() {
            if result.null_count() == 0 {
                break;
            }
            let valid = is_not_null(&result).map_err(Error::logical)?;
            result = zip(&valid, &result, &value(at)?).map_err(Error::of_arrow)?;
        }
        Ok(result)
    }))
}

fn bind_null_if(call: &Call<'_>) -> Result<Bound> {
    let ty = call.ty(0).clone().into_nullable();
    let comparison = Comparison::equality(call)?;
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let equal: BooleanArray = is_true(&comparison.evaluate(args, rows)?)?;
        nullif(&args[0].full(rows)?, &equal).map_err(Error::of_arrow)
    }))
}
