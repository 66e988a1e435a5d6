//! CREATE VIEW and CREATE MATERIALIZED VIEW.

use super::create::CreateWords;
use super::cursor::{Cursor, Parsed};
use crate::ast::{CreateView, Statement};
use crate::lexer::Symbol;

/// Clauses that the tree cannot represent.
const NOT_IMPLEMENTED: &[&str] =
    &["REFRESH", "DEFINER", "SQL", "PARTITION", "PRIMARY", "SAMPLE", "TTL", "SETTINGS", "EMPTY", "UUID"];

impl Cursor<'_> {
    /// Starts after the word VIEW.
    pub(super) fn parse_create_view(&mut self, words: CreateWords, materialized: bool) -> Parsed<Statement> {
        let if_not_exists = self.eat_if_not_exists();
        let name = self.parse_target()?;
        let to = if materialized && self.eat("TO") { Some(self.parse_object_name()?) } else { None };
        let columns = if self.is_symbol(Symbol::OpenParen) {
            self.parse_parenthesized(|cursor| cursor.parse_column().map(|(column, _)| column))?
        } else {
            Vec::new()
        };
        let (mut engine, mut order_by, mut comment, mut populate) = (None, None, None, false);
        while !self.eat("AS") {
            match () {
                () if materialized && self.is_word("ENGINE") => engine = Some(self.parse_engine()?),
                () if materialized && self.eat("ORDER BY") => order_by = Some(self.parse_sorting_key()?),
                () if materialized && self.eat("POPULATE") => populate = true,
                () if self.eat("COMMENT") => comment = Some(self.parse_string()?),
                () => return Err(self.refuse_view_clause()),
            }
        }
        let query = Box::new(self.parse_query()?);
        if self.eat("COMMENT") {
            comment = Some(self.parse_string()?);
        }
        let or_replace = words.or_replace;
        Ok(Statement::CreateView(Box::new(CreateView {
            name,
            or_replace,
            if_not_exists,
            materialized,
            to,
            columns,
            engine,
            order_by,
            populate,
            query,
            comment,
        })))
    }

    fn refuse_view_clause(&mut self) -> Box<crate::error::Failure> {
        match NOT_IMPLEMENTED.iter().find(|word| self.is_word(word)) {
            Some(word) => self.not_implemented(format!("{word} of a view")),
            None => self.unexpected(),
        }
    }
}
