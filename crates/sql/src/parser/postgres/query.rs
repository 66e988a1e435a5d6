//! Queries: VALUES as a query, and row locks, which have no effect.

use crate::ast::{Expr, Query, Select, SelectItem, SetExpr, SetOperator};
use crate::lexer::Symbol;
use crate::parser::cursor::{Cursor, Parsed};

impl Cursor<'_> {
    /// Whether `VALUES (..)` stands as a query `ahead` places on.
    pub(in crate::parser) fn is_values_query_at(&mut self, ahead: usize) -> bool {
        self.is_postgres()
            && self.is_word_at(ahead, "VALUES")
            && self.is_symbol_at(ahead + 1, Symbol::OpenParen)
    }

    /// `VALUES (1, 'a'), (2, 'b')`: a SELECT for each row.
    pub(in crate::parser) fn parse_values_query(&mut self) -> Parsed<SetExpr> {
        self.take();
        let first = self.parse_row_of_values()?;
        let mut rows = select_of(first);
        while self.eat_symbol(Symbol::Comma) {
            let row = self.parse_row_of_values()?;
            self.wrap_list()?;
            rows = SetExpr::Operation {
                op: SetOperator::UnionAll,
                left: Box::new(rows),
                right: Box::new(select_of(row)),
            };
        }
        // Only a query of its own may stand in front of another set operator.
        let nested = Query { body: rows, into_outfile: None, format: None, settings: Vec::new() };
        Ok(SetExpr::Nested(Box::new(nested)))
    }

    pub(super) fn parse_row_of_values(&mut self) -> Parsed<Vec<Expr>> {
        self.parse_parenthesized(Cursor::parse_expr)
    }

    /// `FOR UPDATE`, `FOR SHARE OF t NOWAIT`: rows are not locked.
    pub(in crate::parser) fn eat_row_locks(&mut self) {
        if !(self.is_word("FOR") && self.is_one_of_at(1, &["UPDATE", "SHARE", "NO", "KEY"])) {
            return;
        }
        while !self.at_statement_end() && !self.is_symbol(Symbol::CloseParen) {
            self.take();
        }
    }
}

fn select_of(row: Vec<Expr>) -> SetExpr {
    let items = row
        .into_iter()
        .enumerate()
        .map(|(index, expr)| SelectItem { expr, alias: Some(format!("column{}", index + 1)) });
    SetExpr::Select(Box::new(Select { items: items.collect(), ..Select::default() }))
}
