//! `if`, `multiIf`: one of several values.
//!
//! Syntax: `if(cond, then, else)`, `multiIf(cond, then [, cond, then]..., else)`. Conditions are
//! integers; NULL counts as false. The result has the common type of the branches.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::UInt64Type;
use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType};

use crate::scalar::conversion::Converter;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::wrap_to;
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

pub(super) static IF: Definition = Definition::new("if", Arity::Exactly(3), bind)
    .case_insensitive()
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static MULTI_IF: Definition = Definition::new("multiIf", Arity::AtLeast(3), bind)
    .aliases(&["caseWithoutExpression"])
    .case_insensitive()
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

/// Conditions are at even positions, values at odd ones; the last argument has no condition.
fn bind(call: &Call<'_>) -> Result<Bound> {
    let last = call.len() - 1;
    if !last.is_multiple_of(2) {
        basalt_base::bail!(
            NumberOfArgumentsDoesntMatch,
            "function `{}` takes an odd number of arguments",
            call.name
        );
    }
    for index in (0..last).step_by(2) {
        let condition = call.ty(index).stripped();
        let fits = condition.is_integer() || matches!(condition, SqlType::Bool | SqlType::Nothing);
        if !fits {
            return Err(call.illegal(index));
        }
    }
    let branches: Vec<usize> = (1..last).step_by(2).chain([last]).collect();
    let types = branches.iter().map(|&index| call.ty(index));
    let ty = common_type(types).ok_or_else(|| no_common_type(call))?;
    let converters: Vec<Converter> = branches
        .iter()
        .map(|&index| Converter::new(call.ty(index), &ty, call.context))
        .collect::<Result<_>>()?;
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let value = |branch: usize| converters[branch].convert(&args[branches[branch]].full(rows)?);
        let mut result = value(branches.len() - 1)?;
        for branch in (0..branches.len() - 1).rev() {
            let condition = is_true(&args[branch * 2].full(rows)?)?;
            if condition.true_count() > 0 {
                result = zip(&condition, &value(branch)?, &result).map_err(Error::of_arrow)?;
            }
        }
        Ok(result)
    }))
}

fn no_common_type(call: &Call<'_>) -> Error {
    let types: Vec<String> = call.args.iter().map(|arg| arg.ty.to_string()).collect();
    let what = format!("the branches of `{}` ({}) have no common type", call.name, types.join(", "));
    Error::new(basalt_base::ErrorCode::TypeMismatch, what)
}

/// Whether a condition holds: it is neither zero nor NULL.
pub(in crate::scalar) fn is_true(condition: &ArrayRef) -> Result<BooleanArray> {
    let nulls = condition.logical_nulls();
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    if condition.data_type() == &arrow::datatypes::DataType::Null {
        return Ok(BooleanArray::from(vec![false; condition.len()]));
    }
    if let Some(flags) = condition.as_boolean_opt() {
        return Ok((0..flags.len()).map(|row| Some(flags.value(row) && !is_null(row))).collect());
    }
    let numbers = wrap_to::<UInt64Type>(condition)?;
    Ok((0..numbers.len()).map(|row| Some(numbers.value(row) != 0 && !is_null(row))).collect())
}
