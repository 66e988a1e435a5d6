//! The arguments of a table function.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_planner::{PlannerContext, plan_constant};
use basalt_sql::ast;

/// The arguments of a call, evaluated one by one.
pub(super) struct Arguments<'a> {
    pub(super) call: &'a ast::FunctionCall,
    pub(super) ctx: &'a PlannerContext<'a>,
}

impl Arguments<'_> {
    pub(super) fn len(&self) -> usize {
        self.call.args.len()
    }

    pub(super) fn check_count(&self, least: usize, most: usize) -> Result<()> {
        let (name, given) = (&self.call.name, self.len());
        if (least..=most).contains(&given) {
            return Ok(());
        }
        bail!(
            NumberOfArgumentsDoesntMatch,
            "table function `{name}` takes {least} to {most} arguments, got {given}"
        )
    }

    pub(super) fn constant(&self, at: usize) -> Result<(ArrayRef, SqlType)> {
        plan_constant(&self.call.args[at], self.ctx)
    }

    pub(super) fn unsigned(&self, at: usize) -> Result<u64> {
        let (array, ty) = self.constant(at)?;
        let number = match ty.stripped() {
            _ if array.is_null(0) => None,
            ty if ty.is_unsigned() => arrow::compute::cast(&array, &arrow::datatypes::DataType::UInt64)
                .ok()
                .map(|array| array.as_primitive::<UInt64Type>().value(0)),
            ty if ty.is_integer() => arrow::compute::cast(&array, &arrow::datatypes::DataType::Int64)
                .ok()
                .and_then(|array| u64::try_from(array.as_primitive::<Int64Type>().value(0)).ok()),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(at, "a whole number, not negative"))
    }

    /// A string, or a bare name.
    pub(super) fn text(&self, at: usize) -> Result<String> {
        if let ast::Expr::Identifier(parts) = &self.call.args[at] {
            return Ok(parts.join("."));
        }
        let (array, ty) = self.constant(at)?;
        if *ty.stripped() != SqlType::String || array.is_null(0) {
            return Err(self.wrong(at, "a string"));
        }
        Ok(String::from_utf8_lossy(array.as_binary_view().value(0)).into_owned())
    }

    pub(super) fn wrong(&self, at: usize, expected: &str) -> Error {
        let (name, arg) = (&self.call.name, &self.call.args[at]);
        Error::new(
            ErrorCode::BadArguments,
            format!("argument {} of table function `{name}` is {expected}, got `{arg}`", at + 1),
        )
    }
}
