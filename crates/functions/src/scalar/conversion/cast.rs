//! `CAST`, `accurateCast`, `accurateCastOrNull`: a value in the type that is named.
//!
//! Syntax: `CAST(x, 'T')`; `CAST(x AS T)` and `x::T` are the same. NULL stays NULL in a `Nullable` type and is
//! CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN in every other. `CAST` wraps and cuts; `accurateCast`
//! refuses a number that is not the same in the other type, `accurateCastOrNull` gives NULL.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::{SortOptions, nullif};
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use super::{Converter, OnError};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Nulls, Operand, ScalarFunction};

pub(super) static CAST: Definition = Definition::new("CAST", Arity::Exactly(2), |call| {
    let to = type_at(call, 1)?;
    bind(call.ty(0), &to, call.context)
})
.aliases(&["_CAST"])
.case_insensitive()
.sees_null();

pub(super) static ACCURATE_CAST: Definition =
    Definition::new("accurateCast", Arity::Exactly(2), |call| bind_accurate(call, Inexact::Fails))
        .sees_null();

pub(super) static ACCURATE_CAST_OR_NULL: Definition =
    Definition::new("accurateCastOrNull", Arity::Exactly(2), |call| bind_accurate(call, Inexact::GivesNull))
        .sees_null();

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

/// What a number that the other type does not have becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inexact {
    Fails,
    GivesNull,
}

fn bind_accurate(call: &Call<'_>, inexact: Inexact) -> Result<Bound> {
    let named = type_at(call, 1)?;
    let from = call.ty(0).clone();
    let (to, on_error) = match inexact {
        Inexact::Fails => (named, OnError::Fails),
        Inexact::GivesNull => (named.into_nullable(), OnError::GivesNull),
    };
    let there = Converter::with_errors(&from, &to, call.context, on_error)?;
    if !from.stripped().is_number() || !to.stripped().is_number() {
        return Ok(Bound::new(to, move |args: &[Operand], _| there.convert(&args[0].array)));
    }
    let back = Converter::new(&to.clone().into_nullable(), &from.clone().into_nullable(), call.context)?;
    let name = to.to_string();
    Ok(Bound::new(to, move |args: &[Operand], _| {
        let source = &args[0].array;
        let converted = there.convert(source)?;
        let changed = differences(source, &back.convert(&converted)?)?;
        match inexact {
            _ if changed.true_count() == 0 => Ok(converted),
            Inexact::Fails => bail!(CannotConvertType, "a number is not the same in type {name}"),
            Inexact::GivesNull => nullif(&converted, &changed).map_err(Error::logical),
        }
    }))
}

/// In which rows two columns of one type differ; NULL differs from nothing.
fn differences(left: &ArrayRef, right: &ArrayRef) -> Result<BooleanArray> {
    let order = make_comparator(left, right, SortOptions::default()).map_err(Error::logical)?;
    let differs = |row| left.is_valid(row) && right.is_valid(row) && order(row, row) != Ordering::Equal;
    Ok((0..left.len()).map(|row| Some(differs(row))).collect())
}
