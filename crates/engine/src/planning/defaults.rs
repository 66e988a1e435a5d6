//! DEFAULT, MATERIALIZED and ALIAS expressions of a table: checked before the table has them.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Column, Columns, Result, bail};
use basalt_planner::{cast, plan_expr};
use basalt_sql::ast::{Expr, Literal};

use super::planning_context::PlanningContext;
use crate::execution::Execution;
use crate::tables::{ColumnDefinition, TableDefinition};

/// Parts of an expression at most, counted with every ALIAS column replaced by its expression.
const PARTS_MAX: usize = 500_000;

/// Plans the expressions of the columns that `is_meant` picks: names and types must fit, and none may depend on itself.
pub(crate) fn check_defaults(
    query: &Arc<Execution>,
    definition: &TableDefinition,
    is_meant: impl Fn(&str) -> bool,
) -> Result<()> {
    let all: Columns =
        definition.columns.iter().map(|column| Column::new(&column.name, column.ty.clone())).collect();
    let planning = PlanningContext::new(query, HashMap::new());
    let ctx = planning.context();
    let needs = Needs::of(definition);
    if let Some(at) = (0..definition.columns.len()).find(|&at| needs.goes_round(at)) {
        let name = &definition.columns[at].name;
        bail!(CyclicAliases, "the DEFAULT of column `{name}` needs its own value");
    }
    for (at, column) in definition.columns.iter().enumerate().filter(|(_, column)| is_meant(&column.name)) {
        let Some(expr) = column.default.as_ref().and_then(|default| default.expr.as_ref()) else {
            continue;
        };
        // NULL stands for the default of the type.
        if matches!(expr, Expr::Literal(Literal::Null)) {
            continue;
        }
        if needs.expanded(at) > PARTS_MAX {
            bail!(
                BadArguments,
                "query tree is too big: the expression of column `{}` has more than {PARTS_MAX} parts when every \
                 ALIAS column is replaced by its expression",
                column.name
            );
        }
        let planned = plan_expr(expr, &all, &ctx).and_then(|(value, ty)| cast(value, &ty, &column.ty, &ctx));
        planned.map_err(|error| error.within(format!("DEFAULT expression of column `{}`", column.name)))?;
    }
    Ok(())
}

/// For each column the positions of those that its expression names, and how many parts that has.
struct Needs<'d> {
    columns: &'d [ColumnDefinition],
    named: Vec<Vec<usize>>,
    parts: Vec<usize>,
}

impl Needs<'_> {
    fn of(definition: &TableDefinition) -> Needs<'_> {
        let columns = &definition.columns;
        let places: HashMap<&str, usize> =
            columns.iter().enumerate().map(|(at, column)| (column.name.as_str(), at)).collect();
        let (mut named, mut parts) = (Vec::new(), Vec::new());
        for column in columns {
            let expr = column.default.as_ref().and_then(|default| default.expr.as_ref());
            let names = expr.map(Expr::names).unwrap_or_default();
            named.push(names.iter().filter_map(|name| places.get(name.as_str()).copied()).collect());
            parts.push(expr.map_or(0, Expr::count));
        }
        Needs { columns, named, parts }
    }

    /// How many parts the expression of the column has when every column that is not stored is replaced by its
    /// expression; none may depend on itself.
    fn expanded(&self, column: usize) -> usize {
        let is_replaced = |at: usize| !self.columns[at].is_stored();
        let mut known: HashMap<usize, usize> = HashMap::new();
        let mut waiting = vec![column];
        while let Some(&at) = waiting.last() {
            let before = waiting.len();
            let replaced = self.named[at].iter().copied().filter(|&other| is_replaced(other));
            waiting.extend(replaced.clone().filter(|other| !known.contains_key(other)));
            if waiting.len() == before {
                let parts = replaced.map(|other| known[&other]).fold(self.parts[at], usize::saturating_add);
                known.insert(at, parts);
                waiting.pop();
            }
        }
        known[&column]
    }

    /// Whether the column depends on itself, directly or through others.
    fn goes_round(&self, column: usize) -> bool {
        let mut seen = vec![false; self.named.len()];
        let mut waiting = self.named[column].clone();
        while let Some(next) = waiting.pop() {
            if next == column {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                waiting.extend(&self.named[next]);
            }
        }
        false
    }
}
