//! `intDiv`, `modulo` and their forms with integers of 128 and 256 bits.
//!
//! A remainder is exact. For a quotient with a signed side, ClickHouse reads the dividend's bits, and those of a
//! divisor that is not narrower, as signed numbers of their widths; so does Basalt.

use arrow::array::ArrayRef;
use arrow::datatypes::Float64Type;
use basalt_base::types::{Arithmetic, U256, WideNumber, arithmetic_type, integer_of};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::division::{Operation, remainder};
use super::wide::{bind_floats, unsupported};
use super::zero::Zero;
use crate::scalar::definition::Call;
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::whole::{Wholes, as_floats, collect_whole, is_whole};
use crate::scalar::{Bound, Operand};

pub(super) fn bind(call: &Call<'_>, operation: Operation, zero: Zero) -> Result<Bound> {
    let (left, right) = (call.ty(0), call.ty(1));
    if !(is_whole(left) && is_whole(right)) {
        let are_numbers = [left, right].iter().all(|ty| is_whole(ty) || ty.is_float());
        return match operation {
            _ if !are_numbers => Err(call.illegal_types()),
            Operation::Quotient => bind_float_quotient(call, zero),
            Operation::Remainder => bind_floats(call, remainder),
            Operation::PositiveRemainder => bind_floats(call, |a, b| a - b * (a / b).floor()),
        };
    }
    let ty = result_type(operation, left, right).ok_or_else(|| unsupported(call))?;
    let division = Division { operation, zero, sides: [Side::of(left), Side::of(right)] };
    let (left, right) = (left.clone(), right.clone());
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (left, right) = (Wholes::of(&left, &args[0])?, Wholes::of(&right, &args[1])?);
        let nulls = nulls_of(args, rows);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let value = if is_null {
                Ok(WideNumber::default())
            } else {
                division.divide(left.get(row), right.get(row))
            };
            values.push(value?.bits());
        }
        collect_whole(&ty, values.into_iter())
    }))
}

fn result_type(operation: Operation, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let (divisor, bits) = (Side::of(right), Side::of(right).bits);
    match operation {
        Operation::Quotient => arithmetic_type(Arithmetic::IntDiv, left, right),
        // A remainder with the sign of the dividend needs a wider type than the divisor's.
        Operation::Remainder if Side::of(left).is_signed => {
            Some(integer_of(true, if bits < 64 { bits * 2 } else { bits }))
        }
        _ => Some(integer_of(false, divisor.bits)),
    }
}

/// Sign and width of an operand.
#[derive(Clone, Copy, Debug)]
struct Side {
    is_signed: bool,
    bits: u32,
}

impl Side {
    fn of(ty: &SqlType) -> Side {
        let bits = ty.fixed_bytes().unwrap_or(1) as u32 * u8::BITS;
        Side { is_signed: ty.is_signed_whole().unwrap_or(false), bits }
    }

