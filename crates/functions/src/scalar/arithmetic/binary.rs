//! `plus`, `minus`, `multiply`, `divide`: the operators `+`, `-`, `*` and `/`.
//!
//! Syntax: `plus(a, b)`. Numbers of any two types; both are first converted to the result type, which is wide enough
//! for one operation. Integers wrap beyond 64 bits, or the
//! width of a wider one. A date or time plus a number moves by its own units. NULL if an
//! argument is NULL. `/` of numbers is a Float64: `1 / 0` is `inf`.

use arrow::array::{ArrowNativeTypeOp, ArrowPrimitiveType};
use basalt_base::types::{Arithmetic, arithmetic_type};
use basalt_base::{Result, SqlType};

use super::zero::Zero;
use super::zip::zip;
use super::{calendar, decimal, wide};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_number};
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
        return decimal::bind(call, op, Zero::Fails);
    }
    if wide::applies(call) {
        return wide::bind(call, op);
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
        // The result is a float; floats can be divided by zero.
        _ => Box::new(|args: &[Operand], rows| zip::<T, T>(args, rows, |a, b| a.div_wrapping(b))),
    }
}
