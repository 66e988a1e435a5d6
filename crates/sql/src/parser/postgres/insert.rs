//! INSERT: rows of expressions, which become the text of ClickHouse's VALUES.

use crate::ast::{Expr, Ident, Insert, InsertSource, InsertTarget, Literal, Statement};
use crate::lexer::Symbol;
use crate::parser::cursor::{Cursor, Parsed};

use super::parameter::unknown_parameter;

impl Cursor<'_> {
    /// Starts after the list of columns.
    pub(in crate::parser) fn parse_postgres_insert(
        &mut self,
        target: InsertTarget,
        columns: Vec<Ident>,
    ) -> Parsed<Statement> {
        let _noise = self.eat("OVERRIDING SYSTEM VALUE") || self.eat("OVERRIDING USER VALUE");
        if self.is_phrase("DEFAULT VALUES") {
            return Err(self.not_implemented("INSERT .. DEFAULT VALUES"));
        }
        let settings = if self.eat("SETTINGS") { self.parse_settings()? } else { Vec::new() };
        let source = if self.is_values_query_at(0) {
            self.parse_inserted_rows()?
        } else if self.eat("FORMAT") {
            let name = self.parse_ident()?;
            InsertSource::Format { name, bytes: self.take_format_bytes() }
        } else {
            self.parse_query().map(|query| InsertSource::Query(Box::new(query)))?
        };
        if self.is_phrase("ON CONFLICT") {
            return Err(self.not_implemented("ON CONFLICT of an INSERT"));
        }
        if self.is_word("RETURNING") {
            return Err(self.not_implemented("RETURNING"));
        }
        Ok(Statement::Insert(Box::new(Insert { target, columns, settings, source })))
    }

    fn parse_inserted_rows(&mut self) -> Parsed<InsertSource> {
        self.take();
        let mut text = String::new();
        loop {
            let row = self.parse_row_of_values()?;
            if !text.is_empty() {
                text.push(',');
            }
            text.push('(');
            for (position, value) in row.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                self.note_inserted(value, position);
                text.push_str(&plain(value).to_string());
            }
            text.push(')');
            if !self.eat_symbol(Symbol::Comma) {
                return Ok(InsertSource::Values { text: text.into_bytes() });
            }
        }
    }

    fn note_inserted(&mut self, value: &Expr, column: usize) {
        if let (Some(number), Some(state)) = (unknown_parameter(value), &mut self.postgres) {
            state.inserted.push((number, column));
        }
    }
}

/// A constant without the cast of its parameter: the column's type decides how it is read.
fn plain(value: &Expr) -> &Expr {
    match value {
        Expr::Cast { operand, .. }
            if matches!(operand.as_ref(), Expr::Literal(Literal::String(_) | Literal::Null)) =>
        {
            operand
        }
        other => other,
    }
}
