//! Arithmetic of decimals: scales are aligned, and overflow is DECIMAL_OVERFLOW.
//!
//! A decimal has the width that ClickHouse would give it (32, 64, 128 or 256 bits), and overflow is checked against
//! the width, not the digits. With a float, both sides are floats.
//!
//! As in ClickHouse, products of 128 and 256 bits wrap, including those that align the scales of a sum. With
//! `decimal_check_overflow = 0` everything wraps.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, AsArray, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, DecimalType, Float64Type, Int64Type, i256};
use basalt_base::types::{Arithmetic, DECIMAL128_DIGITS, DECIMAL256_DIGITS};
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use super::wide;
use super::zero::Zero;
use super::zip::zip;
use crate::scalar::definition::Call;
use crate::scalar::number::{Number, with_integer, wrap_to};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Bound, Operand};

/// The digits of the widest decimal in 64 bits.
const WORD_DIGITS: u8 = 18;

/// Whether this module handles an operation on these types.
pub(super) fn applies(left: &SqlType, right: &SqlType) -> bool {
    matches!(left, SqlType::Decimal { .. }) || matches!(right, SqlType::Decimal { .. })
}

pub(super) fn bind(call: &Call<'_>, op: Arithmetic, zero: Zero) -> Result<Bound> {
    let (left, right) = (call.ty(0), call.ty(1));
    if wide::applies(call) {
        return bind_wide(call, op, zero);
    }
    if !left.is_number() || !right.is_number() {
        return Err(call.illegal_types());
    }
    if left.is_float() || right.is_float() {
        return Ok(bind_floats(op));
    }
    let plan =
        Plan { checks: call.context.settings.decimal_check_overflow(), zero, ..Plan::of(op, left, right)? };
    if plan.precision <= DECIMAL128_DIGITS {
        bind_width::<Decimal128Type>(plan, left)
    } else {
        bind_width::<Decimal256Type>(plan, left)
    }
}

/// A decimal with a wide integer, which counts as a decimal of scale 0.
fn bind_wide(call: &Call<'_>, op: Arithmetic, zero: Zero) -> Result<Bound> {
    let types = [call.ty(0).clone(), call.ty(1).clone()];
    if op == Arithmetic::IntDiv && types[0].wide().is_some() {
        return Err(wide::unsupported(call));
    }
    let plan = Plan {
        checks: call.context.settings.decimal_check_overflow(),
        zero,
        ..Plan::of(op, &types[0], &types[1])?
    };
    let is_narrow = plan.precision <= DECIMAL128_DIGITS;
    let (bound, carrier) = match is_narrow {
        true => (bind_width::<Decimal128Type>(plan, &types[0])?, Decimal128Type::DEFAULT_TYPE),
        false => (bind_width::<Decimal256Type>(plan, &types[0])?, Decimal256Type::DEFAULT_TYPE),
    };
    let kernel = bound.kernel;
    Ok(Bound::new(bound.return_type, move |args: &[Operand], rows| {
        kernel.evaluate(&wide::as_decimals(&types, args, &carrier)?, rows)
    }))
}

fn bind_floats(op: Arithmetic) -> Bound {
    Bound::new(SqlType::Float64, move |args: &[Operand], rows| match op {
        Arithmetic::Plus => zip::<Float64Type, Float64Type>(args, rows, |a, b| a + b),
        Arithmetic::Minus => zip::<Float64Type, Float64Type>(args, rows, |a, b| a - b),
        Arithmetic::Multiply => zip::<Float64Type, Float64Type>(args, rows, |a, b| a * b),
        Arithmetic::Modulo => zip::<Float64Type, Float64Type>(args, rows, |a, b| a % b),
        Arithmetic::Divide | Arithmetic::IntDiv => zip::<Float64Type, Float64Type>(args, rows, |a, b| a / b),
    })
}

/// How the scales of one operation are aligned.
#[derive(Clone, Copy, Debug)]
struct Plan {
    op: Arithmetic,
    /// 9, 18, 38 or 76: the maximum digits of the width.
    precision: u8,
    scale: u8,
    left_scale: u8,
    right_scale: u8,
    /// Whether overflow is an error.
    checks: bool,
    zero: Zero,
}

