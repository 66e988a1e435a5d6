//! `CAST(x AS T)`: a value in another type.
//!
//! The planner knows the type when it meets `CAST`, so it binds a [`Cast`] to that type. NULL stays
//! NULL in a `Nullable` type and is CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN in every other.

use basalt_base::{Result, SqlType};

use super::Converter;
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Nulls, Operand, ScalarFunction};

/// `CAST` to one type: the function that `CAST(x AS T)` and `x::T` bind.
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
