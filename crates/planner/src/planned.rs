//! The result of planning: a plan, its columns, and the query's settings and format.

use basalt_base::Columns;
use basalt_sql::ast;
use datafusion::logical_expr::LogicalPlan;

/// A planned query.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The rows. The columns correspond to `columns` by position; the plan makes duplicate names unique.
    pub plan: LogicalPlan,
    /// The one row of `WITH TOTALS`, with the same columns.
    pub totals: Option<LogicalPlan>,
    /// Names and SQL types of the result.
    pub columns: Columns,
    /// Every SETTINGS clause, in the order in which they apply.
    pub settings: Vec<ast::Setting>,
    pub format: Option<String>,
}
