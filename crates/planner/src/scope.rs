//! The names that an expression may use: columns of the tables in FROM, aliases, and names from WITH.

use std::collections::HashMap;
use std::rc::Rc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_sql::ast;
use datafusion::common::{Column as PlanColumn, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::correlated::Outer;

/// A relation of FROM: rows, and the names of their columns.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub(crate) plan: LogicalPlan,
    pub(crate) scope: Scope,
    /// The row of WITH TOTALS of a subquery, with the columns of `plan`.
    pub(crate) totals: Option<LogicalPlan>,
}

/// The visible columns, in the order of `*`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
    pub(crate) columns: Vec<ScopeColumn>,
}

/// A table as qualifiers refer to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeTable {
    pub(crate) database: Option<String>,
    /// The alias, or else the table's own name; empty for a subquery without one.
    pub(crate) name: String,
    /// The table's own name, if an alias hides it.
    pub(crate) original: Option<String>,
    /// Whether PREWHERE may use its columns.
    pub(crate) has_prewhere: bool,
}

/// One column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    /// Position in [`Scope::tables`]; `None` for a column without a table, such as a USING column.
    pub(crate) table: Option<usize>,
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) value: ColumnValue,
    pub(crate) in_asterisk: bool,
    /// Only `t.name` refers to it: a USING column is found once under its bare name.
    pub(crate) only_qualified: bool,
    /// Whether a subquery gives the same constant in each row.
    pub(crate) is_constant: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum ColumnValue {
    Plan(Expr),
    /// An ALIAS column, bound where it is used.
    Alias(Rc<ast::Expr>),
}

/// The column that a list of name parts refers to.
pub(crate) struct Found<'s> {
    pub(crate) column: &'s ScopeColumn,
    /// How many of the parts name the column; the rest are elements of its tuple.
    pub(crate) used_parts: usize,
    /// How many of these are the qualifier.
    pub(crate) qualifier_parts: usize,
}

impl Scope {
    /// Resolves a name: `a`, `t.a`, `db.t.a`, or `a.element` with unused parts.
    pub(crate) fn find(&self, parts: &[String]) -> Result<Option<Found<'_>>> {
        for used_parts in (1..=parts.len()).rev() {
            for qualifier_parts in 0..used_parts.min(3) {
                let name = parts[qualifier_parts..used_parts].join(".");
                let matching: Vec<&ScopeColumn> = self
                    .columns
                    .iter()
                    .filter(|column| {
                        column.name == name && self.is_qualified_by(column, &parts[..qualifier_parts])
                    })
                    .collect();
                // If several tables have a column with that name, the leftmost table wins.
                if let Some(column) = matching.into_iter().min_by_key(|column| column.table) {
                    return Ok(Some(Found { column, used_parts, qualifier_parts }));
                }
            }
        }
        Ok(None)
    }

    /// The column that `parts` would refer to if case did not matter, as it does not for Postgres' clients.
    pub(crate) fn respelled(&self, parts: &[String]) -> Option<&ScopeColumn> {
        let (name, qualifier) = parts.split_last()?;
        self.columns.iter().find(|column| {
            let table = column.table.and_then(|at| self.tables.get(at));
            let is_qualified = match (qualifier.last(), table) {
                (None, _) => true,
                (Some(qualifier), Some(table)) => table.name.eq_ignore_ascii_case(qualifier),
                (Some(_), None) => false,
            };
            is_qualified && column.name.eq_ignore_ascii_case(name)
        })
    }

    /// Whether `qualifier` (possibly empty) names the table of `column`.
    pub(crate) fn is_qualified_by(&self, column: &ScopeColumn, qualifier: &[String]) -> bool {
        if qualifier.is_empty() {
            return !column.only_qualified;
        }
        let Some(table) = column.table.and_then(|at| self.tables.get(at)) else {
            return false;
        };
        table.is_named(qualifier)
    }

    /// Whether `expr` is a plan column that is constant in a subquery.
    pub(crate) fn is_constant(&self, expr: &Expr) -> bool {
        let is_it = |column: &ScopeColumn| matches!(&column.value, ColumnValue::Plan(value) if value == expr);
        self.columns.iter().any(|column| column.is_constant && is_it(column))
    }

    /// UNKNOWN_IDENTIFIER, with the nearest known name.
    pub(crate) fn unknown<'n>(&'n self, name: &str, others: impl Iterator<Item = &'n str>) -> Error {
        let names = self.columns.iter().map(|column| column.name.as_str()).chain(others);
        let hint = did_you_mean(name, names);
        let tables: Vec<String> = self
            .tables
            .iter()
            .filter(|table| !table.name.is_empty())
            .map(|table| format!("`{}`", table.display()))
            .collect();
        let place = if tables.is_empty() { String::new() } else { format!(" in {}", tables.join(", ")) };
        Error::new(ErrorCode::UnknownIdentifier, format!("column `{name}` not found{place}{hint}"))
    }

    /// The columns of both scopes, as in a join.
    pub(crate) fn join(mut self, other: Scope) -> Scope {
        let shift = self.tables.len();
        self.tables.extend(other.tables);
        self.columns.extend(other.columns.into_iter().map(|mut column| {
            column.table = column.table.map(|table| table + shift);
            column
        }));
        self
    }
}

