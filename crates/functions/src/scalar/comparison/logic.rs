//! `and`, `or`, `xor`, `not`: logic over numbers.
//!
//! Syntax: `and(a, b, ...)`. Zero is false, everything else is true. The result is UInt8, or Bool if all arguments
//! are Bool (for `xor`, if one is). NULL is "unknown": `and(0, NULL)` is 0, `and(1, NULL)` is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt8Array};
use arrow::datatypes::Float64Type;
use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::wrap_to;
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

pub(super) static AND: Definition = Definition::new("and", Arity::AtLeast(2), |call| bind(call, and))
    .case_insensitive()
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static OR: Definition = Definition::new("or", Arity::AtLeast(2), |call| bind(call, or))
    .case_insensitive()
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static XOR: Definition = Definition::new("xor", Arity::AtLeast(2), bind_xor)
    .case_insensitive()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static NOT: Definition =
    Definition::new("not", Arity::Exactly(1), |call| bind(call, |value, _| value.map(|value| !value)))
        .case_insensitive();

/// True, false or unknown.
type Truth = Option<bool>;

fn and(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn xor(left: Truth, right: Truth) -> Truth {
    Some(left? != right?)
}

fn bind_xor(call: &Call<'_>) -> Result<Bound> {
    let is_bool = (0..call.len()).any(|index| *call.ty(index).stripped() == SqlType::Bool);
    bind_as(call, xor, is_bool)
}

fn bind(call: &Call<'_>, combine: fn(Truth, Truth) -> Truth) -> Result<Bound> {
    let all_bool = (0..call.len()).all(|index| *call.ty(index).stripped() == SqlType::Bool);
    bind_as(call, combine, all_bool)
}

/// The result is a Bool if `all_bool`.
fn bind_as(call: &Call<'_>, combine: fn(Truth, Truth) -> Truth, all_bool: bool) -> Result<Bound> {
    let mut nullable = false;
    for index in 0..call.len() {
        let ty = call.ty(index).stripped();
        let fits = ty.is_number() && !matches!(ty, SqlType::Decimal { .. }) || *ty == SqlType::Nothing;
        if !fits {
            return Err(call.illegal(index));
        }
        nullable |= call.ty(index).accepts_null();
    }
    let plain = if all_bool { SqlType::Bool } else { SqlType::UInt8 };
    let ty = if nullable { plain.into_nullable() } else { plain };
    Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let truths = args.iter().map(truths_of).collect::<Result<Vec<_>>>()?;
        let values = (0..rows).map(|row| {
            let mut values = args.iter().zip(&truths).map(|(arg, truths)| truths[arg.index(row)]);
            let first = values.next().flatten();
            if truths.len() == 1 { combine(first, None) } else { values.fold(first, combine) }
        });
        Ok(if all_bool {
            Arc::new(values.collect::<BooleanArray>()) as ArrayRef
        } else {
            Arc::new(values.map(|value| value.map(u8::from)).collect::<UInt8Array>())
        })
    }))
}

fn truths_of(operand: &Operand) -> Result<Vec<Truth>> {
    let array = &operand.array;
    if array.data_type() == &arrow::datatypes::DataType::Null {
        return Ok(vec![None; array.len()]);
    }
    let numbers = wrap_to::<Float64Type>(array)?;
    Ok(numbers.iter().map(|number| number.map(|number| number != 0.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_gives_way_to_what_decides() {
        assert_eq!((and(Some(false), None), and(Some(true), None)), (Some(false), None));
        assert_eq!((or(Some(true), None), or(Some(false), None)), (Some(true), None));
        assert_eq!(xor(Some(true), None), None);
    }
}
