//! Loops over two numeric operands.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use basalt_base::{Result, processor};

use crate::scalar::Operand;
use crate::scalar::number::Number;
use crate::scalar::operand::{Numbers, rows_needed};

/// `f` of the two operands for each row, both as numbers of type `T`.
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

/// A plain loop for each of the three shapes, so that each one vectorizes.
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
