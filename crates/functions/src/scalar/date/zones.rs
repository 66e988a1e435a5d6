//! Zones of times: `toTimeZone`, `timeZoneOf`, `timeZoneOffset`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray};
use arrow::datatypes::Int32Type;
use basalt_base::{Result, SqlType};

use super::source::{Source, constant_zone, first, illegal_time};
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction};

/// The same instant, displayed in another zone.
pub(super) struct ToTimeZone;

impl ScalarFunction for ToTimeZone {
    fn name(&self) -> &'static str {
        "toTimeZone"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["toTimezone"]
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn bind(&self, args: &[Argument], _context: &FunctionContext) -> Result<Bound> {
        let zone = Some(constant_zone(self.name(), &args[1])?.name().into());
        let ty = match &args[0].ty {
            SqlType::DateTime(_) => SqlType::DateTime(zone),
            SqlType::DateTime64 { precision, .. } => SqlType::DateTime64 { precision: *precision, zone },
            other => return Err(illegal_time(self.name(), other)),
        };
        Ok(Bound::new(ty, |operands: &[Operand], _: usize| Ok(Arc::clone(first(operands)))))
    }
}

/// The name of a time's zone.
pub(super) struct TimeZoneOf;

impl ScalarFunction for TimeZoneOf {
    fn name(&self) -> &'static str {
        "timeZoneOf"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["timezoneOf"]
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let source = Source::new(self.name(), &args[0].ty, None, context)?;
        if !source.has_time() {
            return Err(illegal_time(self.name(), &args[0].ty));
        }
        let name = source.zone().name();
        Ok(Bound::new(SqlType::String, move |_: &[Operand], rows: usize| {
            Ok(Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(name, rows))) as ArrayRef)
        }))
    }
}

/// The offset of a time's zone from UTC at that time, in seconds.
pub(super) struct TimeZoneOffset;

impl ScalarFunction for TimeZoneOffset {
    fn name(&self) -> &'static str {
        "timeZoneOffset"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["timezoneOffset"]
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let source = Source::new(self.name(), &args[0].ty, None, context)?;
        if !source.has_time() {
            return Err(illegal_time(self.name(), &args[0].ty));
        }
        Ok(Bound::new(SqlType::Int32, move |operands: &[Operand], _: usize| {
            let offsets = source.map_instants::<Int32Type>(first(operands), |_, offset| offset as i32);
            Ok(Arc::new(offsets) as ArrayRef)
        }))
    }
}
