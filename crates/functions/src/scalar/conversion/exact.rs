//! A conversion that refuses a number out of the target type's range, or replaces it by NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StructArray};
use arrow::compute::nullif;
use arrow::datatypes::{Float64Type, UInt8Type};
use basalt_base::{Error, Result, SqlType, bail};

use super::{Converter, OnError};
use crate::FunctionContext;
use crate::scalar::comparison::Comparison;
use crate::scalar::definition::Call;
use crate::scalar::number::wrap_to;
use crate::scalar::{Argument, Operand};

/// The result for a number that the target type does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::scalar) enum Inexact {
    Fails,
    GivesNull,
}

/// A conversion that does not change numbers. As in ClickHouse, a decimal may lose fractional digits.
pub(in crate::scalar) struct Exact {
    step: Step,
    inexact: Inexact,
    to: SqlType,
}

enum Step {
    /// Compares a number with its converted value, if it may change.
    Value { converter: Converter, check: Option<Check> },
    /// Checks each element of a tuple.
    Tuple(Vec<Exact>),
}

/// How a changed number is detected, and how the error shows it.
struct Check {
    comparison: Comparison,
    text: Converter,
    /// For a date or a time, the converter to its seconds, which are compared.
    seconds: Option<Converter>,
}

impl Exact {
    /// To `to`, or to `Nullable(to)` if a number that does not fit becomes NULL.
    pub(in crate::scalar) fn new(
        from: &SqlType,
        to: &SqlType,
        context: &FunctionContext,
        inexact: Inexact,
    ) -> Result<Exact> {
        let step = match (from, to) {
            (SqlType::Tuple(given), SqlType::Tuple(wanted))
                if given.len() == wanted.len() && inexact == Inexact::Fails =>
            {
                let pairs = given.iter().zip(wanted.iter());
                let elements = pairs.map(|(from, to)| Exact::new(&from.ty, &to.ty, context, inexact));
                Step::Tuple(elements.collect::<Result<_>>()?)
            }
            _ => Step::value(from, to, context, inexact)?,
        };
        Ok(Exact { step, inexact, to: to.clone() })
    }

    pub(in crate::scalar) fn convert(&self, source: &ArrayRef) -> Result<ArrayRef> {
        match &self.step {
            Step::Value { converter, check } => {
                let finite = match self.inexact {
                    Inexact::Fails => Arc::clone(source),
                    Inexact::GivesNull => only_finite(source, &self.to)?,
                };
                let converted = converter.convert(&finite)?;
                match check {
                    Some(check) => self.checked(&finite, converted, check),
                    None => Ok(converted),
                }
            }
            Step::Tuple(elements) => {
                let tuple = source.as_struct();
                let columns = elements.iter().zip(tuple.columns());
                let columns =
                    columns.map(|(element, column)| element.convert(column)).collect::<Result<_>>()?;
                let tuple = StructArray::try_new(self.to.struct_fields(), columns, tuple.nulls().cloned());
                Ok(Arc::new(tuple.map_err(Error::logical)?))
            }
        }
    }

    fn checked(&self, source: &ArrayRef, converted: ArrayRef, check: &Check) -> Result<ArrayRef> {
        let reached = match &check.seconds {
            Some(seconds) => seconds.convert(source)?,
            None => Arc::clone(&converted),
        };
        let sides = [source, &reached].map(|array| Operand { array: Arc::clone(array), constant: false });
        let equal = check.comparison.evaluate(&sides, source.len())?;
        let equal = equal.as_primitive::<UInt8Type>();
        let nulls = source.logical_nulls();
        // The values under NULLs are not checked.
        let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let changed = equal.iter().enumerate().map(|(row, equal)| Some(equal == Some(0) && is_there(row)));
        let changed: BooleanArray = changed.collect();
        match self.inexact {
            _ if changed.true_count() == 0 => Ok(converted),
            Inexact::Fails => {
                let first = changed.values().set_indices().next().unwrap_or_default();
                let text = check.text.convert(&source.slice(first, 1))?;
                let number = String::from_utf8_lossy(text.as_binary_view().value(0));
                bail!(CannotConvertType, "{number} is not the same in type {}", self.to)
            }
            Inexact::GivesNull => nullif(&converted, &changed).map_err(Error::of_arrow),
        }
    }
}

impl Step {
    fn value(from: &SqlType, to: &SqlType, context: &FunctionContext, inexact: Inexact) -> Result<Step> {
        let (reached, on_error) = match inexact {
            Inexact::Fails => (to.clone(), OnError::Fails),
            Inexact::GivesNull => (to.clone().into_nullable(), OnError::GivesNull),
        };
        let is_time = matches!(to.stripped(), SqlType::Date | SqlType::DateTime(_));
        let counted = if is_time { &SqlType::UInt32 } else { to };
        let args = [from, counted].map(|ty| Argument { ty: ty.clone(), constant: None });
        let check = match may_change(from.stripped(), counted.stripped()) {
            true => Some(Check {
                comparison: Comparison::equality(&Call { name: "accurateCast", args: &args, context })?,
                text: Converter::new(from.stripped(), &SqlType::String, context)?,
                seconds: is_time.then(|| Converter::new(from, counted, context)).transpose()?,
            }),
            false => None,
        };
        let converter = Converter::with_errors(from, &reached, context, on_error)?;
        Ok(Step::Value { converter, check })
    }
}

/// `source` with NULL in place of floats that have no integer.
fn only_finite(source: &ArrayRef, to: &SqlType) -> Result<ArrayRef> {
    let to = to.stripped();
    let is_whole = to.is_whole() || matches!(to, SqlType::Date | SqlType::DateTime(_));
    if !is_whole || !source.data_type().is_floating() {
        return Ok(Arc::clone(source));
    }
    let floats = wrap_to::<Float64Type>(source)?;
    let infinite: BooleanArray =
        floats.iter().map(|float| Some(float.is_some_and(|float| !float.is_finite()))).collect();
    nullif(source, &infinite).map_err(Error::of_arrow)
}

/// Whether a number may be out of the target type's range, and this must be detected.
fn may_change(from: &SqlType, to: &SqlType) -> bool {
    let is_plain = |ty: &SqlType| ty.is_whole() || ty.is_number() && !matches!(ty, SqlType::Decimal { .. });
    let is_unsigned = from.is_signed_whole() == Some(false);
    let widens = is_unsigned && to.is_whole() && from.fixed_bytes() < to.fixed_bytes();
    is_plain(from) && is_plain(to) && from != to && !widens
}
