//! The answer of the planner: a plan, what its columns mean, and what the query asks of its surroundings.

use basalt_base::Columns;
use basalt_sql::ast;
use datafusion::logical_expr::LogicalPlan;

/// A planned query.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The rows. Its columns are those of `columns` by position; a name that the result has twice is
    /// made unique in the plan.
    pub plan: LogicalPlan,
    /// The one row of `WITH TOTALS`, with the same columns.
    pub totals: Option<LogicalPlan>,
    /// Names and SQL types of the result.
    pub columns: Columns,
    /// Every SETTINGS clause, in the order in which they apply.
    pub settings: Vec<ast::Setting>,
    pub format: Option<String>,
    pub into_outfile: Option<String>,
}
