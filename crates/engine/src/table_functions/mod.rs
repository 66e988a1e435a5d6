//! Table functions: `numbers(10)`, `file('a.csv')`, `dictionary('d')` in FROM.

mod dictionary;
mod file;
mod numbers;

pub(crate) use dictionary::dictionary_table;
pub(crate) use numbers::{numbers_table, zeros_table};

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_planner::{PlannerContext, plan_constant};
use basalt_sql::ast;

use crate::query::QueryContext;
use crate::tables::Table;

/// The names that [`table`] knows.
pub(crate) const NAMES: &[&str] = &["dictionary", "file", "numbers", "numbers_mt", "zeros", "zeros_mt"];

/// The table that a call in FROM stands for.
pub(crate) fn table(
    call: &ast::FunctionCall,
    ctx: &PlannerContext<'_>,
    query: &Arc<QueryContext>,
) -> Result<Arc<dyn Table>> {
    let args = Arguments { call, ctx };
    match call.name.as_str() {
        "numbers" => numbers::numbers(&args, 1),
        "numbers_mt" => numbers::numbers(&args, query.threads()),
        "zeros" => numbers::zeros(&args, 1),
        "zeros_mt" => numbers::zeros(&args, query.threads()),
        "file" => file::file(&args, query),
        "dictionary" => dictionary::dictionary(&args, query),
        other => {
            let near = did_you_mean(other, NAMES.iter().copied());
            bail!(UnknownFunction, "table function `{other}` does not exist{near}")
        }
    }
}

/// The arguments of a call, evaluated one by one.
struct Arguments<'a> {
    call: &'a ast::FunctionCall,
    ctx: &'a PlannerContext<'a>,
}

impl Arguments<'_> {
    fn len(&self) -> usize {
        self.call.args.len()
    }

    fn check_count(&self, least: usize, most: usize) -> Result<()> {
        let (name, given) = (&self.call.name, self.len());
        if (least..=most).contains(&given) {
            return Ok(());
        }
        bail!(
            NumberOfArgumentsDoesntMatch,
            "table function `{name}` takes {least} to {most} arguments, got {given}"
        )
    }

    fn constant(&self, at: usize) -> Result<(ArrayRef, SqlType)> {
        plan_constant(&self.call.args[at], self.ctx)
    }

    fn unsigned(&self, at: usize) -> Result<u64> {
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
    fn text(&self, at: usize) -> Result<String> {
        if let ast::Expr::Identifier(parts) = &self.call.args[at] {
            return Ok(parts.join("."));
        }
        let (array, ty) = self.constant(at)?;
        if *ty.stripped() != SqlType::String || array.is_null(0) {
            return Err(self.wrong(at, "a string"));
        }
        Ok(String::from_utf8_lossy(array.as_binary_view().value(0)).into_owned())
    }

    fn wrong(&self, at: usize, expected: &str) -> Error {
        let (name, arg) = (&self.call.name, &self.call.args[at]);
        Error::new(
            ErrorCode::BadArguments,
            format!("argument {} of table function `{name}` is {expected}, got `{arg}`", at + 1),
        )
    }
}
