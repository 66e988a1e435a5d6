//! Bits of integers of 128 and 256 bits.

use std::sync::Arc;

use arrow::array::{UInt8Array, UInt16Array};
use arrow::datatypes::Int64Type;
use basalt_base::types::{U256, Wide, WideNumber, integer_of};
use basalt_base::{Result, SqlType, bail};

use super::wide::unsupported;
use crate::scalar::definition::Call;
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::whole::{Wholes, collect_whole, is_whole, wholes_of};
use crate::scalar::{Bound, Operand};

/// The direction of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left,
    Right,
}

/// The type of an operation on the bits of two integers: as wide as the wider one, signed if one is.
fn common_bits(left: &SqlType, right: &SqlType) -> SqlType {
    let is_signed = |ty: &SqlType| ty.is_signed_whole() == Some(true);
    let bytes = left.fixed_bytes().max(right.fixed_bytes()).unwrap_or(1);
    integer_of(is_signed(left) || is_signed(right), bytes as u32 * u8::BITS)
}

pub(super) fn bind_pair(call: &Call<'_>, f: fn(U256, U256) -> U256) -> Result<Bound> {
    let (left, right) = (call.ty(0).clone(), call.ty(1).clone());
    if !is_whole(&left) || !is_whole(&right) {
        return Err(call.illegal_types());
    }
    let ty = common_bits(&left, &right);
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (left, right) = (Wholes::of(&left, &args[0])?, Wholes::of(&right, &args[1])?);
        collect_whole(&ty, (0..rows).map(|row| f(left.get(row).bits(), right.get(row).bits())))
    }))
}

pub(super) fn bind_not(wide: Wide) -> Bound {
    let ty = SqlType::Wide(wide);
    Bound::new(ty.clone(), move |args: &[Operand], _| {
        let wholes = wholes_of(&ty, &args[0].array)?;
        collect_whole(&ty, wholes.into_iter().map(|number| !number.bits()))
    })
}

/// As in ClickHouse, a wide number is shifted, but no number by a wide one.
pub(super) fn bind_shift(call: &Call<'_>, shift: Shift) -> Result<Bound> {
    call.expect_integer(1)
        .map_err(|error| if call.ty(1).wide().is_some() { unsupported(call) } else { error })?;
    let (wide, from) = match call.ty(0).wide() {
        Some(wide) => (wide, call.ty(0).clone()),
        None => return Err(call.illegal(0)),
    };
    let ty = common_bits(call.ty(0), call.ty(1));
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (values, steps) = (Wholes::of(&from, &args[0])?, args[1].numbers::<Int64Type>()?);
        let nulls = nulls_of(args, rows);
        let mut shifted = Vec::with_capacity(rows);
        for row in 0..rows {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            shifted.push(if is_null {
                U256::ZERO
            } else {
                shift.apply(values.get(row), steps.get(row), wide)?
            });
        }
        collect_whole(&ty, shifted.into_iter())
    }))
}

impl Shift {
    /// 0 if shifted by the width of the type or more.
    fn apply(self, number: WideNumber, by: i64, wide: Wide) -> Result<U256> {
        let Ok(by) = u32::try_from(by) else {
            if by < 0 {
                bail!(ArgumentOutOfBound, "a shift by {by} bits: the number must not be negative");
            }
            return Ok(U256::ZERO);
        };
        let bits = number.bits();
        Ok(match self {
            _ if by >= wide.bits() => U256::ZERO,
            Shift::Left => bits << by,
            // The sign is shifted in.
            Shift::Right if number.is_negative() => !(!bits >> by),
            Shift::Right => bits >> by,
        })
    }
}

/// Up to 256, which is more than a UInt8 holds.
pub(super) fn bind_count(wide: Wide) -> Bound {
    let ty = SqlType::Wide(wide);
    let spare = U256::BITS - wide.bits();
    let count = move |number: WideNumber| (number.bits() << spare).count_ones();
    match wide {
        Wide::Int128 | Wide::UInt128 => Bound::new(SqlType::UInt8, move |args: &[Operand], _| {
            let wholes = wholes_of(&ty, &args[0].array)?;
            Ok(Arc::new(UInt8Array::from_iter_values(wholes.into_iter().map(|number| count(number) as u8)))
                as _)
        }),
        Wide::Int256 | Wide::UInt256 => Bound::new(SqlType::UInt16, move |args: &[Operand], _| {
            let wholes = wholes_of(&ty, &args[0].array)?;
            Ok(Arc::new(UInt16Array::from_iter_values(wholes.into_iter().map(|number| count(number) as u16)))
                as _)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_shifted_in_from_the_left() {
        let shift = |shift: Shift, number: i128, by| {
            Wide::Int128.wrap(shift.apply(WideNumber::from(number), by, Wide::Int128).unwrap())
        };
        assert_eq!(shift(Shift::Right, -8, 1), WideNumber::from(-4));
        assert_eq!(shift(Shift::Left, 1, 127), WideNumber::from(i128::MIN));
        assert_eq!(shift(Shift::Right, -1, 128), WideNumber::default());
        assert!(Shift::Left.apply(WideNumber::from(1), -1, Wide::Int128).is_err());
    }
}
