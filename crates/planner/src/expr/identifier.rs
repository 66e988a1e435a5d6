//! Names: an alias first, then a column, then an element of a tuple column.

use std::fmt::Display;
use std::rc::Rc;

use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_sql::ast;
use regex::bytes::Regex;

use super::Binder;
use crate::bound_expr::{BoundExpr, count_nodes};
use crate::names::canonical;
use crate::scope::{Aliases, ColumnValue, Found, ScopeColumn};

impl Binder<'_> {
    pub(super) fn bind_identifier(&self, parts: &[String]) -> Result<BoundExpr> {
        if let Some(bound) = self.find_identifier(parts)? {
            return Ok(bound);
        }
        let postgres = self.session.ctx.postgres;
        match postgres.and_then(|_| self.scope.respelled(parts)) {
            Some(column) => self.column(column),
            None => Err(self.scope.unknown(&parts.join("."), self.aliases.names())),
        }
    }

    /// The value of a name in this query or an outer one.
    pub(crate) fn find_identifier(&self, parts: &[String]) -> Result<Option<BoundExpr>> {
        let prefers_column = self.session.ctx.settings.prefer_column_name_to_alias;
        if prefers_column && let Some(found) = self.find_column(parts)? {
            return Ok(Some(found));
        }
        if let Some((bound, used_parts)) = self.bind_alias(parts)? {
            return self.bind_elements(bound, &parts[used_parts..]).map(Some);
        }
        if !prefers_column && let Some(found) = self.find_column(parts)? {
            return Ok(Some(found));
        }
        match &self.env.outer {
            Some(outer) => outer.find(self.session, parts),
            None => Ok(None),
        }
    }

    /// A column of the scope, or an element of one.
    fn find_column(&self, parts: &[String]) -> Result<Option<BoundExpr>> {
        let Some(Found { column, used_parts, .. }) = self.scope.find(parts)? else { return Ok(None) };
        let bound = self.column(column)?;
        self.bind_elements(bound, &parts[used_parts..]).map(Some)
    }

    /// Follows a path of elements of nested tuples.
    fn bind_elements(&self, mut bound: BoundExpr, names: &[String]) -> Result<BoundExpr> {
        for name in names {
            bound = self.tuple_element_named(bound, name)?;
        }
        Ok(bound)
    }

    /// The value of an alias of the SELECT list.
    pub(crate) fn alias_value(&self, alias: &str) -> Result<BoundExpr> {
        let parts = [alias.to_owned()];
        match self.bind_alias(&parts)? {
            Some((bound, _)) => Ok(bound),
            None => self.bind_identifier(&parts),
        }
    }

    /// The value of an alias, and the number of name parts that make up the alias.
    fn bind_alias(&self, parts: &[String]) -> Result<Option<(BoundExpr, usize)>> {
        let Some(name) = parts.first() else {
            return Ok(None);
        };
        let Some(expr) = self.aliases.get(name) else {
            return Ok(None);
        };
        if self.session.ctx.postgres.is_some() && self.scope.find(parts)?.is_some() {
            return Ok(None);
        }
        // `t.a` with a table `t` and an alias `t`: the column.
        if parts.len() > 1 && self.scope.find(parts)?.is_some_and(|found| found.qualifier_parts > 0) {
            return Ok(None);
        }
        if self.expanding.borrow().contains(name) {
            // Inside its own definition the name is a column. Reached through another alias, it is a cycle.
            let is_own = self.expanding.borrow().last() == Some(name);
            if is_own && self.scope.find(&parts[..1])?.is_some() {
                return Ok(None);
            }
            bail!(
                UnknownIdentifier,
                "the alias `{name}` is defined in terms of itself, and no column has its name"
            );
        }
        if self.expanding.borrow().is_empty() {
            self.bind_aliases_of(name, expr);
        }
        let cached = self.expanded.borrow().get(name).cloned();
        let bound = match cached {
            Some(bound) => bound,
            None => self.expand_alias(name, expr)?,
        };
        self.session.count_nodes(count_nodes(&bound.expr))?;
        Ok(Some((bound, 1)))
    }

    fn expand_alias(&self, name: &str, expr: &Rc<ast::Expr>) -> Result<BoundExpr> {
        self.expanding.borrow_mut().push(name.to_owned());
        let bound = self.bind(&Rc::clone(expr));
        self.expanding.borrow_mut().pop();
        let bound = bound?;
        self.expanded.borrow_mut().insert(name.to_owned(), bound.clone());
        Ok(bound)
    }

    /// Binds the aliases that `name` depends on, bottom up, so that a long chain of aliases does not nest deeply.
    /// Leaves cycles alone: they are refused where they are used.
    fn bind_aliases_of(&self, name: &str, expr: &Rc<ast::Expr>) {
        let is_known = |name: &str| self.expanded.borrow().contains_key(name);
        if is_known(name) {
            return;
        }
        for (name, expr) in self.aliases.below(name, expr, &is_known).unwrap_or_default() {
            // The error is reported where the alias is used.
            let _ = self.expand_alias(&name, &expr);
        }
    }

    /// A column of the scope. An ALIAS column is bound without the query's aliases.
    pub(crate) fn column(&self, column: &ScopeColumn) -> Result<BoundExpr> {
        match &column.value {
            ColumnValue::Plan(expr) => Ok(BoundExpr::new(expr.clone(), column.ty.clone())),
            ColumnValue::Alias(expr) => {
                let key = (column.table, column.name.clone());
                let known = self.alias_columns.borrow().get(&key).cloned();
                let bound = match known {
                    Some(bound) => bound,
                    None => self.expand_column(column, expr)?,
                };
                self.session.count_nodes(count_nodes(&bound.expr))?;
                self.alias_columns.borrow_mut().insert(key, bound.clone());
                Ok(bound)
            }
        }
    }

    fn expand_column(&self, column: &ScopeColumn, expr: &ast::Expr) -> Result<BoundExpr> {
        let none = Aliases::default();
        let mut binder = Binder::new(self.session, self.env, self.scope, &none, &[]);
        binder.alias_columns = Rc::clone(&self.alias_columns);
        let bound = binder.bind(expr)?;
        super::convert(bound, &column.ty, self.session.ctx)
    }

    /// `tuple.1`: positions count from 1.
    pub(super) fn tuple_element_at(&self, tuple: BoundExpr, index: u64) -> Result<BoundExpr> {
        let index = super::literal::bind_index(index)?;
        self.call("tupleElement", vec![tuple, index])
    }

    pub(super) fn tuple_element_named(&self, tuple: BoundExpr, name: &str) -> Result<BoundExpr> {
        if let Ok(index) = name.parse::<u64>() {
            return self.tuple_element_at(tuple, index);
        }
        let SqlType::Tuple(elements) = tuple.ty.stripped() else {
            return Err(Error::new(
                ErrorCode::UnknownIdentifier,
                format!("a value of type `{}` has no element `{name}`", tuple.ty),
            ));
        };
        let position = |name: &str| elements.iter().position(|element| element.name.as_deref() == Some(name));
        // The entries of an unfolded map have two names each, as in the system tables of older ClickHouse versions.
        let old_name = match name {
            "Names" => "keys",
            "Values" => "values",
            other => other,
        };
        let Some(at) = position(name).or_else(|| position(old_name)) else {
            bail!(UnknownIdentifier, "a value of type `{}` has no element `{name}`", tuple.ty);
        };
        self.tuple_element_at(tuple, at as u64 + 1)
    }

    /// The columns of `*`, `t.*` or `COLUMNS('regex')`, with their names.
    pub(crate) fn expand_columns(&self, expr: &ast::Expr) -> Result<Vec<(String, BoundExpr)>> {
        let columns = match expr {
            ast::Expr::Asterisk { qualifier, except, replace } => {
                return self.expand_asterisk(qualifier, except, replace);
            }
            ast::Expr::ColumnsMatching(pattern) => self.columns_matching(pattern)?,
            other => bail!(LogicalError, "`{}` is not a list of columns", canonical(other)),
        };
        columns.into_iter().map(|column| Ok((self.column_name(column), self.column(column)?))).collect()
    }

    fn columns_matching(&self, pattern: &str) -> Result<Vec<&ScopeColumn>> {
        let wrong = |reason: &dyn Display| {
            Error::new(ErrorCode::BadArguments, format!("COLUMNS('{pattern}'): {reason}"))
        };
        let regex = to_regex_syntax(pattern.as_bytes()).map_err(|error| wrong(&error.message()))?;
        let regex = Regex::new(&regex).map_err(|error| wrong(&error))?;
        Ok(self
            .scope
            .columns
            .iter()
            .filter(|column| column.in_asterisk && regex.is_match(column.name.as_bytes()))
            .collect())
    }

    fn expand_asterisk(
        &self,
        qualifier: &[String],
        except: &[String],
        replace: &[(ast::Expr, String)],
    ) -> Result<Vec<(String, BoundExpr)>> {
        let known = qualifier.is_empty() || self.scope.tables.iter().any(|table| table.is_named(qualifier));
        if !known {
            bail!(UnknownTable, "`{}.*`: no table of that name in the query", qualifier.join("."));
        }
        let in_reach = |column: &ScopeColumn| {
            let listed = column.in_asterisk || (column.only_qualified && !qualifier.is_empty());
            listed && self.scope.is_qualified_by(column, qualifier)
        };
        let columns: Vec<&ScopeColumn> =
            self.scope.columns.iter().filter(|column| in_reach(column)).collect();
        for name in except.iter().chain(replace.iter().map(|(_, name)| name)) {
            if !columns.iter().any(|column| column.name == *name) {
                return Err(self.scope.unknown(name, std::iter::empty()));
            }
        }
        columns
            .iter()
            .filter(|column| !except.contains(&column.name))
            .map(|column| {
                let replaced = replace.iter().find(|(_, name)| *name == column.name);
                let bound = match replaced {
                    Some((expr, _)) => self.bind(expr)?,
                    None => self.column(column)?,
                };
                let name = self.column_name(column);
                Ok((name, bound))
            })
            .collect()
    }

    /// The result name of an identifier: without its qualifier, unless that is needed to distinguish it.
    pub(crate) fn identifier_name(&self, parts: &[String]) -> String {
        if parts.len() == 1 || self.aliases.get(&parts[0]).is_some() {
            return parts.join(".");
        }
        match self.scope.find(parts) {
            Ok(Some(found)) if found.qualifier_parts > 0 => {
                let name = self.column_name(found.column);
                let elements = &parts[found.used_parts..];
                if elements.is_empty() { name } else { format!("{name}.{}", elements.join(".")) }
            }
            _ => parts.join("."),
        }
    }

    /// The result name of a column. It includes the table if another table or an alias has the same name; of two
    /// tables the right one gets the qualifier. By Postgres' rules, several columns may have one name.
    pub(crate) fn column_name(&self, column: &ScopeColumn) -> String {
        if self.session.ctx.postgres.is_some() {
            return column.name.clone();
        }
        let Some((at, table)) = column.table.and_then(|at| Some((at, self.scope.tables.get(at)?))) else {
            return column.name.clone();
        };
        let stands_back = at == 0 && self.scope.tables.len() < 3;
        let is_twin =
            |other: &ScopeColumn| other.name == column.name && other.table.is_some_and(|other| other != at);
        let is_ambiguous = !stands_back && self.scope.columns.iter().any(is_twin);
        match is_ambiguous || self.aliases.get(&column.name).is_some() {
            true if !table.name.is_empty() => format!("{}.{}", table.name, column.name),
            _ => column.name.clone(),
        }
    }

    /// The result name of an expression.
    pub(crate) fn result_name(&self, expr: &ast::Expr) -> String {
        let mut named = expr.clone();
        named.replace_columns(&|name| {
            let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
            (parts.len() > 1).then(|| ast::Expr::Identifier(vec![self.identifier_name(&parts)]))
        });
        canonical(&named)
    }
}
