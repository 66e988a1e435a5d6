//! Joins the arguments into the plan of a subquery.

use std::cell::RefCell;
use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_exec::limit_by::LimitBy;
use basalt_exec::row_order::{self, InOrder};
use basalt_exec::set_operation::SetOperation;
use basalt_exec::shared::Shared;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column as PlanColumn, TableReference};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Extension, FetchType, LogicalPlan, LogicalPlanBuilder, SkipType, Union, Window,
};

use super::outer::Argument;
use crate::float_keys;
use crate::float_keys::limit_by;
use crate::plan::{aliased, filtered, plan_error, projected, shared};
use crate::session::Session;

/// The distinct arguments of a subquery.
pub(super) struct Domain<'a> {
    pub(super) session: &'a Session<'a>,
    /// The relation under which the subquery refers to the arguments.
    pub(super) relation: &'a str,
    pub(super) arguments: &'a [Argument],
    /// One row per combination of arguments, with a column for each argument under its name.
    pub(super) plan: LogicalPlan,
    /// Shared nodes that are already unnested, with their results.
    pub(super) shared: RefCell<Vec<(Shared, Unnested)>>,
}

/// A plan with rows for each row of the domain, and the columns that hold the arguments.
#[derive(Clone)]
pub(super) struct Unnested {
    pub(super) plan: LogicalPlan,
    pub(super) keys: Vec<PlanColumn>,
    /// Whether each row of the domain has at most one row.
    pub(super) has_one_row: bool,
}

impl Unnested {
    pub(super) fn new(plan: LogicalPlan, keys: Vec<PlanColumn>) -> Unnested {
        Unnested { plan, keys, has_one_row: false }
    }

    /// The result of `next`, which adds no rows.
    fn then(self, next: impl FnOnce(LogicalPlan) -> Result<LogicalPlan>) -> Result<Unnested> {
        Ok(Unnested { plan: next(self.plan)?, ..self })
    }

    pub(super) fn key_exprs(&self) -> Vec<Expr> {
        self.keys.iter().cloned().map(Expr::Column).collect()
    }
}

