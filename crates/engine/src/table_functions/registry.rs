//! Table functions by name.

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_planner::PlannerContext;
use basalt_sql::ast;

use super::arguments::Arguments;
use super::remote::Transport;
use super::{dictionary, file, format, generate_random, null, numbers, remote, values};
use crate::access_control::check_table_function;
use crate::execution::Execution;
use crate::tables::Table;

/// The names that [`table`] knows.
pub(crate) const NAMES: &[&str] = &[
    "dictionary",
    "file",
    "format",
    "generateRandom",
    "generateSeries",
    "generate_series",
    "null",
    "numbers",
    "numbers_mt",
    "remote",
    "remoteSecure",
    "values",
    "view",
    "viewIfPermitted",
    "zeros",
    "zeros_mt",
];

/// The table of a call in FROM.
pub(crate) fn table(
    call: &ast::FunctionCall,
    ctx: &PlannerContext<'_>,
    query: &Arc<Execution>,
) -> Result<Arc<dyn Table>> {
    check_table_function(&query.access, &call.name)?;
    let args = Arguments { call, ctx };
    match call.name.as_str() {
        "numbers" => numbers::numbers(&args, 1),
        "numbers_mt" => numbers::numbers(&args, query.threads()),
        "zeros" => numbers::zeros(&args, 1),
        "zeros_mt" => numbers::zeros(&args, query.threads()),
        "file" => file::file(&args, query),
        "format" => format::format(&args, query),
        "generateRandom" => generate_random::generate_random(&args),
        "generate_series" | "generateSeries" => numbers::generate_series(&args),
        "null" => null::null(&args),
        name if name.eq_ignore_ascii_case("values") => values::values(&args),
        "dictionary" => dictionary::dictionary(&args, query),
        "remote" => remote::remote(&args, Transport::Plain, query),
        "remoteSecure" => remote::remote(&args, Transport::Tls, query),
        other => {
            let near = did_you_mean(other, NAMES.iter().copied());
            bail!(UnknownFunction, "table function `{other}` does not exist{near}")
        }
    }
}
