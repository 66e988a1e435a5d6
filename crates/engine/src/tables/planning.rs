//! Plans the clauses of a table when it is opened, outside of a query.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Error, Result};
use basalt_dict::{Dictionaries, Dictionary};
use basalt_functions::{FunctionContext, ServerContext};
use basalt_planner::{Catalog, PlanSettings, PlannerContext, ResolvedTable, SubqueryRunner, TableOptions};
use basalt_sql::ast;
use datafusion::logical_expr::LogicalPlan;

/// The deepest nesting of expressions.
const DEPTH_MAX: usize = 100;

/// A database without anything in it: a clause of a table needs nothing but its columns.
struct Nothing;

impl Catalog for Nothing {
    fn table(&self, _: &ast::ObjectName, _: &TableOptions) -> Result<ResolvedTable> {
        Err(reads_a_table())
    }

    fn table_function(&self, _: &ast::FunctionCall, _: &PlannerContext) -> Result<ResolvedTable> {
        Err(reads_a_table())
    }
}

impl SubqueryRunner for Nothing {
    fn run(&self, _: LogicalPlan) -> Result<Vec<RecordBatch>> {
        Err(reads_a_table())
    }
}

impl Dictionaries for Nothing {
    fn dictionary(&self, _: &str, _: &str) -> Result<Arc<dyn Dictionary>> {
        Err(reads_a_table())
    }
}

/// Plans in a context that knows no tables, no session and no time; `zone` is that of a `DateTime`
/// without one.
pub(crate) fn plan_alone<T>(zone: Zone, plan: impl FnOnce(&PlannerContext<'_>) -> Result<T>) -> Result<T> {
    plan_at(zone, 0, plan)
}

/// [`plan_alone`], with `now_us` as the current time.
pub(super) fn plan_at<T>(
    zone: Zone,
    now_us: u64,
    plan: impl FnOnce(&PlannerContext<'_>) -> Result<T>,
) -> Result<T> {
    let functions = FunctionContext {
        zone,
        now_us,
        current_database: String::new(),
        current_user: String::new(),
        roles: basalt_functions::UserRoles::default(),
        query_id: String::new(),
        server: ServerContext { version: crate::VERSION.to_owned(), ..ServerContext::default() },
        dictionaries: Arc::new(Nothing),
        settings: Arc::new(basalt_functions::NoSettings),
        relations: Arc::new(basalt_functions::NoRelations),
    };
    let settings = PlanSettings { max_subquery_depth: DEPTH_MAX, ..PlanSettings::default() };
    plan(&PlannerContext {
        catalog: &Nothing,
        runner: &Nothing,
        functions: &functions,
        settings: &settings,
        parameters: &HashMap::new(),
        postgres: None,
    })
}

fn reads_a_table() -> Error {
    Error::not_implemented("a clause of a table that reads another table")
}
