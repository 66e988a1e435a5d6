//! What does that mean against this catalog? Syntax tree to DataFusion `LogicalPlan`.
//!
//! - [`plan_query`]: a whole SELECT.
//! - [`plan_expr`]: an expression over the columns of one table (DEFAULT, keys, filters of mutations).
//! - [`plan_constant`]: an expression without columns, evaluated.
//! - [`cast`]: converts an expression from one SQL type to another, as INSERT does.

mod catalog;
mod planned;

pub use catalog::{
    Catalog, PlanSettings, PlannerContext, ResolvedTable, SubqueryRunner, TableColumn, TableOptions,
};
pub use planned::Planned;

use arrow::array::ArrayRef;
use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast;
use datafusion::logical_expr::Expr;

/// Plans a query against `ctx`.
pub fn plan_query(query: &ast::Query, ctx: &PlannerContext<'_>) -> Result<Planned> {
    let _ = (query, ctx);
    Err(basalt_base::Error::not_implemented("SELECT"))
}

/// Plans an expression over `columns`, which it names without a qualifier; in the plan they are
/// unqualified columns.
pub fn plan_expr(expr: &ast::Expr, columns: &Columns, ctx: &PlannerContext<'_>) -> Result<(Expr, SqlType)> {
    let _ = (expr, columns, ctx);
    Err(basalt_base::Error::not_implemented("expressions"))
}

/// Evaluates an expression without columns; answers with an array of one row.
pub fn plan_constant(expr: &ast::Expr, ctx: &PlannerContext<'_>) -> Result<(ArrayRef, SqlType)> {
    let _ = (expr, ctx);
    Err(basalt_base::Error::not_implemented("constants"))
}

/// `expr` of type `from` as `to`, by the rules of `CAST`.
pub fn cast(expr: Expr, from: &SqlType, to: &SqlType, ctx: &PlannerContext<'_>) -> Result<Expr> {
    let _ = (expr, from, to, ctx);
    Err(basalt_base::Error::not_implemented("CAST"))
}