impl Domain<'_> {
    /// Unnests `plan`: its rows for every row of the domain.
    pub(super) fn unnest(&self, plan: LogicalPlan) -> Result<Unnested> {
        if !self.is_used_in(&plan) {
            return self.cross(plan);
        }
        let _depth = self.session.enter_expr()?;
        let input = |input: Arc<LogicalPlan>| self.unnest(Arc::unwrap_or_clone(input));
        match plan {
            LogicalPlan::Projection(node) => {
                let inner = input(node.input)?;
                let mut exprs = self.replace_all(node.expr, &inner.keys)?;
                exprs.extend(inner.key_exprs());
                inner.then(|plan| projected(plan, exprs))
            }
            LogicalPlan::Filter(node) => {
                let inner = input(node.input)?;
                let predicate = self.replace(node.predicate, &inner.keys)?;
                inner.then(|plan| filtered(plan, predicate))
            }
            LogicalPlan::SubqueryAlias(node) => {
                let inner = input(node.input)?;
                let keys = inner.keys.iter().map(|key| PlanColumn::new(Some(node.alias.clone()), &key.name));
                let keys = keys.collect();
                let aliased = inner.then(|plan| built(LogicalPlanBuilder::from(plan).alias(node.alias)))?;
                Ok(Unnested { keys, ..aliased })
            }
            LogicalPlan::Aggregate(node) => self.aggregate(node),
            LogicalPlan::Join(node) => self.join(node),
            LogicalPlan::Sort(node) => {
                let inner = input(node.input)?;
                let mut sort = node.expr;
                for key in &mut sort {
                    key.expr = self.replace(std::mem::take(&mut key.expr), &inner.keys)?;
                }
                inner.then(|plan| built(LogicalPlanBuilder::from(plan).sort(sort)))
            }
            LogicalPlan::Limit(node) => self.limit(&node),
            LogicalPlan::Distinct(Distinct::All(rows)) => input(rows)?.then(float_keys::distinct),
            LogicalPlan::Union(node) => self.union(node),
            LogicalPlan::Window(node) => self.window(node),
            LogicalPlan::Extension(node) => self.extension(&node),
            LogicalPlan::Unnest(node) => {
                let inner = input(node.input)?;
                let plan = LogicalPlanBuilder::from(inner.plan);
                let plan = plan.unnest_columns_with_options(node.exec_columns, node.options);
                Ok(Unnested::new(built(plan)?, inner.keys))
            }
            _ => Err(not_built("this clause")),
        }
    }

    /// Whether `plan` uses the arguments anywhere.
    pub(super) fn is_used_in(&self, plan: &LogicalPlan) -> bool {
        plan.exists(|node| Ok(node.expressions().iter().any(|expr| self.is_named_in(expr)))).unwrap_or(true)
    }

    pub(super) fn is_named_in(&self, expr: &Expr) -> bool {
        expr.exists(|part| Ok(self.argument_of(part).is_some())).unwrap_or(true)
    }

    fn argument_of(&self, part: &Expr) -> Option<usize> {
        let Expr::OuterReferenceColumn(_, column) = part else { return None };
        let relation = column.relation.as_ref()?;
        (relation.table() == self.relation)
            .then(|| self.arguments.iter().position(|argument| argument.name == column.name))
            .flatten()
    }

    /// `expr` with the columns `keys` in place of the arguments.
    pub(super) fn replace(&self, expr: Expr, keys: &[PlanColumn]) -> Result<Expr> {
        let replaced = expr.transform_down(|part| {
            Ok(match self.argument_of(&part) {
                Some(at) => Transformed::new(Expr::Column(keys[at].clone()), true, TreeNodeRecursion::Jump),
                None => Transformed::no(part),
            })
        });
        replaced.map(|replaced| replaced.data).map_err(plan_error)
    }

    fn replace_all(&self, exprs: Vec<Expr>, keys: &[PlanColumn]) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.replace(expr, keys)).collect()
    }

    /// The cross product of the domain and `plan`.
    fn cross(&self, plan: LogicalPlan) -> Result<Unnested> {
        let relation = self.session.unique("__domain");
        let domain = aliased(self.plan.clone(), &relation)?;
        let key = |argument: &Argument| {
            PlanColumn::new(Some(TableReference::bare(relation.as_str())), argument.name.as_str())
        };
        let keys = self.arguments.iter().map(key).collect();
        Ok(Unnested::new(built(LogicalPlanBuilder::from(domain).cross_join(plan))?, keys))
    }

    fn aggregate(&self, node: Aggregate) -> Result<Unnested> {
        if node.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return Err(not_built("ROLLUP, CUBE or GROUPING SETS"));
        }
        let inner = self.unnest(Arc::unwrap_or_clone(node.input))?;
        let has_one_row = node.group_expr.is_empty();
        let mut groups = self.replace_all(node.group_expr, &inner.keys)?;
        groups.extend(inner.key_exprs());
        let calls = self.replace_all(node.aggr_expr, &inner.keys)?;
        let plan = float_keys::aggregate(inner.plan, groups, calls)?;
        Ok(Unnested { plan, keys: inner.keys, has_one_row })
    }

    fn limit(&self, node: &datafusion::logical_expr::Limit) -> Result<Unnested> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (node.get_skip_type().map_err(plan_error)?, node.get_fetch_type().map_err(plan_error)?)
        else {
            return Err(not_built("LIMIT by an expression"));
        };
        let inner = self.unnest(node.input.as_ref().clone())?;
        let (keys, fetch) = (inner.key_exprs(), fetch.map_or(u64::MAX, |rows| rows as u64));
        let has_one_row = inner.has_one_row || fetch <= 1;
        let plan = limit_by(in_order(inner.plan)?, keys, skip as u64, fetch)?;
        Ok(Unnested { plan, keys: inner.keys, has_one_row })
    }

    fn union(&self, node: Union) -> Result<Unnested> {
        let columns = node.schema.fields().len();
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for input in node.inputs {
            inputs.push(Arc::new(self.side(Arc::unwrap_or_clone(input))?));
        }
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs).map_err(plan_error)?);
        let keys = plan.schema().columns().split_off(columns);
        Ok(Unnested::new(plan, keys))
    }

    /// A side of a set operation: its columns, followed by the arguments under their names.
    fn side(&self, input: LogicalPlan) -> Result<LogicalPlan> {
        let names = input.schema().columns();
        let inner = self.unnest(input)?;
        let mut exprs: Vec<Expr> = names.into_iter().map(Expr::Column).collect();
        let arguments = self.arguments.iter().zip(inner.keys);
        exprs.extend(arguments.map(|(argument, key)| Expr::Column(key).alias(&argument.name)));
        projected(inner.plan, exprs)
    }

    /// INTERSECT and EXCEPT within the rows of each domain row.
    fn set_operation(&self, node: &SetOperation) -> Result<Unnested> {
        let columns = node.left.schema().fields().len();
        let (of_left, of_right) = node.keys.split_at(node.keys.len() / 2);
        let mut keys = Vec::with_capacity(node.keys.len() + 2 * self.arguments.len());
        let mut sides = Vec::with_capacity(2);
        for (input, of_side) in [(&node.left, of_left), (&node.right, of_right)] {
            let side = self.side(input.as_ref().clone())?;
            keys.extend_from_slice(of_side);
            for argument in side.schema().columns().split_off(columns) {
                keys.push(float_keys::key(Expr::Column(argument), side.schema())?);
            }
            sides.push(Arc::new(side));
        }
        let Ok([left, right]) = <[Arc<LogicalPlan>; 2]>::try_from(sides) else {
            return Err(Error::logical("INTERSECT and EXCEPT have two sides"));
        };
        let arguments = left.schema().columns().split_off(columns);
        let node = SetOperation { operation: node.operation, left, right, keys };
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(node) });
        Ok(Unnested::new(plan, arguments))
    }

    /// A window covers the rows of one domain row. Its column keeps its name.
    fn window(&self, node: Window) -> Result<Unnested> {
        let names = node.schema.columns();
        let inner = self.unnest(Arc::unwrap_or_clone(node.input))?;
        let mut calls = Vec::with_capacity(node.window_expr.len());
        for expr in node.window_expr {
            let old = PlanColumn::new_unqualified(expr.schema_name().to_string());
            let Expr::WindowFunction(call) = self.replace(expr, &inner.keys)? else {
                return Err(not_built("this window function"));
            };
            let WindowFunction { fun, mut params } = *call;
            params.partition_by.extend(inner.key_exprs());
            calls.push((old, Expr::WindowFunction(Box::new(WindowFunction { fun, params }))));
        }
        let windows = calls.iter().map(|(_, call)| call.clone()).collect::<Vec<_>>();
        let plan = LogicalPlanBuilder::window_plan(inner.plan.clone(), windows).map_err(plan_error)?;
        let renamed = |column: PlanColumn| match calls.iter().find(|(old, _)| *old == column) {
            Some((old, call)) => {
                Expr::Column(PlanColumn::new_unqualified(call.schema_name().to_string())).alias(&old.name)
            }
            None => Expr::Column(column),
        };
        let mut exprs: Vec<Expr> = names.into_iter().map(renamed).collect();
        exprs.extend(inner.key_exprs());
        Ok(Unnested { plan: projected(plan, exprs)?, ..inner })
    }

    fn extension(&self, node: &Extension) -> Result<Unnested> {
        if let Some(rows) = node.node.as_any().downcast_ref::<Shared>() {
            return self.shared(rows);
        }
        if let Some(sorted) = node.node.as_any().downcast_ref::<InOrder>() {
            return self.unnest(sorted.input.as_ref().clone())?.then(in_order);
        }
        if let Some(operation) = node.node.as_any().downcast_ref::<SetOperation>() {
            return self.set_operation(operation);
        }
        let Some(first_rows) = node.node.as_any().downcast_ref::<LimitBy>() else {
            return Err(not_built("this clause"));
        };
        let inner = self.unnest(first_rows.input.as_ref().clone())?;
        let mut keys = self.replace_all(first_rows.keys.clone(), &inner.keys)?;
        keys.extend(inner.key_exprs());
        inner.then(|plan| limit_by(in_order(plan)?, keys, first_rows.offset, first_rows.limit))
    }

    fn shared(&self, node: &Shared) -> Result<Unnested> {
        let known = self.shared.borrow().iter().find(|(known, _)| known.is_same(node)).cloned();
        if let Some((_, known)) = known {
            return Ok(known);
        }
        let inner = self.unnest(node.input().clone())?.then(|plan| Ok(shared(plan)))?;
        self.shared.borrow_mut().push((node.clone(), inner.clone()));
        Ok(inner)
    }
}

/// Keeps the order of `plan`, on which a limit or an aggregate function above depends.
fn in_order(plan: LogicalPlan) -> Result<LogicalPlan> {
    row_order::kept(plan).map_err(plan_error)
}

fn built(builder: datafusion::common::Result<LogicalPlanBuilder>) -> Result<LogicalPlan> {
    builder.and_then(LogicalPlanBuilder::build).map_err(plan_error)
}

pub(super) fn not_built(what: impl std::fmt::Display) -> Error {
    Error::not_implemented(format!("{what} in a correlated subquery"))
}
