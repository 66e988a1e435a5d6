//! `plus`, `minus`, `multiply`, `divide`: the operators `+`, `-`, `*` and `/`.
//!
//! Syntax: `plus(a, b)`. Numbers of any two types; both become the result type first, which is wide
//! enough for one operation, and integers wrap beyond 64 bits. A date or a time takes a number of
//! its own units. NULL if an argument is NULL. `/` of numbers is a Float64: `1 / 0` is `inf`.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};
use basalt_base::processor;
use basalt_base::types::{Arithmetic, arithmetic_type};
use basalt_base::{Result, SqlType};

use super::{calendar, decimal};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_number};
use crate::scalar::operand::{Numbers, rows_needed};
use crate::scalar::{Arity, Bound, Kernel, Operand};

pub(super) static PLUS: Definition =
    Definition::new("plus", Arity::Exactly(2), |call| bind(call, Arithmetic::Plus));

pub(super) static MINUS: Definition =
    Definition::new("minus", Arity::Exactly(2), |call| bind(call, Arithmetic::Minus));

pub(super) static MULTIPLY: Definition =
    Definition::new("multiply", Arity::Exactly(2), |call| bind(call, Arithmetic::Multiply));

pub(super) static DIVIDE: Definition =
    Definition::new("divide", Arity::Exactly(2), |call| bind(call, Arithmetic::Divide));

fn bind(call: &Call<'_>, op: Arithmetic) -> Result<Bound> {
    let (left, right) = (call.ty(0), call.ty(1));
    if let Some(bound) = calendar::bind(call, op)? {
        return Ok(bound);
    }
    if decimal::applies(left, right) {
        return decimal::bind(call, op);
    }
    let ty = arithmetic_type(op, left, right).ok_or_else(|| call.illegal_types())?;
    Ok(Bound { kernel: kernel_for(op, &ty, call)?, return_type: ty })
}

fn kernel_for(op: Arithmetic, ty: &SqlType, call: &Call<'_>) -> Result<Box<dyn Kernel>> {
    with_number!(ty.carrier(), T => Ok(kernel::<T>(op)), Err(call.illegal_types()))
}

fn kernel<T>(op: Arithmetic) -> Box<dyn Kernel>
where
    T: ArrowPrimitiveType,
    T::Native: Number + ArrowNativeTypeOp,
{
    match op {
        Arithmetic::Plus => {
            Box::new(|args: &[Operand], rows| zip::<T, T>(args, rows, |a, b| a.add_wrapping(b)))
        }
        Arithmetic::Minus => {
            Box::new(|args: &[Operand], rows| zip::<T, T>(args, rows, |a, b| a.sub_wrapping(b)))
        }
        Arithmetic::Multiply => {
            Box::new(|args: &[Operand], rows| zip::<T, T>(args, rows, |a, b| a.mul_wrapping(b)))
        }
        // The result is a float, and floats divide by zero.
        _ => Box::new(|args: &[Operand], rows| zip::<T, T>(args, rows, |a, b| a.div_wrapping(b))),
    }
}

/// `f` of the two operands, both as numbers of type `T`, row by row.
pub(in crate::scalar) fn zip<T, O>(
    args: &[Operand],
    rows: usize,
    f: impl Fn(T::Native, T::Native) -> O::Native,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
    O: ArrowPrimitiveType,
{
    let (left, right) = (args[0].numbers::<T>()?, args[1].numbers::<T>()?);
    let values = zip_values(&left, &right, rows_needed(args, rows), f);
    Ok(Arc::new(PrimitiveArray::<O>::new(values.into(), None)))
}

/// A plain loop for each of the three shapes, so that every one of them vectorises.
pub(in crate::scalar) fn zip_values<T: ArrowPrimitiveType, O>(
    left: &Numbers<T>,
    right: &Numbers<T>,
    rows: usize,
    f: impl Fn(T::Native, T::Native) -> O,
) -> Vec<O> {
    processor::run(
        #[inline(always)]
        || zip_shapes(left, right, rows, f),
    )
}

#[inline(always)]
fn zip_shapes<T: ArrowPrimitiveType, O>(
    left: &Numbers<T>,
    right: &Numbers<T>,
    rows: usize,
    f: impl Fn(T::Native, T::Native) -> O,
) -> Vec<O> {
    match (left.is_constant(), right.is_constant()) {
        (false, true) => {
            let b = right.get(0);
            left.values().iter().map(|&a| f(a, b)).collect()
        }
        (true, false) => {
            let a = left.get(0);
            right.values().iter().map(|&b| f(a, b)).collect()
        }
        (false, false) => left.values().iter().zip(right.values()).map(|(&a, &b)| f(a, b)).collect(),
        (true, true) => (0..rows).map(|_| f(left.get(0), right.get(0))).collect(),
    }
}
