//! The conversion engine: selects the code that converts a column for a pair of types.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array, new_null_array};
use basalt_base::{Result, SqlType, bail};

use super::step::{OnError, Scope, Step, impossible, with_nulls};
use super::{addresses, decimals, nested, numbers, parse, print, times, wides};
use crate::FunctionContext;

/// Converts columns from one type to another, as `CAST` does.
pub struct Converter {
    /// `None` if both types have the same values and carrier.
    step: Option<Step>,
}

impl Converter {
    /// The conversion, or CANNOT_CONVERT_TYPE if the types cannot be converted.
    pub fn new(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Converter> {
        Converter::with_errors(from, to, context, OnError::Fails)
    }

    /// Like [`Converter::new`]; `on_error` gives the result for invalid text.
    pub(in crate::scalar) fn with_errors(
        from: &SqlType,
        to: &SqlType,
        context: &FunctionContext,
        on_error: OnError,
    ) -> Result<Converter> {
        Ok(Converter { step: step(from, to, &Scope { context, on_error, depth: 0 })? })
    }

    /// Converts the values of `array`, which has the carrier of the source type.
    pub fn convert(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match &self.step {
            None => Ok(Arc::clone(array)),
            Some(step) => step(array),
        }
    }

    /// Whether [`Converter::convert`] returns its argument.
    pub fn is_identity(&self) -> bool {
        self.step.is_none()
    }
}

/// The conversion of a column; `None` if values do not change.
pub(super) fn step(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Option<Step>> {
    let (from, to) = (from.full(), to.full());
    if from == to {
        return Ok(None);
    }
    match (from, to) {
        (from, to) if from.stripped() == &SqlType::Nothing => Ok(Some(from_nothing(to))),
        (SqlType::Nullable(from), SqlType::Nullable(to)) => plain_step(from, to, scope),
        (from, SqlType::Nullable(to)) => plain_step(from, to, scope),
        (SqlType::Nullable(from), to) => Ok(Some(without_nulls(to, plain_step(from, to, scope)?))),
        (from, to) => plain_step(from, to, scope),
    }
}

/// From NULLs, or from elements of empty arrays, to any type.
fn from_nothing(to: &SqlType) -> Step {
    let (carrier, nullable, name) = (to.carrier(), to.accepts_null(), to.to_string());
    Box::new(move |array| match array.len() {
        0 => Ok(new_empty_array(&carrier)),
        rows if nullable => Ok(new_null_array(&carrier, rows)),
        _ => bail!(CannotConvertType, "NULL cannot be converted to {name}, which is not Nullable"),
    })
}

/// A conversion to a type without NULL.
fn without_nulls(to: &SqlType, step: Option<Step>) -> Step {
    let name = to.to_string();
    Box::new(move |array| {
        if array.null_count() > 0 {
            bail!(
                CannotInsertNullInOrdinaryColumn,
                "NULL cannot be converted to {name}, which is not Nullable"
            );
        }
        match &step {
            Some(step) => step(array),
            None => Ok(Arc::clone(array)),
        }
    })
}

/// A conversion between types without an outer `Nullable`. The NULLs of the column stay.
fn plain_step(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Option<Step>> {
    if from == to {
        return Ok(None);
    }
    let step = choose(from, to, scope)?;
    Ok(step.map(|step| -> Step {
        Box::new(move |array| {
            let converted = step(array)?;
            Ok(if array.null_count() == 0 { converted } else { with_nulls(&converted, array.nulls()) })
        })
    }))
}

fn choose(from: &SqlType, to: &SqlType, scope: &Scope<'_>) -> Result<Option<Step>> {
    if let Some(step) = wides::step(from, to, scope.context)? {
        return Ok(Some(step));
    }
    if let Some(step) = addresses::step(from, to)? {
        return Ok(Some(step));
    }
    let found = match (from, to) {
        (_, SqlType::String) => Some(print::to_string(from, scope.context)),
        (SqlType::String | SqlType::FixedString(_), _) => parse::from_string(from, to, scope)?,
        (SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..), _) => {
            return nested::step(from, to, scope);
        }
        (_, SqlType::Bool) => numbers::to_bool(from),
        (_, SqlType::Decimal { precision, scale }) => decimals::to_decimal(from, *precision, *scale),
        (SqlType::Decimal { .. }, _) if to.is_integer() => decimals::to_integer(from, to),
        (_, SqlType::Enum8(_) | SqlType::Enum16(_)) => numbers::to_enum(from, to),
        _ if to.is_date_or_time() => times::to_time(from, to, scope.context)?,
        (SqlType::DateTime64 { precision, .. }, _) => times::ticks_to_number(*precision, to),
        _ => numbers::to_number(from, to),
    };
    match found {
        Some(step) => Ok(Some(step)),
        None => Err(impossible(from, to)),
    }
}
