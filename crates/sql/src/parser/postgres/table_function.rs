//! Functions in FROM that give the elements of an array, or numbers: `unnest(x) AS u`.

use crate::ast::{Expr, FunctionCall, Ident, Query, Select, SelectItem, SetExpr, TableFactor};
use crate::lexer::Symbol;
use crate::parser::cursor::{Cursor, Parsed};

/// Functions that [`Cursor::meaning_of_call`] makes rows of, and one that is a single row.
const SETS: &[&str] = &[
    "unnest",
    "generate_series",
    "generate_subscripts",
    "_pg_expandarray",
    "pg_get_keywords",
    "string_to_array",
];

impl Cursor<'_> {
    /// A set of rows, with its alias; `None` if another table comes next.
    pub(in crate::parser) fn try_parse_set(&mut self) -> Parsed<Option<TableFactor>> {
        let in_schema =
            self.is_one_of(&["pg_catalog", "information_schema"]) && self.is_symbol_at(1, Symbol::Dot);
        let at = if in_schema { 2 } else { 0 };
        if !self.is_symbol_at(at + 1, Symbol::OpenParen) {
            return Ok(None);
        }
        if in_schema {
            self.take();
            self.take();
        }
        if !self.is_one_of(SETS) {
            return Ok(None);
        }
        let call = self.parse_call()?;
        let name = call.name.to_ascii_lowercase();
        let alias = self.parse_alias()?;
        let has_columns = alias.is_some() && self.is_symbol(Symbol::OpenParen);
        let columns = if has_columns { self.parse_parenthesized(Cursor::parse_ident)? } else { Vec::new() };
        let column = match name.as_str() {
            "pg_get_keywords" => "word".to_owned(),
            _ => columns.first().cloned().or_else(|| alias.clone()).unwrap_or(name),
        };
        let rows = self.meaning_of_call(call);
        Ok(Some(TableFactor::Subquery { query: Box::new(query_of(rows, column)), alias }))
    }
}

fn query_of(rows: Expr, column: Ident) -> Query {
    let items = vec![SelectItem { expr: rows, alias: Some(column) }];
    let body = SetExpr::Select(Box::new(Select { items, ..Select::default() }));
    Query { body, into_outfile: None, format: None, settings: Vec::new() }
}

/// `generate_series(start, stop)` and its form with a step, as an array.
pub(super) fn series(mut args: Vec<Expr>) -> Expr {
    use crate::ast::{BinaryOp, Literal};
    let step = if args.len() > 2 { args.pop() } else { None };
    let stop = args.pop().unwrap_or(Expr::Literal(Literal::Null));
    let start = args.pop().unwrap_or(Expr::Literal(Literal::Null));
    let one = Box::new(Expr::Literal(Literal::UInt(1)));
    let end = Expr::Binary { op: BinaryOp::Plus, left: Box::new(stop), right: one };
    let range = FunctionCall::plain("range", [start, end].into_iter().chain(step).collect());
    Expr::Function(FunctionCall::plain("arrayJoin", vec![Expr::Function(range)]))
}
