//! `sleep`, `sleepEachRow`, `throwIf`, `ignore`, `isConstant`: functions about the execution of a query.
//!
//! Syntax: `sleep(seconds)`, at most 3 s per block; `sleepEachRow(seconds)` sleeps for each row; `throwIf(x [, message])` fails if `x` is not zero; `ignore(x,
//! ...)` accepts anything and is 0; `isConstant(x)` is 1 if the planner knows the value.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::UInt8Array;
use arrow::datatypes::Float64Type;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, LowCardinality, Operand, Volatility};

const SLEEP_MAX_SECONDS: f64 = 3.0;

pub(super) static SLEEP: Definition =
    Definition::new("sleep", Arity::Exactly(1), bind_sleep).volatility(Volatility::Late);

pub(super) static SLEEP_EACH_ROW: Definition =
    Definition::new("sleepEachRow", Arity::Exactly(1), bind_sleep_each_row).volatility(Volatility::Late);

pub(super) static THROW_IF: Definition =
    Definition::new("throwIf", Arity::Between(1, 2), bind_throw_if).volatility(Volatility::Late);

pub(super) static IGNORE: Definition =
    Definition::new("ignore", Arity::AtLeast(0), |_| Ok(same_everywhere(0)))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static IS_CONSTANT: Definition = Definition::new("isConstant", Arity::Exactly(1), |call| {
    Ok(same_everywhere(u8::from(call.args[0].constant.is_some())))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

fn same_everywhere(value: u8) -> Bound {
    Bound::of(SqlType::UInt8, move |_: &[Operand], rows| Ok(Arc::new(UInt8Array::from_value(value, rows))))
}

/// The time to sleep: a constant, at most 3 s.
fn span_of(call: &Call<'_>) -> Result<Duration> {
    call.expect_number(0)?;
    let name = call.name;
    let seconds = call.constant(0).ok_or_else(|| {
        Error::new(ErrorCode::IllegalColumn, format!("the argument of `{name}` must be a constant"))
    })?;
    let seconds = crate::scalar::number::wrap_to::<Float64Type>(seconds)?.value(0);
    if seconds > SLEEP_MAX_SECONDS {
        bail!(TooSlow, "`{name}({seconds})`: at most {SLEEP_MAX_SECONDS} seconds are allowed");
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        Error::new(ErrorCode::BadArguments, format!("`{name}({seconds})` is not a time to sleep"))
    })
}

fn bind_sleep_each_row(call: &Call<'_>) -> Result<Bound> {
    let span = span_of(call)?;
    Ok(Bound::of(SqlType::UInt8, move |_: &[Operand], rows| {
        let total = span.as_secs_f64() * rows as f64;
        if total > SLEEP_MAX_SECONDS {
            bail!(TooSlow, "`sleepEachRow` sleeps {total} seconds a block, more than {SLEEP_MAX_SECONDS}");
        }
        for _ in 0..rows {
            basalt_base::query::checkpoint()?;
            std::thread::sleep(span);
        }
        Ok(Arc::new(UInt8Array::from_value(0, rows)))
    }))
}

fn bind_sleep(call: &Call<'_>) -> Result<Bound> {
    let span = span_of(call)?;
    Ok(Bound::of(SqlType::UInt8, move |_: &[Operand], rows| {
        if rows > 0 {
            std::thread::sleep(span);
        }
        Ok(Arc::new(UInt8Array::from_value(0, rows)))
    }))
}

fn bind_throw_if(call: &Call<'_>) -> Result<Bound> {
    call.expect_number(0)?;
    let message = if call.len() == 2 {
        call.expect_text(1)?.to_owned()
    } else {
        "the value passed to `throwIf` is not zero".to_owned()
    };
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let numbers = args[0].numbers::<Float64Type>()?;
        let throws = |row: usize| !args[0].is_null(row) && numbers.get(row) != 0.0;
        if (0..rows_needed(args, rows)).any(throws) {
            return Err(Error::new(ErrorCode::ValueIsNonZero, message.clone()));
        }
        Ok(Arc::new(UInt8Array::from_value(0, rows)))
    }))
}
