//! Seconds since 1970: `toUnixTimestamp`, `fromUnixTimestamp` and variants for DateTime64.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt32Type, UInt64Type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::best_effort;
use super::format::Pattern;
use super::source::{Source, constant_text, constant_zone, first, illegal_time};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction};

pub(super) static TO_UNIX_TIMESTAMP: Definition =
    Definition::new("toUnixTimestamp", Arity::Between(1, 2), bind_to_unix_timestamp);

fn bind_to_unix_timestamp(call: &Call<'_>) -> Result<Bound> {
    if call.args[0].ty == SqlType::String {
        let zone = call.args.get(1).map(|zone| constant_zone(call.name, zone)).transpose()?;
        let zone = zone.unwrap_or(call.context.zone);
        return Ok(Bound::new(SqlType::UInt32, move |operands: &[Operand], _: usize| {
            best_effort::parse_block(first(operands), zone)
        }));
    }
    if let Some(zone) = call.args.get(1) {
        constant_zone(call.name, zone)?;
    }
    // The zone applies to text: a day begins at midnight in the session's zone.
    let source = Source::new(call.name, &call.args[0].ty, None, call.context)?;
    let ticks = match call.args[0].ty.stripped() {
        SqlType::DateTime64 { precision, .. } => Some(10_i64.pow(u32::from(*precision))),
        _ => None,
    };
    Ok(Bound::new(SqlType::UInt32, move |operands: &[Operand], _: usize| {
        if let Some(ticks) = ticks {
            expect_seconds(first(operands), ticks)?;
        }
        // Fractions of the last second before 1970 count as 0.
        let cut = |second: i64| if ticks.is_some() { second.max(0) } else { second };
        Ok(Arc::new(source.map_instants::<UInt32Type>(first(operands), |second, _| cut(second) as u32))
            as ArrayRef)
    }))
}

/// DECIMAL_OVERFLOW if a time is out of the range of 32-bit seconds.
fn expect_seconds(times: &ArrayRef, ticks: i64) -> Result<()> {
    let beyond = times.as_primitive::<Int64Type>().iter().flatten().find_map(|tick| {
        let seconds = tick / ticks;
        u32::try_from(seconds).is_err().then_some(seconds)
    });
    match beyond {
        None => Ok(()),
        Some(seconds) => Err(Error::new(
            ErrorCode::DecimalOverflow,
            format!(
                "{seconds} seconds since 1970 do not fit UInt32; `toUnixTimestamp64Second` gives an Int64"
            ),
        )),
    }
}

/// `fromUnixTimestamp(seconds)`; with a pattern of `formatDateTime` the result is a string.
pub(super) static FROM_UNIX_TIMESTAMP: Definition =
    Definition::new("fromUnixTimestamp", Arity::Between(1, 3), bind_from_unix_timestamp)
        .aliases(&["FROM_UNIXTIME"])
        .case_insensitive();

fn bind_from_unix_timestamp(call: &Call<'_>) -> Result<Bound> {
    if !call.args[0].ty.is_integer() {
        return Err(Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("function `{}` takes an integer, got {}", call.name, call.args[0].ty),
        ));
    }
    let Some(pattern) = call.args.get(1) else {
        return Ok(Bound::new(SqlType::DateTime(None), |operands: &[Operand], _: usize| {
            to_seconds(first(operands))
        }));
    };
    let pattern = Pattern::parse(call.name, &constant_text(call.name, pattern, "a pattern")?)?;
    let zone = call.args.get(2).map(|zone| constant_zone(call.name, zone)).transpose()?;
    let source = Source::DateTime(zone.unwrap_or(call.context.zone));
    Ok(Bound::new(SqlType::String, move |operands: &[Operand], _: usize| {
        Ok(pattern.print_all(source, &to_seconds(first(operands))?))
    }))
}

fn to_seconds(numbers: &ArrayRef) -> Result<ArrayRef> {
    if let Some(numbers) = numbers.as_primitive_opt::<UInt64Type>() {
        let seconds = numbers.unary::<_, UInt32Type>(|number| number.min(u64::from(u32::MAX)) as u32);
        return Ok(Arc::new(seconds));
    }
    let whole = cast(numbers, &DataType::Int64).map_err(Error::of_arrow)?;
    let seconds = whole.as_primitive::<Int64Type>().unary::<_, UInt32Type>(super::clamp::date_time_of);
    Ok(Arc::new(seconds))
}

/// `fromUnixTimestamp64Milli` and others: a number of ticks as a DateTime64.
pub(super) struct FromUnixTicks {
    name: &'static str,
    precision: u8,
}

pub(super) static FROM_UNIX_SECOND: FromUnixTicks =
    FromUnixTicks { name: "fromUnixTimestamp64Second", precision: 0 };
pub(super) static FROM_UNIX_MILLI: FromUnixTicks =
    FromUnixTicks { name: "fromUnixTimestamp64Milli", precision: 3 };
pub(super) static FROM_UNIX_MICRO: FromUnixTicks =
    FromUnixTicks { name: "fromUnixTimestamp64Micro", precision: 6 };
pub(super) static FROM_UNIX_NANO: FromUnixTicks =
    FromUnixTicks { name: "fromUnixTimestamp64Nano", precision: 9 };

impl ScalarFunction for FromUnixTicks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        Arity::Between(1, 2)
    }

    fn bind(&self, args: &[Argument], _context: &FunctionContext) -> Result<Bound> {
        if !args[0].ty.is_integer() {
            return Err(Error::new(
                ErrorCode::IllegalTypeOfArgument,
                format!("function `{}` takes an integer, got {}", self.name, args[0].ty),
            ));
        }
        let zone = args.get(1).map(|zone| constant_zone(self.name, zone)).transpose()?;
        let ty = SqlType::DateTime64 { precision: self.precision, zone: zone.map(|zone| zone.name().into()) };
        Ok(Bound::new(ty, |operands: &[Operand], _: usize| {
            cast(first(operands), &DataType::Int64).map_err(Error::of_arrow)
        }))
    }
}

/// `toUnixTimestamp64Milli` and others: the ticks of a DateTime64 as a number.
pub(super) struct ToUnixTicks {
    name: &'static str,
    precision: u8,
}

pub(super) static TO_UNIX_SECOND: ToUnixTicks = ToUnixTicks { name: "toUnixTimestamp64Second", precision: 0 };
pub(super) static TO_UNIX_MILLI: ToUnixTicks = ToUnixTicks { name: "toUnixTimestamp64Milli", precision: 3 };
pub(super) static TO_UNIX_MICRO: ToUnixTicks = ToUnixTicks { name: "toUnixTimestamp64Micro", precision: 6 };
pub(super) static TO_UNIX_NANO: ToUnixTicks = ToUnixTicks { name: "toUnixTimestamp64Nano", precision: 9 };

impl ScalarFunction for ToUnixTicks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn bind(&self, args: &[Argument], _context: &FunctionContext) -> Result<Bound> {
        let SqlType::DateTime64 { precision, .. } = &args[0].ty else {
            return Err(illegal_time(self.name, &args[0].ty));
        };
        let given = super::source::ticks_per_second(*precision);
        let wanted = super::source::ticks_per_second(self.precision);
        Ok(Bound::new(SqlType::Int64, move |operands: &[Operand], _: usize| {
            let ticks = first(operands).as_primitive::<Int64Type>();
            Ok(Arc::new(ticks.unary::<_, Int64Type>(|tick| {
                if wanted >= given { tick.wrapping_mul(wanted / given) } else { tick / (given / wanted) }
            })) as ArrayRef)
        }))
    }
}
