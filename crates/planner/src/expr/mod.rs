//! Expressions: from syntax to a DataFusion expression with its SQL type.

mod aggregate;
mod case;
mod compare;
mod compare_tuples;
mod convert;
mod fit;
mod fold;
mod function;
mod identifier;
mod in_frame;
mod in_set;
mod in_values;
mod lambda;
mod lazy_default;
mod literal;
mod operator;
mod parameter;
mod subquery;
mod window;

pub use aggregate::COMBINATORS;
pub(crate) use convert::{convert, convert_exactly, convert_for, unify};
pub(crate) use fold::evaluate;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast;
use datafusion::logical_expr::Expr;

use crate::bound_expr::{BoundExpr, contains, is_aggregate, is_argument, is_column, is_unnest, is_window};
use crate::names::canonical;
use crate::scope::{Aliases, Env, Scope};
use crate::session::Session;

/// The ALIAS columns of a scope that are already bound.
type AliasColumns = Rc<RefCell<HashMap<(Option<usize>, String), BoundExpr>>>;

/// Binds expressions over one scope.
pub(crate) struct Binder<'s> {
    pub(crate) session: &'s Session<'s>,
    pub(crate) env: &'s Env,
    pub(crate) scope: &'s Scope,
    pub(crate) aliases: &'s Aliases,
    pub(crate) windows: &'s [(ast::Ident, ast::WindowSpec)],
    /// Aliases whose definitions are being bound: inside, their names mean columns.
    expanding: RefCell<Vec<String>>,
    expanded: RefCell<HashMap<String, BoundExpr>>,
    /// Bound ALIAS columns, by table and name.
    alias_columns: AliasColumns,
    in_aggregate: Cell<bool>,
}

impl<'s> Binder<'s> {
    pub(crate) fn new(
        session: &'s Session<'s>,
        env: &'s Env,
        scope: &'s Scope,
        aliases: &'s Aliases,
        windows: &'s [(ast::Ident, ast::WindowSpec)],
    ) -> Binder<'s> {
        Binder {
            session,
            env,
            scope,
            aliases,
            windows,
            expanding: RefCell::default(),
            expanded: RefCell::default(),
            alias_columns: AliasColumns::default(),
            in_aggregate: Cell::new(false),
        }
    }

    /// Starts inside the definitions of the aliases `names`.
    pub(crate) fn start_inside(&self, names: &[String]) {
        self.expanding.borrow_mut().extend_from_slice(names);
    }

    /// Binds an expression with one value.
    pub(crate) fn bind(&self, expr: &ast::Expr) -> Result<BoundExpr> {
        let _depth = match expr {
            ast::Expr::Literal(_) => self.session.enter_literal()?,
            _ => self.session.enter_expr()?,
        };
        match expr {
            ast::Expr::Literal(literal) => literal::bind(literal),
            ast::Expr::Identifier(parts) => self.bind_identifier(parts),
            ast::Expr::Parameter { name, ty } => self.bind_parameter(name, ty),
            ast::Expr::Unary { op, operand } => self.bind_unary(*op, operand),
            ast::Expr::Binary { op, left, right } => self.bind_binary(*op, left, right),
            ast::Expr::Between { operand, low, high, negated } => {
                self.bind_between(operand, low, high, *negated)
            }
            ast::Expr::IsNull { operand, negated } => self.bind_is_null(operand, *negated),
            ast::Expr::In { operand, right, negated, .. } => self.bind_in(operand, right, *negated),
            ast::Expr::Case { operand, branches, otherwise } => {
                self.bind_case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ast::Expr::Ternary { condition, then, otherwise } => {
                self.bind_if(std::slice::from_ref(&(condition.as_ref(), then.as_ref())), Some(otherwise))
            }
            ast::Expr::Cast { operand, ty } => self.bind_cast(operand, ty),
            ast::Expr::Alias { value, .. } => self.bind(value),
            ast::Expr::Interval { value, unit } => self.bind_interval(value, *unit),
            ast::Expr::Function(call) => self.bind_call(call),
            ast::Expr::Lambda(_) => Err(Error::new(
                ErrorCode::BadArguments,
                format!(
                    "a lambda is only allowed as the first argument of a function: `{}`",
                    canonical(expr)
                ),
            )),
            ast::Expr::Subquery(query) => self.bind_scalar_subquery(query),
            ast::Expr::Exists(query) => self.bind_exists(query),
            ast::Expr::Asterisk { .. } | ast::Expr::ColumnsMatching(_) => self.bind_single(expr),
            _ => self.bind_composite(expr),
        }
    }

    /// Arrays, tuples, maps and the access to their elements: calls of functions.
    fn bind_composite(&self, expr: &ast::Expr) -> Result<BoundExpr> {
        match expr {
            ast::Expr::Array(elements) => self.call_over("array", elements),
            ast::Expr::Tuple(elements) => self.call_over("tuple", elements),
            ast::Expr::Map(pairs) => {
                let flat: Vec<ast::Expr> =
                    pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
                self.call_over("map", &flat)
            }
            ast::Expr::ArrayElement { array, index } => {
                let args = vec![self.bind(array)?, self.bind(index)?];
                self.call("arrayElement", args)
            }
            ast::Expr::TupleElement { tuple, index } => {
                let tuple = self.bind(tuple)?;
                self.tuple_element_at(tuple, *index)
            }
            ast::Expr::Field { value, name } => {
                let value = self.bind(value)?;
                self.tuple_element_named(value, name)
            }
            other => Err(Error::logical(format!("the expression `{}` has no binding", canonical(other)))),
        }
    }

    /// Binds a list in which `*` and COLUMNS expand to several values.
    pub(crate) fn bind_list(&self, exprs: &[ast::Expr]) -> Result<Vec<BoundExpr>> {
        let mut bound = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match expr {
                ast::Expr::Asterisk { .. } | ast::Expr::ColumnsMatching(_) => {
                    bound.extend(self.expand_columns(expr)?.into_iter().map(|(_, column)| column));
                }
                other => bound.push(self.bind(other)?),
            }
        }
        Ok(bound)
    }

    fn bind_single(&self, expr: &ast::Expr) -> Result<BoundExpr> {
        match <[(String, BoundExpr); 1]>::try_from(self.expand_columns(expr)?) {
            Ok([(_, column)]) => Ok(column),
            Err(columns) => Err(Error::new(
                ErrorCode::BadArguments,
                format!(
                    "`{}` stands for {} columns where one value is needed",
                    canonical(expr),
                    columns.len()
                ),
            )),
        }
    }

    /// Binds a condition on rows, without aggregates and windows.
    pub(crate) fn bind_filter(&self, expr: &ast::Expr, clause: &str) -> Result<Expr> {
        let condition = self.bind(expr)?.into_filter()?;
        if contains(&condition, is_aggregate) || contains(&condition, is_window) {
            bail!(IllegalAggregation, "an aggregate or window function in {clause}: `{}`", canonical(expr));
        }
        Ok(condition)
    }

    /// Binds an expression over constants: no column, no aggregate.
    pub(crate) fn bind_constant(&self, expr: &ast::Expr) -> Result<BoundExpr> {
        let bound = self.bind(expr)?.into_value();
        if bound.constant().is_some() {
            return Ok(bound);
        }
        if contains(&bound.expr, |part| {
            is_column(part) || is_argument(part) || is_aggregate(part) || is_window(part) || is_unnest(part)
        }) {
            bail!(BadArguments, "`{}` is not a constant", canonical(expr));
        }
        let value = evaluate(&bound.expr)?;
        Ok(BoundExpr::literal(value, bound.ty))
    }
}
