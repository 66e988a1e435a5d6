//! The value of a constant DEFAULT: what rows hold that are older than their column.

use basalt_base::zone::Zone;
use basalt_base::{Error, Result};
use basalt_parts::Fill;
use basalt_planner::plan_constant;
use basalt_sql::{ast, parse_type};

use super::ColumnDefinition;
use super::planning::plan_alone;

/// The value of the column's DEFAULT; `None` where there is none, or it is not a constant.
pub(super) fn fill_of(column: &ColumnDefinition) -> Result<Option<Fill>> {
    let Some(expr) = column.default.as_ref().and_then(|default| default.expr.as_ref()) else {
        return Ok(None);
    };
    if depends_on_surroundings(expr) {
        return Ok(None);
    }
    let ty = parse_type(column.ty.to_string().as_bytes()).map_err(Error::logical)?;
    let cast = ast::Expr::Cast { operand: Box::new(expr.clone()), ty };
    let constant = plan_alone(Zone::utc(), |context| plan_constant(&cast, context));
    Ok(constant.ok().map(|(value, _)| Fill::new(value)))
}

/// Whether the text calls anything at all: what a function answers may change with time, zone or chance.
fn depends_on_surroundings(expr: &ast::Expr) -> bool {
    let text = expr.to_string();
    text.contains('(') && !text.starts_with('\'')
}