impl Plan {
    fn of(op: Arithmetic, left: &SqlType, right: &SqlType) -> Result<Plan> {
        let parts = |ty: &SqlType| match ty {
            SqlType::Decimal { precision, scale } => (*precision, *scale),
            _ => (0, 0),
        };
        let ((left_precision, left_scale), (right_precision, right_scale)) = (parts(left), parts(right));
        let precision = width_digits(left_precision.max(right_precision));
        let scale = match op {
            Arithmetic::Multiply => left_scale + right_scale,
            Arithmetic::Divide if left_precision > 0 => left_scale,
            Arithmetic::Divide => right_scale,
            Arithmetic::IntDiv => 0,
            Arithmetic::Plus | Arithmetic::Minus | Arithmetic::Modulo => left_scale.max(right_scale),
        };
        let divides = matches!(op, Arithmetic::Divide | Arithmetic::IntDiv | Arithmetic::Modulo);
        if divides && left_precision > 0 && right_scale > left_scale {
            bail!(
                ArgumentOutOfBound,
                "the scale of the result, {left_scale}, is less than that of the divisor, {right_scale}"
            );
        }
        if scale > precision {
            bail!(ArgumentOutOfBound, "scale {scale} of the result is more than its {precision} digits");
        }
        Ok(Plan { op, precision, scale, left_scale, right_scale, checks: true, zero: Zero::Fails })
    }

    /// The powers of ten that scale the two sides before the operation.
    fn shifts(&self) -> (u8, u8) {
        let common = self.left_scale.max(self.right_scale);
        match self.op {
            Arithmetic::Multiply => (0, 0),
            Arithmetic::Divide => (self.scale + self.right_scale - self.left_scale, 0),
            _ => (common - self.left_scale, common - self.right_scale),
        }
    }
}

/// The maximum digits of the narrowest width for `precision` digits.
pub(in crate::scalar) fn width_digits(precision: u8) -> u8 {
    match precision {
        0..=9 => 9,
        10..=18 => 18,
        19..=DECIMAL128_DIGITS => DECIMAL128_DIGITS,
        _ => DECIMAL256_DIGITS,
    }
}

/// The unscaled numbers of decimals.
pub(in crate::scalar) trait Unscaled: ArrowNativeTypeOp + Send + Sync {
    fn from_i128(value: i128) -> Self;
    /// Whether the number fits the width with that many digits.
    fn fits(self, precision: u8) -> bool;
    /// The number truncated to the width.
    fn wrapped(self, precision: u8) -> Self;
    /// The low 64 bits.
    fn low_bits(self) -> i64;
    fn power_of_ten(exponent: u8) -> Option<Self>;
}

impl Unscaled for i128 {
    fn from_i128(value: i128) -> i128 {
        value
    }

    fn fits(self, precision: u8) -> bool {
        match precision {
            0..=9 => i32::try_from(self).is_ok(),
            10..=18 => i64::try_from(self).is_ok(),
            _ => true,
        }
    }

    fn wrapped(self, precision: u8) -> i128 {
        match precision {
            0..=9 => i128::from(self as i32),
            10..=18 => i128::from(self as i64),
            _ => self,
        }
    }

    fn low_bits(self) -> i64 {
        self as i64
    }

    fn power_of_ten(exponent: u8) -> Option<i128> {
        10_i128.checked_pow(u32::from(exponent))
    }
}

impl Unscaled for i256 {
    fn from_i128(value: i128) -> i256 {
        i256::from_i128(value)
    }

    fn fits(self, _precision: u8) -> bool {
        true
    }

    fn wrapped(self, _precision: u8) -> i256 {
        self
    }

    fn low_bits(self) -> i64 {
        self.as_i128() as i64
    }

    fn power_of_ten(exponent: u8) -> Option<i256> {
        i256::from_i128(10).checked_pow(u32::from(exponent))
    }
}

/// The unscaled numbers of decimals or integers, in the width of `D`.
pub(in crate::scalar) fn unscaled<D>(array: &dyn Array) -> Result<Vec<D::Native>>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    if let Some(same) = array.as_primitive_opt::<D>() {
        return Ok(same.values().to_vec());
    }
    if let Some(narrow) = array.as_primitive_opt::<Decimal128Type>() {
        return Ok(narrow.values().iter().map(|&value| D::Native::from_i128(value)).collect());
    }
    if array.as_boolean_opt().is_some() {
        let numbers = wrap_to::<Int64Type>(array)?;
        return Ok(numbers.values().iter().map(|&value| D::Native::from_i128(value.into())).collect());
    }
    with_integer!(array.data_type(), F => {
        Ok(array.as_primitive::<F>().values().iter().map(|value| D::Native::from_i128(value.to_i128())).collect())
    }, Err(Error::logical(format!("{} is not the carrier of a decimal", array.data_type()))))
}

