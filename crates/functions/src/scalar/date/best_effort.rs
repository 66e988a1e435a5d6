//! `parseDateTimeBestEffort`: dates and times as people and programs write them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array, new_null_array};
use arrow::datatypes::DataType;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_formats::text::{DateOrder, Instant, parse_best_effort};

use super::clamp::date_time_of;
use super::now::constant_precision;
use super::source::{constant_zone, first, ticks_per_second};
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction};

const NANOSECOND_DIGITS: u8 = 9;

/// An instant that the type has no value for.
fn out_of_range(text: &[u8]) -> Error {
    let text = String::from_utf8_lossy(text);
    Error::new(ErrorCode::DecimalOverflow, format!("`{text}` does not fit 64 bits of ticks"))
}

fn unreadable(text: &[u8]) -> Error {
    Error::new(
        ErrorCode::CannotParseDatetime,
        format!("cannot read a time from `{}`", String::from_utf8_lossy(text)),
    )
}

/// The `DateTime` of every row.
pub(super) fn parse_block(texts: &ArrayRef, zone: Zone) -> Result<ArrayRef> {
    let seconds = parse_rows(texts, zone, OnFailure::Refuse, |instant| Some(date_time_of(instant.second)))?;
    Ok(Arc::new(UInt32Array::from(seconds)))
}

/// The result for text that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnFailure {
    Refuse,
    Null,
    Zero,
}

fn parse_rows<N: Default>(
    texts: &ArrayRef,
    zone: Zone,
    on_failure: OnFailure,
    value: impl Fn(Instant) -> Option<N>,
) -> Result<Vec<Option<N>>> {
    let texts = texts.as_binary_view();
    let parse_row = |row: usize| {
        let text = texts.value(row);
        let failure: fn(&[u8]) -> Error = unreadable;
        let parsed = parse_best_effort(text, zone, DateOrder::DayFirst).ok_or(failure);
        let parsed = parsed.and_then(|instant| value(instant).ok_or(out_of_range));
        match parsed {
            Ok(value) => Ok(Some(value)),
            Err(_) if texts.is_null(row) || on_failure == OnFailure::Zero => Ok(Some(N::default())),
            Err(_) if on_failure == OnFailure::Null => Ok(None),
            Err(error) => Err(error(text)),
        }
    };
    (0..texts.len()).map(parse_row).collect()
}

pub(super) struct ParseBestEffort {
    name: &'static str,
    on_failure: OnFailure,
    /// Whether the result is a DateTime64 with the precision in the second argument.
    fine: bool,
}

macro_rules! parsers {
    ($($constant:ident $name:literal $on_failure:ident $fine:literal;)+) => {
        $(pub(super) static $constant: ParseBestEffort =
            ParseBestEffort { name: $name, on_failure: OnFailure::$on_failure, fine: $fine };)+
    };
}

parsers! {
    PARSE "parseDateTimeBestEffort" Refuse false;
    PARSE_OR_NULL "parseDateTimeBestEffortOrNull" Null false;
    PARSE_OR_ZERO "parseDateTimeBestEffortOrZero" Zero false;
    PARSE_64 "parseDateTime64BestEffort" Refuse true;
    PARSE_64_OR_NULL "parseDateTime64BestEffortOrNull" Null true;
    PARSE_64_OR_ZERO "parseDateTime64BestEffortOrZero" Zero true;
}

impl ScalarFunction for ParseBestEffort {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        Arity::Between(1, if self.fine { 3 } else { 2 })
    }

    fn nulls(&self) -> crate::scalar::Nulls {
        crate::scalar::Nulls::Custom
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        if args[0].ty.stripped() == &SqlType::Nothing {
            return Ok(Bound::new(args[0].ty.clone(), |_: &[Operand], rows: usize| {
                Ok(new_null_array(&DataType::Null, rows))
            }));
        }
        if args[0].ty.stripped() != &SqlType::String {
            return Err(Error::new(
                ErrorCode::IllegalTypeOfArgument,
                format!("function `{}` takes a String, got {}", self.name, args[0].ty),
            ));
        }
        let zone_arg = args.get(if self.fine { 2 } else { 1 });
        let named = zone_arg.map(|zone| constant_zone(self.name, zone)).transpose()?;
        let (zone, on_failure) = (named.unwrap_or(context.zone), self.on_failure);
        let name = named.map(|zone| zone.name().into());
        let nullable = args[0].ty.accepts_null() || on_failure == OnFailure::Null;
        let wrap = |ty: SqlType| if nullable { ty.into_nullable() } else { ty };
        if self.fine {
            let precision = args.get(1).map_or(Ok(3), |arg| constant_precision(self.name, arg))?;
            let ticks = ticks_per_second(precision);
            let per_tick = ticks_per_second(NANOSECOND_DIGITS) / ticks;
            return Ok(Bound::new(
                wrap(SqlType::DateTime64 { precision, zone: name }),
                move |operands: &[Operand], _: usize| {
                    let ticks = |instant: Instant| {
                        instant.second.checked_mul(ticks)?.checked_add(instant.nanosecond / per_tick)
                    };
                    let parsed = parse_rows(first(operands), zone, on_failure, ticks)?;
                    Ok(keep_nulls(Int64Array::from(parsed), first(operands)))
                },
            ));
        }
        Ok(Bound::new(wrap(SqlType::DateTime(name)), move |operands: &[Operand], _: usize| {
            let seconds = |instant: Instant| Some(date_time_of(instant.second));
            let parsed = parse_rows(first(operands), zone, on_failure, seconds)?;
            Ok(keep_nulls(UInt32Array::from(parsed), first(operands)))
        }))
    }
}

/// Makes rows NULL whose text is NULL.
fn keep_nulls<T: arrow::array::ArrowPrimitiveType>(
    parsed: arrow::array::PrimitiveArray<T>,
    texts: &ArrayRef,
) -> ArrayRef {
    let nulls = arrow::buffer::NullBuffer::union(parsed.nulls(), texts.nulls());
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    Arc::new(arrow::array::PrimitiveArray::<T>::new(parsed.values().clone(), nulls))
}
