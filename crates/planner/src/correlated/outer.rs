//! The outer query, as a subquery sees it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use basalt_base::Result;
use datafusion::common::{Column as PlanColumn, TableReference};
use datafusion::logical_expr::Expr;

use crate::bound_expr::BoundExpr;
use crate::expr::Binder;
use crate::scope::{Aliases, Env, Scope};
use crate::session::Session;

/// Resolves names in the outer query. Each resolved name becomes an argument of the subquery.
#[derive(Debug)]
pub(crate) struct Outer {
    scope: Scope,
    aliases: Aliases,
    env: Env,
    /// Aliases whose definition contains the subquery.
    expanding: Vec<String>,
    /// The relation that holds the arguments in the plan of the subquery.
    pub(super) relation: String,
    arguments: RefCell<Vec<Argument>>,
    /// Whether the subquery used a name from here. A constant counts, but is not an argument.
    is_named: Cell<bool>,
}

/// A value of the outer query that the subquery uses.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// An expression over the outer query.
    pub(super) value: BoundExpr,
    /// The name in the subquery, unique among the arguments of the whole query.
    pub(super) name: String,
}

impl Outer {
    pub(crate) fn of(binder: &Binder<'_>, expanding: Vec<String>) -> Outer {
        Outer {
            scope: binder.scope.clone(),
            aliases: binder.aliases.clone(),
            env: binder.env.clone(),
            expanding,
            relation: binder.session.unique("__outer"),
            arguments: RefCell::default(),
            is_named: Cell::new(false),
        }
    }

    /// The value of a name, if the outer query or a query further out knows it.
    pub(crate) fn find(&self, session: &Session<'_>, parts: &[String]) -> Result<Option<BoundExpr>> {
        let binder = Binder::new(session, &self.env, &self.scope, &self.aliases, &[]);
        binder.start_inside(&self.expanding);
        let Some(found) = binder.find_identifier(parts)? else {
            return Ok(None);
        };
        self.is_named.set(true);
        let value = found.into_value();
        match value.constant() {
            Some(_) => Ok(Some(value)),
            None => Ok(Some(self.argument(session, value))),
        }
    }

    fn argument(&self, session: &Session<'_>, value: BoundExpr) -> BoundExpr {
        let mut arguments = self.arguments.borrow_mut();
        let known = arguments.iter().position(|argument| argument.value.expr == value.expr);
        let at = known.unwrap_or_else(|| {
            arguments.push(Argument { value: value.clone(), name: session.unique("__argument") });
            arguments.len() - 1
        });
        let name = &arguments[at].name;
        let field: FieldRef = Arc::new(Field::new(name, value.ty.carrier(), true));
        let column = PlanColumn::new(Some(TableReference::bare(self.relation.as_str())), name);
        BoundExpr::new(Expr::OuterReferenceColumn(field, column), value.ty)
    }

    /// Whether the meaning of the subquery depends on the names of the outer query.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named.get()
    }

    /// All arguments recorded so far.
    pub(crate) fn arguments(&self) -> Vec<Argument> {
        self.arguments.borrow().clone()
    }
}
