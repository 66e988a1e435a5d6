//! Relations of FROM: the names around them, and the relation of a planned query.

use std::sync::Arc;

use basalt_base::{Error, Result, SqlType};
use datafusion::common::{DFSchema, ScalarValue, TableReference};
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan};

use crate::plan::{Subplan, aliased};
use crate::scope::{Aliases, ColumnValue, Env, Relation, Scope, ScopeColumn, ScopeTable, plan_column};
use crate::session::Session;

/// The names that FROM may use: WITH queries, and in ON the aliases of the SELECT.
#[derive(Clone, Copy)]
pub(super) struct FromNames<'n> {
    pub(super) env: &'n Env,
    pub(super) aliases: &'n Aliases,
}

/// A SELECT without FROM reads `system.one`: one row with the one column `dummy`.
pub(super) fn one_row() -> Relation {
    let dummy = ScopeColumn {
        table: None,
        name: "dummy".to_owned(),
        ty: SqlType::UInt8,
        value: ColumnValue::Plan(Expr::Literal(ScalarValue::UInt8(Some(0)), None)),
        in_asterisk: true,
        only_qualified: false,
        is_constant: false,
    };
    let scope = Scope { tables: vec![], columns: vec![dummy] };
    Relation {
        plan: LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: true,
            schema: Arc::new(DFSchema::empty()),
        }),
        scope,
        totals: None,
    }
}

/// The relation of a planned query.
pub(super) fn derived(session: &Session<'_>, planned: Subplan, table: ScopeTable) -> Result<Relation> {
    let stem = if table.name.is_empty() { "subquery" } else { &table.name };
    let relation = session.unique(stem);
    let plan = aliased(planned.plan, &relation)?;
    let totals = planned.totals.map(|totals| aliased(totals, &relation)).transpose()?;
    let relation = TableReference::bare(relation);
    let columns = planned
        .columns
        .into_iter()
        .zip(planned.names.iter().zip(planned.constants))
        .map(|(column, (plan_name, is_constant))| ScopeColumn {
            table: Some(0),
            value: ColumnValue::Plan(plan_column(&relation, plan_name)),
            name: column.name,
            ty: column.ty,
            in_asterisk: true,
            only_qualified: false,
            is_constant,
        })
        .collect();
    Ok(Relation { plan, scope: Scope { tables: vec![table], columns }, totals })
}

/// The plan expression of a column; ALIAS columns are refused.
pub(super) fn stored(column: &ScopeColumn) -> Result<&Expr> {
    match &column.value {
        ColumnValue::Plan(expr) => Ok(expr),
        ColumnValue::Alias(_) => {
            Err(Error::not_implemented(format!("the ALIAS column `{}` here", column.name)))
        }
    }
}
