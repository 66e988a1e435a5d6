//! COPY table FROM a file.

use super::cursor::{Cursor, Parsed};
use crate::ast::{CopyFrom, Literal, Setting, Statement};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    pub(super) fn parse_copy(&mut self) -> Parsed<Statement> {
        self.expect("COPY")?;
        if self.is_symbol(Symbol::OpenParen) {
            return Err(self.not_implemented("COPY of a query"));
        }
        let table = self.parse_object_name()?;
        let has_columns = self.is_symbol(Symbol::OpenParen);
        let columns =
            if has_columns { self.parse_parenthesized(Cursor::parse_column_name)? } else { Vec::new() };
        if self.is_word("TO") {
            return Err(self.not_implemented("COPY .. TO"));
        }
        self.expect("FROM")?;
        let is_sent = self.is_postgres() && self.eat("STDIN");
        if self.is_one_of(&["STDIN", "PROGRAM"]) {
            return Err(self.not_implemented("COPY from anything but a file"));
        }
        let path = if is_sent { None } else { Some(self.parse_string()?) };
        let _noise = self.eat("WITH");
        let options = if self.is_postgres() {
            self.parse_copy_options()?
        } else if self.is_symbol(Symbol::OpenParen) {
            self.parse_parenthesized(Cursor::parse_copy_option)?
        } else {
            let mut options = Vec::new();
            while !self.at_statement_end() {
                options.push(self.parse_copy_option()?);
            }
            options
        };
        Ok(Statement::Copy(Box::new(CopyFrom { table, columns, path, options })))
    }

    /// `NAME`, `NAME word` or `NAME literal`.
    pub(super) fn parse_copy_option(&mut self) -> Parsed<Setting> {
        let name = self.parse_ident()?.to_ascii_lowercase();
        let valued = !matches!(self.peek_kind(), TokenKind::Symbol(Symbol::Comma | Symbol::CloseParen))
            && !self.at_statement_end();
        if !valued {
            return Ok(Setting { name, value: Literal::Bool(true) });
        }
        self.eat_symbol(Symbol::Equal);
        if let Some(value) = self.try_unsigned_literal()? {
            return Ok(Setting { name, value });
        }
        let value = match self.peek_kind() {
            TokenKind::Word | TokenKind::QuotedName => Literal::String(self.parse_ident()?.into_bytes()),
            _ => self.parse_literal()?,
        };
        Ok(Setting { name, value })
    }
}
