//! `CAST`, `accurateCast`, `accurateCastOrNull`: a value in the type that is named.
//!
//! Syntax: `CAST(x, 'T')`; `CAST(x AS T)` and `x::T` are the same. NULL stays NULL in a `Nullable` type and is
//! CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN in every other. `CAST` wraps and cuts; `accurateCast`
//! refuses a number that is not the same in the other type, `accurateCastOrNull` gives NULL.

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::Converter;
use super::exact::{Exact, Inexact};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, LowCardinality, Nulls, Operand, ScalarFunction};

pub(super) static CAST: Definition = Definition::new("CAST", Arity::Exactly(2), |call| {
    let to = type_at(call, 1)?;
    call.context.settings.check_type(&to)?;
    bind(call.ty(0), &to, call.context)
})
.case_insensitive()
.sees_null()
.low_cardinality(LowCardinality::Dropped);

/// `CAST` to a type that somebody else has chosen: any will do. A third argument is the name of the column that the value
/// is for, which errors tell.
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

/// As [`INTERNAL_CAST`].
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

/// `CAST` to one type that is known beforehand, as a function of one argument.
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

/// One argument converted to `to`, whose result type is exactly that.
pub(super) fn bind(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Bound> {
    let converter = Converter::new(from, to, context)?;
    Ok(Bound::new(to.clone(), move |args: &[Operand], _| converter.convert(&args[0].array)))
}

/// The type that argument `index` names.
fn type_at(call: &Call<'_>, index: usize) -> Result<SqlType> {
    let name = call.expect_text(index)?;
    let written = basalt_sql::parse_type(name.as_bytes())
        .map_err(|error| Error::new(ErrorCode::SyntaxError, format!("`{name}` is not a type: {error}")))?;
    basalt_sql::resolve_type(&written)
}

/// `convert`, whose errors tell the column that the third argument names.
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
    let to = type_at(call, 1)?;
    let exact = Exact::new(call.ty(0), &to, call.context, inexact)?;
    let to = if inexact == Inexact::GivesNull { to.into_nullable() } else { to };
    Ok(Bound::new(to, move |args: &[Operand], _| exact.convert(&args[0].array)))
}
