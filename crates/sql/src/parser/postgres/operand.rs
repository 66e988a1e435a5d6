//! Operands: parameters, ARRAY, names in `pg_catalog`, words that are calls.

use crate::ast::Expr;
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};

use super::operator::array_of_query;
use super::type_name::call;

/// Words that are calls without parentheses, and the functions.
const CALLS: &[(&str, &str)] = &[
    ("CURRENT_DATE", "today"),
    ("CURRENT_TIMESTAMP", "now"),
    ("LOCALTIMESTAMP", "now"),
    ("CURRENT_USER", "currentUser"),
    ("CURRENT_ROLE", "currentUser"),
    ("SESSION_USER", "currentUser"),
    ("USER", "currentUser"),
    ("CURRENT_CATALOG", "currentDatabase"),
    ("CURRENT_SCHEMA", "currentDatabase"),
];

impl Cursor<'_> {
    /// An operand that only this dialect has.
    pub(in crate::parser) fn try_postgres_operand(&mut self) -> Parsed<Option<Expr>> {
        if self.peek_kind() != TokenKind::Word {
            return Ok(None);
        }
        if let Some(number) = self.peek_parameter() {
            return self.parse_parameter(number).map(Some);
        }
        if self.is_word("ARRAY") && self.is_symbol_at(1, Symbol::OpenBracket) {
            self.take();
            return Ok(None);
        }
        if self.is_word("ARRAY") && self.is_symbol_at(1, Symbol::OpenParen) && self.is_query_at(2) {
            self.take();
            self.take();
            let query = self.parse_query()?;
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(Some(array_of_query(query)));
        }
        if self.starts_timestamp() {
            return self.parse_timestamp_string().map(Some);
        }
        let in_catalog = self.is_one_of(&["pg_catalog", "information_schema"])
            && self.is_symbol_at(1, Symbol::Dot)
            && self.is_symbol_at(3, Symbol::OpenParen);
        if in_catalog {
            self.take();
            self.take();
            return Ok(None);
        }
        let is_called = self.is_symbol_at(1, Symbol::OpenParen) || self.is_symbol_at(1, Symbol::Dot);
        let word = CALLS.iter().find(|(word, _)| !is_called && self.is_word(word));
        Ok(word.map(|(_, function)| {
            self.take();
            call(function, Vec::new())
        }))
    }

    /// `COLLATE name`, which has no effect: strings are compared by their bytes.
    pub(in crate::parser) fn eat_collation(&mut self) -> Parsed<bool> {
        let is_named = matches!(self.peek_at(1).kind, TokenKind::Word | TokenKind::QuotedName);
        if !(self.is_word("COLLATE") && is_named) {
            return Ok(false);
        }
        self.take();
        self.parse_column_name()?;
        Ok(true)
    }
}
