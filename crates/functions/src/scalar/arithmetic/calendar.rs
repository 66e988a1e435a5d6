//! Sums and differences of dates and times.
//!
//! A `Date` counts days, a `DateTime` and a `DateTime64` count seconds: `date + 1` is the next day. The difference of
//! two dates is in days, of two times in seconds. For an INTERVAL, functions such as `addMonths` are called.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use basalt_base::types::{Arithmetic, IntervalUnit};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::zip::zip_values;
use crate::scalar::date;
use crate::scalar::definition::Call;
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Argument, Bound, Operand, ScalarFunction};

/// The operation if one side is a date, a time or an interval; `None` for numbers.
pub(super) fn bind(call: &Call<'_>, op: Arithmetic) -> Result<Option<Bound>> {
    let (left, right) = (call.ty(0), call.ty(1));
    if let (SqlType::Interval(unit), true) = (right, left.is_date_or_time()) {
        return bind_interval(call, op, *unit, 0).map(Some);
    }
    if let (SqlType::Interval(unit), true) = (left, right.is_date_or_time() && op == Arithmetic::Plus) {
        return bind_interval(call, op, *unit, 1).map(Some);
    }
    if left.is_date_or_time() && right.is_date_or_time() {
        return bind_difference(call, op).map(Some);
    }
    let steps = |ty: &SqlType| ty.is_number() && !matches!(ty, SqlType::Decimal { .. });
    match op {
        Arithmetic::Plus | Arithmetic::Minus if left.is_date_or_time() && steps(right) => {
            Ok(Some(bind_step(left, 0, op == Arithmetic::Minus)))
        }
        Arithmetic::Plus if right.is_date_or_time() && steps(left) => Ok(Some(bind_step(right, 1, false))),
        _ => Ok(None),
    }
}

/// `time +- INTERVAL`: calls the function for the unit, for example `addMonths`.
fn bind_interval(call: &Call<'_>, op: Arithmetic, unit: IntervalUnit, time_at: usize) -> Result<Bound> {
    let verb = match op {
        Arithmetic::Plus => "add",
        Arithmetic::Minus => "subtract",
        _ => return Err(call.illegal_types()),
    };
    let name = format!("{verb}{unit}s");
    let function = date::ALL.iter().find(|function| function.name() == name);
    let function: &dyn ScalarFunction = *function.ok_or_else(|| call.illegal_types())?;
    let span = &call.args[1 - time_at];
    let span = Argument { ty: SqlType::Int64, constant: span.constant.clone() };
    let Bound { return_type, kernel } = function.bind(&[call.args[time_at].clone(), span], call.context)?;
    Ok(Bound::new(return_type, move |args: &[Operand], rows| {
        kernel.evaluate(&[args[time_at].clone(), args[1 - time_at].clone()], rows)
    }))
}

fn bind_difference(call: &Call<'_>, op: Arithmetic) -> Result<Bound> {
    let (left, right) = (call.ty(0), call.ty(1));
    if op != Arithmetic::Minus {
        return Err(call.illegal_types());
    }
    match (left, right) {
        (SqlType::Date, SqlType::Date) | (SqlType::DateTime(_), SqlType::DateTime(_)) => {
            Ok(Bound::of(SqlType::Int32, |args: &[Operand], rows| {
                let (left, right) = (args[0].numbers::<Int64Type>()?, args[1].numbers::<Int64Type>()?);
                let rows = rows_needed(args, rows);
                let days = zip_values(&left, &right, rows, |a, b| a.wrapping_sub(b) as i32);
                Ok(Arc::new(PrimitiveArray::<Int32Type>::new(days.into(), None)))
            }))
        }
        (SqlType::DateTime64 { .. }, SqlType::DateTime64 { .. } | SqlType::DateTime(_))
        | (SqlType::DateTime(_), SqlType::DateTime64 { .. }) => Ok(bind_ticks(ticks(left), ticks(right))),
        _ => Err(call.illegal_types()),
    }
}

/// Decimal digits of a second.
fn ticks(ty: &SqlType) -> u8 {
    if let SqlType::DateTime64 { precision, .. } = ty { *precision } else { 0 }
}

