//! `intDiv`, `intDivOrZero`, `modulo`, `moduloOrZero`, `positiveModulo`: integer quotients and remainders.
//!
//! Syntax: `intDiv(a, b)`. Division by zero is an error (ILLEGAL_DIVISION), or 0 in the `OrZero` forms; the remainder
//! of floats is then `nan`. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use basalt_base::types::{Arithmetic, arithmetic_type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::zero::Zero;
use super::zip::zip;
use super::{decimal, wide, wide_division};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, native_carrier, with_number};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Converter, Kernel, Operand};

/// The maximum digits of a 32-bit decimal in ClickHouse.
const DECIMAL32_DIGITS: u8 = 9;

pub(super) static INT_DIV: Definition =
    Definition::new("intDiv", Arity::Exactly(2), |call| bind(call, Operation::Quotient, Zero::Fails));

pub(super) static INT_DIV_OR_ZERO: Definition = Definition::new("intDivOrZero", Arity::Exactly(2), |call| {
    bind(call, Operation::Quotient, Zero::GivesZero)
});

pub(super) static MODULO: Definition =
    Definition::new("modulo", Arity::Exactly(2), |call| bind(call, Operation::Remainder, Zero::Fails))
        .aliases(&["mod"])
        .case_insensitive();

pub(super) static MODULO_OR_ZERO: Definition = Definition::new("moduloOrZero", Arity::Exactly(2), |call| {
    bind(call, Operation::Remainder, Zero::GivesZero)
});

pub(super) static POSITIVE_MODULO: Definition =
    Definition::new("positiveModulo", Arity::Exactly(2), |call| {
        bind(call, Operation::PositiveRemainder, Zero::Fails)
    })
    .aliases(&["positive_modulo", "pmod"])
    .case_insensitive();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Quotient,
    Remainder,
    PositiveRemainder,
}

fn bind(call: &Call<'_>, operation: Operation, zero: Zero) -> Result<Bound> {
    let (left, right) = (plain_number(operation, call.ty(0)), call.ty(1).clone());
    let is_decimal = decimal::applies(&left, &right);
    if wide::applies(call) && !is_decimal {
        return wide_division::bind(call, operation, zero);
    }
    let floats = left.is_float() || right.is_float();
    let is_whole_of_floats = floats && operation == Operation::Quotient;
    if is_decimal && !is_whole_of_floats {
        if operation == Operation::Remainder && zero == Zero::GivesZero {
            return Err(call.illegal_types());
        }
        let op = if operation == Operation::Quotient { Arithmetic::IntDiv } else { Arithmetic::Modulo };
        return decimal::bind(call, op, zero);
    }
    let ty = result_type(operation, &left, &right).ok_or_else(|| call.illegal_types())?;
    let kernel: Box<dyn Kernel> = match operation {
        Operation::Remainder if floats => {
            Box::new(|args: &[Operand], rows| zip::<Float64Type, Float64Type>(args, rows, remainder))
        }
        Operation::PositiveRemainder if floats => Box::new(|args: &[Operand], rows| {
            zip::<Float64Type, Float64Type>(args, rows, |a, b| a - b * (a / b).floor())
        }),
        Operation::Quotient if floats => {
            let division = Division { operation, zero, domain: Domain::Float, least: 0 };
            let left = Converter::new(&left, &SqlType::Float64, call.context)?;
            let right = Converter::new(&right, &SqlType::Float64, call.context)?;
            with_number!(ty.carrier(), T => Box::new(move |args: &[Operand], rows| {
                let sides = [converted(&args[0], &left)?, converted(&args[1], &right)?];
                division.run::<T>(&sides, rows)
            }), return Err(call.illegal_types()))
        }
        _ => with_number!(ty.carrier(), T => {
            let division = Division { operation, zero, domain: Domain::of(&left, &right), least: least_of(&left) };
            Box::new(move |args: &[Operand], rows| division.run::<T>(args, rows))
        }, return Err(call.illegal_types())),
    };
    Ok(Bound { return_type: ty, kernel })
}

fn converted(operand: &Operand, converter: &Converter) -> Result<Operand> {
    Ok(Operand { array: converter.convert(&operand.array)?, ..operand.clone() })
}

/// The dividend minus the product of the truncated quotient, as in ClickHouse: not the exact remainder, and NaN for
/// an infinite divisor.
pub(super) fn remainder(a: f64, b: f64) -> f64 {
    a - (a / b).trunc() * b
}

