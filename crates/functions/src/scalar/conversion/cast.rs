//! `CAST`, `accurateCast`, `accurateCastOrNull`, `accurateCastOrDefault`: a value converted to a given type.
//!
//! Syntax: `CAST(x, 'T')`; `CAST(x AS T)` and `x::T` are the same. NULL stays NULL in a `Nullable` type and is
//! CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN in any other. `CAST` wraps and truncates; `accurateCast` refuses a number
//! that would change, `accurateCastOrNull` replaces it by NULL, and `accurateCastOrDefault(x, 'T' [, default])` by a
//! default.

use arrow::array::{Array, ArrayRef};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::exact::{Exact, Inexact};
use super::times::keeping_zone;
use super::{Converter, OnError, lenient};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, LowCardinality, Nulls, Operand, ScalarFunction};

pub(super) static CAST: Definition = Definition::new("CAST", Arity::Exactly(2), |call| {
    let mut to = type_at(call, 1)?;
    call.context.settings.check_type(&to)?;
    if call.context.settings.cast_keep_nullable() && call.ty(0).accepts_null() {
        to = to.into_nullable();
    }
    bind(call.ty(0), &keeping_zone(call.ty(0), &to), call.context)
})
.case_insensitive()
.sees_null()
.low_cardinality(LowCardinality::Dropped);

/// `CAST` to a type that the planner chose, without the check for suspicious types. The third argument is the name of
/// the target column, for error messages.
pub(super) static INTERNAL_CAST: Definition = Definition::new("_CAST", Arity::Between(2, 3), |call| {
    let to = type_at(call, 1)?;
    let converter = Converter::new(call.ty(0), &to, call.context)?;
    bind_for_column(call, to, move |array| converter.convert(array))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

pub(super) static ACCURATE_CAST: Definition = Definition::new("accurateCast", Arity::Exactly(2), |call| {
    call.context.settings.check_type(&type_at(call, 1)?)?;
    bind_accurate(call, Inexact::Fails)
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

/// Like [`INTERNAL_CAST`].
pub(super) static INTERNAL_ACCURATE_CAST: Definition =
    Definition::new("_accurateCast", Arity::Between(2, 3), |call| {
        let to = type_at(call, 1)?;
        let exact = Exact::new(call.ty(0), &to, call.context, Inexact::Fails)?;
        bind_for_column(call, to, move |array| exact.convert(array))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static ACCURATE_CAST_OR_NULL: Definition =
    Definition::new("accurateCastOrNull", Arity::Exactly(2), |call| {
        call.context.settings.check_type(&type_at(call, 1)?)?;
        bind_accurate(call, Inexact::GivesNull)
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static ACCURATE_CAST_OR_DEFAULT: Definition =
    Definition::new("accurateCastOrDefault", Arity::Between(2, 3), bind_accurate_or_default)
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

/// `CAST` to a fixed type, as a function of one argument.
pub struct Cast {
    to: SqlType,
}

impl Cast {
    pub fn to(ty: SqlType) -> Cast {
        Cast { to: ty }
    }
}

impl ScalarFunction for Cast {
    fn name(&self) -> &'static str {
        "CAST"
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn nulls(&self) -> Nulls {
        Nulls::Custom
    }

    fn low_cardinality(&self) -> LowCardinality {
        LowCardinality::Dropped
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        bind(&args[0].ty, &self.to, context)
    }
}

/// Converts one argument to `to`, which is also the exact result type.
pub(super) fn bind(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Bound> {
    let converter = Converter::new(from, to, context)?;
    Ok(Bound::new(to.clone(), move |args: &[Operand], _| converter.convert(&args[0].array)))
}

/// The type named by argument `index`.
fn type_at(call: &Call<'_>, index: usize) -> Result<SqlType> {
    let name = call.expect_text(index)?;
    let written = basalt_sql::parse_type(name.as_bytes())
        .map_err(|error| Error::new(ErrorCode::SyntaxError, format!("`{name}` is not a type: {error}")))?;
    basalt_sql::resolve_type(&written)
}

/// `convert`, with errors that name the column in the third argument.
fn bind_for_column(
    call: &Call<'_>,
    to: SqlType,
    convert: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static,
) -> Result<Bound> {
    let column = match call.len() {
        3.. => Some(call.expect_text(2)?.to_owned()),
        _ => None,
    };
    Ok(Bound::new(to, move |args: &[Operand], _| {
        convert(&args[0].array).map_err(|error| match &column {
            Some(column) => error.within(format_args!("column `{column}`")),
            None => error,
        })
    }))
}

fn bind_accurate(call: &Call<'_>, inexact: Inexact) -> Result<Bound> {
    let to = keeping_zone(call.ty(0), &type_at(call, 1)?);
    if inexact == Inexact::Fails && call.ty(0).stripped().is_string() && to.stripped().is_integer() {
        return bind_accurate_text(call, to);
    }
    let exact = Exact::new(call.ty(0), &to, call.context, inexact)?;
    let to = if inexact == Inexact::GivesNull { to.into_nullable() } else { to };
    Ok(Bound::new(to, move |args: &[Operand], _| exact.convert(&args[0].array)))
}

/// Text as an integer, without wrapping.
fn bind_accurate_text(call: &Call<'_>, to: SqlType) -> Result<Bound> {
    let converter = Converter::new(call.ty(0), &to, call.context)?;
    let reached = to.clone().into_nullable();
    let forgiving = Converter::with_errors(call.ty(0), &reached, call.context, OnError::GivesNull)?;
    let name = to.to_string();
    Ok(Bound::new(to, move |args: &[Operand], _| {
        let source = &args[0].array;
        if forgiving.convert(source)?.null_count() > source.logical_null_count() {
            return Err(Error::new(
                ErrorCode::CannotParseText,
                format!("a string is not a number of type {name}; `accurateCastOrNull` forgives it"),
            ));
        }
        converter.convert(source)
    }))
}

/// A number that would change becomes the third argument, or the type's default.
fn bind_accurate_or_default(call: &Call<'_>) -> Result<Bound> {
    let to = type_at(call, 1)?;
    call.context.settings.check_type(&to)?;
    let default = match call.args.get(2) {
        None => to.default_array(1),
        Some(arg) => {
            let value = call.constant(2).ok_or_else(|| call.illegal(2))?;
            Converter::new(&arg.ty, &to, call.context)?.convert(value)?
        }
    };
    lenient::bind_or(call, to, default)
}