fn bind_width<D>(plan: Plan, left: &SqlType) -> Result<Bound>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    let (precision, scale) = (plan.precision, plan.scale);
    if plan.op == Arithmetic::IntDiv {
        let ty = quotient_type(left, precision);
        let carrier = ty.carrier();
        return Ok(Bound::new(ty, move |args: &[Operand], rows| {
            let values = compute::<D>(plan, args, rows)?;
            let whole =
                PrimitiveArray::<Int64Type>::from_iter_values(values.iter().map(|value| value.low_bits()));
            with_integer!(carrier, T => Ok(Arc::new(wrap_to::<T>(&whole)?) as ArrayRef), Ok(Arc::new(whole) as ArrayRef))
        }));
    }
    Ok(Bound::of(SqlType::Decimal { precision, scale }, move |args: &[Operand], rows| {
        let array = PrimitiveArray::<D>::new(compute::<D>(plan, args, rows)?.into(), None);
        let array = array.with_precision_and_scale(precision, scale as i8).map_err(Error::logical)?;
        Ok(Arc::new(array))
    }))
}

/// The type of an integer quotient, which has the dividend's width.
fn quotient_type(left: &SqlType, precision: u8) -> SqlType {
    match (left, left.fixed_bytes()) {
        (SqlType::Decimal { .. }, _) if precision <= 9 => SqlType::Int32,
        (SqlType::Decimal { .. }, _) => SqlType::Int64,
        (_, Some(1)) => SqlType::Int8,
        (_, Some(2)) => SqlType::Int16,
        (_, Some(4)) => SqlType::Int32,
        _ => SqlType::Int64,
    }
}

fn compute<D>(plan: Plan, args: &[Operand], rows: usize) -> Result<Vec<D::Native>>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    let rows = rows_needed(args, rows);
    let (left, right) = (unscaled::<D>(&args[0].array)?, unscaled::<D>(&args[1].array)?);
    let (left_shift, right_shift) = plan.shifts();
    let power = |exponent| D::Native::power_of_ten(exponent).ok_or_else(overflow);
    let (left_factor, right_factor) = (power(left_shift)?, power(right_shift)?);
    let nulls = nulls_of(args, rows);
    let mut values = Vec::with_capacity(rows);
    for row in 0..rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            values.push(D::Native::default());
            continue;
        }
        let (a, b) = (left[args[0].index(row)], right[args[1].index(row)]);
        if b.is_zero() && matches!(plan.op, Arithmetic::Divide | Arithmetic::IntDiv | Arithmetic::Modulo) {
            match plan.zero {
                Zero::Fails => bail!(IllegalDivision, "division by zero"),
                Zero::GivesZero => values.push(D::Native::default()),
            }
            continue;
        }
        let result = plan.apply((a, left_factor), (b, right_factor));
        values.push(result.ok_or_else(overflow)?);
    }
    Ok(values)
}

impl Plan {
    /// The operation on two numbers, after scaling.
    #[inline]
    fn apply<N: Unscaled>(self, (a, left_factor): (N, N), (b, right_factor): (N, N)) -> Option<N> {
        let (a, b) = (self.fitted(Some(a), a)?, self.fitted(Some(b), b)?);
        // Overflow of the dividend is checked in every width.
        let a = match self.op {
            Arithmetic::Divide | Arithmetic::IntDiv => {
                self.fitted(a.mul_checked(left_factor).ok(), a.mul_wrapping(left_factor))?
            }
            _ => self.product(a, left_factor)?,
        };
        let b = self.product(b, right_factor)?;
        match self.op {
            Arithmetic::Plus => self.fitted(a.add_checked(b).ok(), a.add_wrapping(b)),
            Arithmetic::Minus => self.fitted(a.sub_checked(b).ok(), a.sub_wrapping(b)),
            Arithmetic::Multiply => self.product(a, b),
            Arithmetic::Divide | Arithmetic::IntDiv => self.fitted(a.div_checked(b).ok(), a.div_wrapping(b)),
            Arithmetic::Modulo => self.fitted(a.mod_checked(b).ok(), a.mod_wrapping(b)),
        }
    }

    /// `a * b`. As in ClickHouse, overflow is checked only up to 64 bits.
    #[inline]
    fn product<N: Unscaled>(self, a: N, b: N) -> Option<N> {
        let wrapped = a.mul_wrapping(b);
        if self.precision > WORD_DIGITS { Some(wrapped) } else { self.fitted(Some(wrapped), wrapped) }
    }

    /// The exact result if it fits, or the wrapped one if overflow is not checked.
    #[inline]
    fn fitted<N: Unscaled>(self, exact: Option<N>, wrapped: N) -> Option<N> {
        if self.checks {
            exact.filter(|value| value.fits(self.precision))
        } else {
            Some(wrapped.wrapped(self.precision))
        }
    }
}

fn overflow() -> Error {
    Error::new(ErrorCode::DecimalOverflow, "the result does not fit its decimal type")
}
