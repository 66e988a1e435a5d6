//! A value of a group of rows that some code other than a query groups: aggregates, and expressions over them.

use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast;
use datafusion::logical_expr::Expr;

use crate::bound_expr::{BoundExpr, collect, contains, is_aggregate, is_column, replace};
use crate::catalog::PlannerContext;
use crate::scope::bare_column;
use crate::{bare_scope, bind_over, expr};

/// An expression over aggregates, planned in two steps.
#[derive(Clone, Debug)]
pub struct GroupValue {
    /// Aggregate functions over the columns of the rows. A column outside an aggregate is the `any` of its group.
    pub calls: Vec<Expr>,
    /// An expression over the results, which are columns named by [`GroupValue::result_name`].
    pub value: Expr,
}

impl GroupValue {
    /// The column with the results of the call at `index`.
    pub fn result_name(index: usize) -> String {
        format!("result_{index}")
    }

    /// Plans `expr`, converted to the type `to`, over groups of rows of `columns`; `None` if it has no aggregate
    /// function.
    pub fn plan(
        expr: &ast::Expr,
        to: &SqlType,
        columns: &Columns,
        ctx: &PlannerContext<'_>,
    ) -> Result<Option<GroupValue>> {
        let scope = bare_scope(columns);
        let bound = bind_over(&scope, ctx, |binder| binder.bind(expr))?.into_value();
        if !contains(&bound.expr, is_aggregate) {
            return Ok(None);
        }
        let mut parts = Vec::new();
        collect(&bound.expr, |part| is_aggregate(part) || is_column(part), &mut parts);
        let (mut calls, mut replacements) =
            (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
        for (index, part) in parts.into_iter().enumerate() {
            let call = match &part {
                Expr::Column(column) => {
                    bind_over(&scope, ctx, |binder| binder.bind(&GroupValue::any_of(&column.name)))?.expr
                }
                call => call.clone(),
            };
            replacements.push((part, bare_column(&GroupValue::result_name(index))));
            calls.push(call);
        }
        let value = BoundExpr::new(replace(bound.expr, &replacements)?, bound.ty);
        let value = expr::convert(value, to, ctx)?.expr;
        Ok(Some(GroupValue { calls, value }))
    }

    /// `any(column)`: the first value that is not NULL.
    pub fn any_of(column: &str) -> ast::Expr {
        ast::Expr::Function(ast::FunctionCall {
            name: "any".to_owned(),
            parameters: Vec::new(),
            distinct: false,
            args: vec![ast::Expr::Identifier(vec![column.to_owned()])],
            filter: None,
            over: None,
        })
    }
}