    fn least(self) -> WideNumber {
        match self.is_signed {
            true => WideNumber::of_bits(U256::ONE << (self.bits - 1), self.bits, true),
            false => WideNumber::default(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Division {
    operation: Operation,
    zero: Zero,
    sides: [Side; 2],
}

impl Division {
    fn divide(self, a: WideNumber, b: WideNumber) -> Result<WideNumber> {
        let [left, right] = self.sides;
        if b.is_zero() {
            return self.illegal("division by zero");
        }
        let minus_one = WideNumber::from(-1_i128);
        if left.is_signed && right.is_signed && b == minus_one && a == left.least() {
            return self.illegal("division of the lowest signed number by minus one");
        }
        let found = match self.operation {
            Operation::Quotient => {
                let (a, b) = self.as_signed(a, b);
                a.quotient(b)
            }
            Operation::Remainder => a.remainder(b),
            Operation::PositiveRemainder => match a.remainder(b) {
                Some(rest) if rest.is_negative() && b == right.least() => {
                    return self.illegal("a positive remainder of the lowest signed number");
                }
                Some(rest) if rest.is_negative() => {
                    Some(WideNumber::of_magnitude(b.magnitude() - rest.magnitude(), false))
                }
                rest => rest,
            },
        };
        match found {
            Some(value) => Ok(value),
            None => self.illegal("division by zero"),
        }
    }

    /// The numbers that ClickHouse divides.
    fn as_signed(self, a: WideNumber, b: WideNumber) -> (WideNumber, WideNumber) {
        let [left, right] = self.sides;
        if !left.is_signed && !right.is_signed {
            return (a, b);
        }
        let signed = |number: WideNumber, bits| WideNumber::of_bits(number.bits(), bits, true);
        (signed(a, left.bits), signed(b, left.bits.max(right.bits)))
    }

    fn illegal(self, what: &str) -> Result<WideNumber> {
        match self.zero {
            Zero::GivesZero => Ok(WideNumber::default()),
            Zero::Fails => Err(Error::new(ErrorCode::IllegalDivision, what)),
        }
    }
}

/// The truncated quotient of floats: an integer as wide as a wide dividend, and an Int64 for a float.
fn bind_float_quotient(call: &Call<'_>, zero: Zero) -> Result<Bound> {
    let types = [call.ty(0).clone(), call.ty(1).clone()];
    let ty = match call.ty(0).wide() {
        Some(wide) => integer_of(true, wide.bits()),
        None if call.ty(0).is_float() => SqlType::Int64,
        None => return Err(unsupported(call)),
    };
    let result = ty.clone();
    Ok(Bound::new(ty, move |args: &[Operand], rows| -> Result<ArrayRef> {
        let rows = rows_needed(args, rows);
        let sides = [as_floats(&types[0], &args[0])?, as_floats(&types[1], &args[1])?];
        let (left, right) = (sides[0].numbers::<Float64Type>()?, sides[1].numbers::<Float64Type>()?);
        let nulls = nulls_of(args, rows);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (a, b) = (left.get(row), right.get(row));
            let quotient = WideNumber::of_float(a / b).filter(|_| b.is_finite());
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            values.push(match quotient {
                _ if is_null => U256::ZERO,
                Some(quotient) => quotient.bits(),
                None if b == 0.0 && zero == Zero::GivesZero => U256::ZERO,
                None => {
                    let what = "whole division by zero, or of an infinite number";
                    return Err(Error::new(ErrorCode::IllegalDivision, what));
                }
            });
        }
        collect_whole(&result, values.into_iter())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: i128) -> WideNumber {
        WideNumber::from(value)
    }

    fn divide(
        operation: Operation,
        left: (bool, u32),
        right: (bool, u32),
        a: i128,
        b: i128,
    ) -> Result<WideNumber> {
        let side = |(is_signed, bits)| Side { is_signed, bits };
        let division = Division { operation, zero: Zero::Fails, sides: [side(left), side(right)] };
        division.divide(number(a), number(b))
    }

    #[test]
    fn a_quotient_with_a_signed_side_is_one_of_signed_numbers() {
        let quotient = |left, right, a, b| divide(Operation::Quotient, left, right, a, b).unwrap();
        assert_eq!(quotient((false, 8), (true, 128), 200, 3), number(-18));
        assert_eq!(quotient((false, 128), (true, 8), 7, -3), number(-2));
        assert_eq!(
            quotient((false, 64), (false, 128), i128::from(u64::MAX), 3),
            number(i128::from(u64::MAX) / 3)
        );
    }

    #[test]
    fn remainders_are_exact() {
        let of = |operation, a, b| divide(operation, (true, 128), (true, 128), a, b);
        assert_eq!(of(Operation::Remainder, -7, 3).unwrap(), number(-1));
        assert_eq!(of(Operation::PositiveRemainder, -7, 3).unwrap(), number(2));
        assert!(of(Operation::Remainder, i128::MIN, -1).is_err());
        assert!(of(Operation::Remainder, 1, 0).is_err());
        assert_eq!(of(Operation::PositiveRemainder, 1, i128::MIN).unwrap(), number(1));
        assert!(of(Operation::PositiveRemainder, -1, i128::MIN).is_err());
    }
}
