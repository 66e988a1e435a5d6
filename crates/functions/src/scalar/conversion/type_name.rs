//! `toTypeName`, `toColumnTypeName`, `toLowCardinality`, `materialize`, `identity`, `defaultValueOfArgumentType`.
//!
//! Syntax: `toTypeName(x)`. They report the type of a value or pass it through, including NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, Int32Array};
use basalt_base::{Result, SqlType};

use crate::FunctionContext;
use crate::scalar::definition::Definition;
use crate::scalar::{Argument, Arity, Bound, LowCardinality, Nulls, Operand, ScalarFunction};

/// A function of one argument that sees its complete type.
pub(super) struct OfType {
    name: &'static str,
    bind: fn(&Argument) -> Bound,
}

pub(super) static TO_TYPE_NAME: OfType = OfType { name: "toTypeName", bind: |arg| text(arg.ty.to_string()) };

pub(super) static TO_COLUMN_TYPE_NAME: OfType = OfType {
    name: "toColumnTypeName",
    bind: |arg| {
        let ty = &arg.ty;
        text(if arg.constant.is_some() { format!("Const({ty})") } else { ty.to_string() })
    },
};

pub(super) static DEFAULT_VALUE_OF_ARGUMENT_TYPE: OfType = OfType {
    name: "defaultValueOfArgumentType",
    bind: |arg| {
        let ty = arg.ty.clone();
        Bound::new(arg.ty.clone(), move |_: &[Operand], rows| Ok(default_of(&ty, rows)))
    },
};

pub(super) static MATERIALIZE: Definition =
    Definition::new("materialize", Arity::Exactly(1), |call| Ok(same(&call.args[0].ty)))
        .sees_null()
        .low_cardinality(LowCardinality::Seen)
        .volatility(crate::scalar::Volatility::Late);

pub(super) static IDENTITY: Definition =
    Definition::new("identity", Arity::Exactly(1), |call| Ok(same(&call.args[0].ty)))
        .sees_null()
        .low_cardinality(LowCardinality::Seen);

/// The same value; encoding is up to the storage.
pub(super) static TO_LOW_CARDINALITY: Definition =
    Definition::new("toLowCardinality", Arity::Exactly(1), |call| {
        let ty = call.ty(0);
        let plain = ty.stripped();
        let is_time = matches!(plain, SqlType::Date | SqlType::DateTime(_));
        if !(plain.is_whole() || plain.is_float() || plain.is_string() || is_time) {
            return Err(call.illegal(0));
        }
        Ok(Bound::new(SqlType::LowCardinality(Arc::new(ty.clone())), |args: &[Operand], rows: usize| {
            args[0].full(rows)
        }))
    })
    .sees_null();

impl ScalarFunction for OfType {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn nulls(&self) -> Nulls {
        Nulls::Custom
    }

    fn low_cardinality(&self) -> LowCardinality {
        LowCardinality::Seen
    }

    fn bind(&self, args: &[Argument], _context: &FunctionContext) -> Result<Bound> {
        Ok((self.bind)(&args[0]))
    }
}

/// An array with the default value of a type. The default of `Date32` is its zero date 1900-01-01, although columns
/// are filled with 1970-01-01.
pub(super) fn default_of(ty: &SqlType, rows: usize) -> ArrayRef {
    const ZERO_DATE32: i32 = -25_567;
    match ty {
        SqlType::Date32 => Arc::new(Int32Array::from_value(ZERO_DATE32, rows)),
        _ => ty.default_array(rows),
    }
}

fn same(ty: &SqlType) -> Bound {
    Bound::new(ty.clone(), |args: &[Operand], rows| args[0].full(rows))
}

fn text(name: String) -> Bound {
    Bound::new(SqlType::String, move |_: &[Operand], rows| {
        Ok(Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(&name, rows))) as ArrayRef)
    })
}