/// The difference of two times in fractions of a second.
fn bind_ticks(left_scale: u8, right_scale: u8) -> Bound {
    let (precision, scale) = (18, left_scale.max(right_scale));
    let factor = |own: u8| 10_i64.pow(u32::from(scale - own));
    let (left_factor, right_factor) = (factor(left_scale), factor(right_scale));
    Bound::of(SqlType::Decimal { precision, scale }, move |args: &[Operand], rows| {
        let (left, right) = (args[0].numbers::<Int64Type>()?, args[1].numbers::<Int64Type>()?);
        let rows = rows_needed(args, rows);
        let difference = |row: usize| {
            let (a, b) = (left.get(row).checked_mul(left_factor)?, right.get(row).checked_mul(right_factor)?);
            a.checked_sub(b).map(i128::from)
        };
        let values = unless_null(args, rows, difference)?;
        let array = PrimitiveArray::<Decimal128Type>::new(values.into(), None);
        let array = array.with_precision_and_scale(precision, scale as i8).map_err(Error::logical)?;
        Ok(Arc::new(array))
    })
}

/// `time +- number`, in the units of the time. Days and seconds wrap as their carrier does; ticks do not wrap, nor
/// does a number beyond 63 bits.
fn bind_step(time: &SqlType, time_at: usize, subtract: bool) -> Bound {
    let factor = 10_i64.pow(u32::from(ticks(time)));
    let has_ticks = matches!(time, SqlType::DateTime64 { .. });
    let carrier = time.carrier();
    Bound::new(time.clone(), move |args: &[Operand], rows| {
        let times = args[time_at].numbers::<Int64Type>()?;
        let steps = args[1 - time_at].numbers::<Int64Type>()?;
        let rows = rows_needed(args, rows);
        let is_wide = *args[1 - time_at].array.data_type() == DataType::UInt64;
        if !has_ticks && !is_wide {
            let sign = if subtract { -1 } else { 1 };
            let step = |time: i64, step: i64| time.wrapping_add(step.wrapping_mul(sign));
            return narrow(&carrier, zip_values(&times, &steps, rows, step));
        }
        let stepped = |row: usize| {
            let (time, step) = (times.get(row), steps.get(row));
            if is_wide && step < 0 {
                return None;
            }
            match (has_ticks, subtract) {
                (false, false) => Some(time.wrapping_add(step)),
                (false, true) => Some(time.wrapping_sub(step)),
                (true, false) => step.checked_mul(factor).and_then(|ticks| time.checked_add(ticks)),
                (true, true) => step.checked_mul(factor).and_then(|ticks| time.checked_sub(ticks)),
            }
        };
        narrow(&carrier, unless_null(args, rows, stepped)?)
    })
}

/// The value of each row, or DECIMAL_OVERFLOW if there is none. Rows with a NULL are skipped.
fn unless_null<T: Default>(
    args: &[Operand],
    rows: usize,
    value: impl Fn(usize) -> Option<T>,
) -> Result<Vec<T>> {
    let nulls = nulls_of(args, rows);
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    (0..rows)
        .map(|row| match value(row) {
            Some(value) => Ok(value),
            None if is_null(row) => Ok(T::default()),
            None => Err(Error::new(ErrorCode::DecimalOverflow, "the time is beyond those that its type has")),
        })
        .collect()
}

/// Numbers truncated to the carrier of a date or a time.
fn narrow(carrier: &DataType, values: Vec<i64>) -> Result<ArrayRef> {
    let wide: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), None));
    Ok(match carrier {
        DataType::UInt16 => Arc::new(crate::scalar::number::wrap_to::<UInt16Type>(&wide)?),
        DataType::UInt32 => Arc::new(crate::scalar::number::wrap_to::<UInt32Type>(&wide)?),
        DataType::Int32 => Arc::new(crate::scalar::number::wrap_to::<Int32Type>(&wide)?),
        _ => Arc::new(wide.as_primitive::<Int64Type>().clone()),
    })
}
