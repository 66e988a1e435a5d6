//! The value of a constant DEFAULT: what rows hold that are older than their column.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Error, Result};
use basalt_dict::{Dictionaries, Dictionary};
use basalt_functions::FunctionContext;
use basalt_parts::Fill;
use basalt_planner::{
    Catalog, PlanSettings, PlannerContext, ResolvedTable, SubqueryRunner, TableOptions, plan_constant,
};
use basalt_sql::{ast, parse_type};
use datafusion::logical_expr::LogicalPlan;

use super::ColumnDefinition;

/// A database without anything in it: a constant needs nothing.
struct Nothing;

impl Catalog for Nothing {
    fn table(&self, _: &ast::ObjectName, _: &TableOptions) -> Result<ResolvedTable> {
        Err(not_constant())
    }

    fn table_function(&self, _: &ast::FunctionCall, _: &PlannerContext) -> Result<ResolvedTable> {
        Err(not_constant())
    }
}

impl SubqueryRunner for Nothing {
    fn run(&self, _: LogicalPlan) -> Result<Vec<RecordBatch>> {
        Err(not_constant())
    }
}

impl Dictionaries for Nothing {
    fn dictionary(&self, _: &str, _: &str) -> Result<Arc<dyn Dictionary>> {
        Err(not_constant())
    }
}

/// The value of the column's DEFAULT; `None` where there is none, or it is not a constant.
pub(super) fn fill_of(column: &ColumnDefinition) -> Result<Option<Fill>> {
    let Some(expr) = column.default.as_ref().and_then(|default| default.expr.as_ref()) else {
        return Ok(None);
    };
    let functions = FunctionContext {
        zone: Zone::utc(),
        now_us: 0,
        current_database: String::new(),
        current_user: String::new(),
        query_id: String::new(),
        version: crate::VERSION.to_owned(),
        uptime_seconds: 0,
        dictionaries: Arc::new(Nothing),
        settings: Arc::new(basalt_functions::NoSettings),
    };
    if depends_on_surroundings(expr) {
        return Ok(None);
    }
    let settings = PlanSettings { max_subquery_depth: 100, ..PlanSettings::default() };
    let context = PlannerContext {
        catalog: &Nothing,
        runner: &Nothing,
        functions: &functions,
        settings: &settings,
        parameters: &HashMap::new(),
    };
    let ty = parse_type(column.ty.to_string().as_bytes()).map_err(Error::logical)?;
    let cast = ast::Expr::Cast { operand: Box::new(expr.clone()), ty };
    Ok(plan_constant(&cast, &context).ok().map(|(value, _)| Fill::new(value)))
}

/// Whether the text calls anything at all: what a function answers may change with time, zone or chance.
fn depends_on_surroundings(expr: &ast::Expr) -> bool {
    let text = expr.to_string();
    text.contains('(') && !text.starts_with('\'')
}

fn not_constant() -> Error {
    Error::not_implemented("a DEFAULT that reads a table")
}