/// The remainder of a date or a time is that of its carrier.
fn plain_number(operation: Operation, ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Date if operation != Operation::Quotient => SqlType::UInt16,
        SqlType::DateTime(_) if operation != Operation::Quotient => SqlType::UInt32,
        other => other.clone(),
    }
}

fn result_type(operation: Operation, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    match operation {
        Operation::Quotient => {}
        // A non-negative result needs no sign.
        Operation::PositiveRemainder if right.is_integer() && !left.is_float() => {
            remainder_type(left, right)?;
            return arithmetic_type(Arithmetic::Modulo, &SqlType::UInt64, right);
        }
        _ => return remainder_type(left, right),
    }
    if !left.is_float() && !right.is_float() {
        return arithmetic_type(Arithmetic::IntDiv, left, right);
    }
    if !left.is_number() || !right.is_number() {
        return None;
    }
    // An integer quotient is as wide as its dividend; floats are signed.
    let bytes = match left {
        SqlType::Decimal { precision, .. } if *precision <= DECIMAL32_DIGITS => 4,
        left => left.fixed_bytes()?,
    };
    Some(match bytes {
        1 => SqlType::Int8,
        2 => SqlType::Int16,
        4 => SqlType::Int32,
        _ => SqlType::Int64,
    })
}

/// A remainder has the dividend's sign and the divisor's width.
fn remainder_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let signed = left.is_integer() && !left.is_unsigned();
    if !signed || !(right.is_integer() || *right == SqlType::Bool) {
        return arithmetic_type(Arithmetic::Modulo, left, right);
    }
    Some(match right.fixed_bytes()? {
        1 => SqlType::Int16,
        2 => SqlType::Int32,
        _ => SqlType::Int64,
    })
}

/// The number type of a division: the narrowest that holds both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Domain {
    Small,
    Unsigned,
    Signed,
    /// A UInt64 with a signed number.
    Mixed,
    Float,
}

