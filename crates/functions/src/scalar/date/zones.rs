//! Zones of times: `toTimeZone`, `timeZoneOf`, `timeZoneOffset`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray};
use arrow::datatypes::Int32Type;
use basalt_base::{Result, SqlType};

use super::source::{Source, constant_zone, first, illegal_time};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// The same instant, displayed in another zone.
pub(super) static TO_TIME_ZONE: Definition =
    Definition::new("toTimeZone", Arity::Exactly(2), bind_to_time_zone).aliases(&["toTimezone"]);

fn bind_to_time_zone(call: &Call<'_>) -> Result<Bound> {
    let zone = Some(constant_zone(call.name, &call.args[1])?.name().into());
    let ty = match &call.args[0].ty {
        SqlType::DateTime(_) => SqlType::DateTime(zone),
        SqlType::DateTime64 { precision, .. } => SqlType::DateTime64 { precision: *precision, zone },
        other => return Err(illegal_time(call.name, other)),
    };
    Ok(Bound::new(ty, |operands: &[Operand], _: usize| Ok(Arc::clone(first(operands)))))
}

/// The name of a time's zone.
pub(super) static TIME_ZONE_OF: Definition =
    Definition::new("timeZoneOf", Arity::Exactly(1), bind_time_zone_of).aliases(&["timezoneOf"]);

fn bind_time_zone_of(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, None, call.context)?;
    if !source.has_time() {
        return Err(illegal_time(call.name, &call.args[0].ty));
    }
    let name = source.zone().name();
    Ok(Bound::new(SqlType::String, move |_: &[Operand], rows: usize| {
        Ok(Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(name, rows))) as ArrayRef)
    }))
}

/// The offset of a time's zone from UTC at that time, in seconds.
pub(super) static TIME_ZONE_OFFSET: Definition =
    Definition::new("timeZoneOffset", Arity::Exactly(1), bind_time_zone_offset).aliases(&["timezoneOffset"]);

fn bind_time_zone_offset(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, None, call.context)?;
    if !source.has_time() {
        return Err(illegal_time(call.name, &call.args[0].ty));
    }
    Ok(Bound::new(SqlType::Int32, move |operands: &[Operand], _: usize| {
        let offsets = source.map_instants::<Int32Type>(first(operands), |_, offset| offset as i32);
        Ok(Arc::new(offsets) as ArrayRef)
    }))
}