impl ScopeTable {
    pub(crate) fn is_named(&self, qualifier: &[String]) -> bool {
        let names = |name: &str| name == self.name || self.original.as_deref() == Some(name);
        match qualifier {
            [name] => !name.is_empty() && names(name),
            [database, name] => self.database.as_deref() == Some(database.as_str()) && names(name),
            _ => false,
        }
    }

    pub(crate) fn display(&self) -> String {
        match &self.database {
            Some(database) => format!("{database}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The expression that reads column `name` of the plan relation `relation`.
pub(crate) fn plan_column(relation: &TableReference, name: &str) -> Expr {
    Expr::Column(PlanColumn::new(Some(relation.clone()), name))
}

pub(crate) fn bare_column(name: &str) -> Expr {
    Expr::Column(PlanColumn::new_unqualified(name))
}

/// The WITH definitions so far, from the outermost query inwards; later entries hide earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    queries: Vec<Rc<CteQuery>>,
    exprs: Vec<(String, Rc<ast::Expr>)>,
    /// The outer query, if this one may be correlated with it.
    pub(crate) outer: Option<Rc<Outer>>,
}

/// `name AS (SELECT ...)`, with the definitions that it may use.
#[derive(Debug)]
pub(crate) struct CteQuery {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) query: ast::Query,
    pub(crate) env: Env,
}

impl Env {
    /// The environment of a subquery of `outer`.
    pub(crate) fn inside(&self, outer: &Rc<Outer>) -> Env {
        Env { outer: Some(Rc::clone(outer)), ..self.clone() }
    }

    pub(crate) fn extended(&self, with: &[ast::Cte]) -> Env {
        let mut env = self.clone();
        for cte in with {
            match cte {
                ast::Cte::Query { name, columns, query } => {
                    let entry = CteQuery {
                        name: name.clone(),
                        columns: columns.clone(),
                        query: query.as_ref().clone(),
                        env: env.clone(),
                    };
                    env.queries.push(Rc::new(entry));
                }
                ast::Cte::Expr { name, value } => env.exprs.push((name.clone(), Rc::new(value.clone()))),
            }
        }
        env
    }

    pub(crate) fn query(&self, name: &str) -> Option<Rc<CteQuery>> {
        self.queries.iter().rev().find(|cte| cte.name == name).cloned()
    }
}

/// Expressions by the names that the query gives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aliases(HashMap<String, Rc<ast::Expr>>);

impl Aliases {
    /// The aliases from WITH.
    pub(crate) fn of_env(env: &Env) -> Aliases {
        Aliases(env.exprs.iter().cloned().collect())
    }

    /// Gives `name` to `expr`; a name has one expression only.
    pub(crate) fn define(&mut self, name: &str, expr: Rc<ast::Expr>) -> Result<()> {
        match self.0.get(name) {
            Some(known) if *known != expr => Err(Error::new(
                ErrorCode::MultipleExpressionsForAlias,
                format!("alias `{name}` stands for two expressions, `{known}` and `{expr}`"),
            )),
            Some(_) => Ok(()),
            None => {
                self.0.insert(name.to_owned(), expr);
                Ok(())
            }
        }
    }

    /// Adds the names of an inner query, which hide the names here.
    pub(crate) fn extend(&mut self, inner: Aliases) {
        self.0.extend(inner.0);
    }

    /// Removes a name that is hidden from here on.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Rc<ast::Expr>> {
        self.0.get(name)
    }

    /// The aliases that `expr`, the definition of `name`, depends on, each after its own dependencies; `None` for a
    /// cycle. Does not look below aliases that are `is_known`.
    pub(crate) fn below(
        &self,
        name: &str,
        expr: &Rc<ast::Expr>,
        is_known: &dyn Fn(&str) -> bool,
    ) -> Option<Vec<(String, Rc<ast::Expr>)>> {
        let mut order = Vec::new();
        // `true`: all dependencies are in `order`. `false`: in progress.
        let mut seen = HashMap::from([(name, false)]);
        let mut waiting = vec![(name, expr, self.named_in(expr))];
        while let Some((name, expr, parts)) = waiting.last_mut() {
            let Some((part, below)) = parts.pop() else {
                order.push(((*name).to_owned(), Rc::clone(expr)));
                seen.insert(*name, true);
                waiting.pop();
                continue;
            };
            match seen.get(part) {
                Some(true) => {}
                // Inside its own definition, a name is a column.
                Some(false) if part == *name => {}
                Some(false) => return None,
                None if is_known(part) => {}
                None => {
                    seen.insert(part, false);
                    waiting.push((part, below, self.named_in(below)));
                }
            }
        }
        order.pop();
        Some(order)
    }

    /// The aliases that `expr` uses directly.
    fn named_in(&self, expr: &ast::Expr) -> Vec<(&str, &Rc<ast::Expr>)> {
        let mut named = Vec::new();
        let mut waiting = vec![expr];
        while let Some(part) = waiting.pop() {
            if let ast::Expr::Identifier(parts) = part
                && let Some((name, expr)) = parts.first().and_then(|name| self.0.get_key_value(name))
            {
                named.push((name.as_str(), expr));
            }
            waiting.extend(part.children());
        }
        named
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