impl Domain {
    fn of(left: &SqlType, right: &SqlType) -> Domain {
        let unsigned = |ty: &SqlType| ty.is_unsigned() || *ty == SqlType::Bool;
        let small = |ty: &SqlType| unsigned(ty) && *ty != SqlType::UInt64;
        if left.is_float() || right.is_float() {
            Domain::Float
        } else if small(left) && small(right) {
            Domain::Small
        } else if unsigned(left) && unsigned(right) {
            Domain::Unsigned
        } else if native_carrier(left) == UInt64Type::DATA_TYPE
            || native_carrier(right) == UInt64Type::DATA_TYPE
        {
            Domain::Mixed
        } else {
            Domain::Signed
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Division {
    operation: Operation,
    zero: Zero,
    domain: Domain,
    /// The least number of the dividend's type: divided by -1 it overflows.
    least: i128,
}

/// The least number of a signed integer type; 0 for others.
fn least_of(ty: &SqlType) -> i128 {
    match ty.fixed_bytes() {
        Some(bytes @ 1..=8) if ty.is_integer() && !ty.is_unsigned() => -(1 << (8 * bytes - 1)),
        _ => 0,
    }
}

impl Division {
    fn run<O>(self, args: &[Operand], rows: usize) -> Result<ArrayRef>
    where
        O: ArrowPrimitiveType,
        O::Native: Number,
    {
        match self.domain {
            Domain::Small => self.run_in::<UInt32Type, O>(args, rows),
            Domain::Unsigned => self.run_in::<UInt64Type, O>(args, rows),
            Domain::Signed => self.run_in::<Int64Type, O>(args, rows),
            Domain::Mixed => self.run_mixed::<O>(args, rows),
            Domain::Float => self.run_floats::<O>(args, rows),
        }
    }

    fn run_in<T, O>(self, args: &[Operand], rows: usize) -> Result<ArrayRef>
    where
        T: ArrowPrimitiveType,
        T::Native: Number + ArrowNativeTypeOp,
        O: ArrowPrimitiveType,
        O::Native: Number,
    {
        let minus_one = T::Native::from_i64(-1);
        let safe = |b: T::Native| !(b.is_zero() || (T::Native::IS_SIGNED && b == minus_one));
        let (left, right) = (args[0].numbers::<T>()?, args[1].numbers::<T>()?);
        if right.is_constant() && !left.is_constant() && !args[1].is_null(0) && safe(right.get(0)) {
            let values = self.operation.by_constant(left.values(), right.get(0));
            return Ok(Arc::new(PrimitiveArray::<O>::new(values.into(), None)));
        }
        self.run_checked::<O>(args, rows, |row| {
            let (a, b) = (left.get(row), right.get(row));
            if b.is_zero() {
                return self.by_zero();
            }
            if T::Native::IS_SIGNED && b == minus_one {
                return self.by_minus_one(a);
            }
            Ok(self.operation.apply(a, b).wrap())
        })
    }

    fn run_mixed<O>(self, args: &[Operand], rows: usize) -> Result<ArrayRef>
    where
        O: ArrowPrimitiveType,
        O::Native: Number,
    {
        let unsigned = |operand: &Operand| *operand.array.data_type() == UInt64Type::DATA_TYPE;
        let (left, right) = (args[0].numbers::<UInt64Type>()?, args[1].numbers::<UInt64Type>()?);
        let widen = |bits: u64, unsigned| if unsigned { i128::from(bits) } else { i128::from(bits as i64) };
        let (left_unsigned, right_unsigned) = (unsigned(&args[0]), unsigned(&args[1]));
        self.run_checked::<O>(args, rows, |row| {
            let (a, b) = (widen(left.get(row), left_unsigned), widen(right.get(row), right_unsigned));
            if b == 0 {
                return self.by_zero();
            }
            // As in ClickHouse, a divisor beyond 63 bits is interpreted as signed here.
            let is_least = !left_unsigned && a == i128::from(i64::MIN) && b as i64 == -1;
            if is_least && self.operation == Operation::Quotient {
                return self.by_minus_one(i64::MIN);
            }
            let value = match self.operation {
                Operation::Quotient => a / b,
                Operation::Remainder => a % b,
                Operation::PositiveRemainder => a.rem_euclid(b),
            };
            Ok(O::Native::from_i64(value as i64))
        })
    }

    /// An integer quotient of floats.
    fn run_floats<O>(self, args: &[Operand], rows: usize) -> Result<ArrayRef>
    where
        O: ArrowPrimitiveType,
        O::Native: Number,
    {
        let (left, right) = (args[0].numbers::<Float64Type>()?, args[1].numbers::<Float64Type>()?);
        self.run_checked::<O>(args, rows, |row| {
            let (a, b) = (left.get(row), right.get(row));
            if b == 0.0 {
                return self.by_zero();
            }
            let quotient = a / b;
            if b.is_infinite() || !quotient.is_finite() || quotient.abs() >= 9.3e18 {
                return Err(illegal("whole division of an infinite or too large number"));
            }
            Ok(O::Native::from_f64(quotient))
        })
    }

    fn run_checked<O>(
        self,
        args: &[Operand],
        rows: usize,
        divide: impl Fn(usize) -> Result<O::Native>,
    ) -> Result<ArrayRef>
    where
        O: ArrowPrimitiveType,
        O::Native: Number,
    {
        let rows = rows_needed(args, rows);
        let nulls = nulls_of(args, rows);
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let values: Result<Vec<O::Native>> =
            (0..rows).map(|row| if is_null(row) { Ok(O::Native::default()) } else { divide(row) }).collect();
        Ok(Arc::new(PrimitiveArray::<O>::new(values?.into(), None)))
    }

    fn by_zero<N: Number>(self) -> Result<N> {
        if self.zero == Zero::GivesZero { Ok(N::default()) } else { Err(illegal("division by zero")) }
    }

    /// Division by -1: the remainder is 0, the quotient is the negated number. The least number cannot be divided.
    fn by_minus_one<N: Number, M: Number + ArrowNativeTypeOp>(self, a: M) -> Result<N> {
        if self.operation != Operation::Quotient {
            let fails = self.operation == Operation::Remainder && self.zero == Zero::Fails;
            if fails && self.least < 0 && a.to_i128() == self.least {
                return Err(illegal("division of the lowest signed number by minus one"));
            }
            return Ok(N::default());
        }
        let negated = a.neg_wrapping();
        let cut: N = negated.wrap();
        if a != M::default() && cut.to_i128() != negated.to_i128() || (a == negated && a != M::default()) {
            return if self.zero == Zero::GivesZero {
                Ok(N::default())
            } else {
                Err(illegal("division of the lowest signed number by minus one"))
            };
        }
        Ok(cut)
    }
}

fn illegal(what: &str) -> Error {
    Error::new(ErrorCode::IllegalDivision, what)
}
