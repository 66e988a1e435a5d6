//! Names of columns, tables and aliases.

use super::cursor::{Cursor, Parsed};
use super::keyword::never_alias;
use crate::ast::{Expr, Ident, ObjectName};
use crate::error::ParseErrorKind;
use crate::lexer::{Symbol, Token, TokenKind};

impl Cursor<'_> {
    /// Any word or quoted name.
    pub(super) fn parse_ident(&mut self) -> Parsed<Ident> {
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Word | TokenKind::QuotedName) {
            self.note("name");
            return Err(self.unexpected());
        }
        let name = self.ident_of(token)?;
        self.take();
        Ok(name)
    }

    /// The name that a word or a quoted name says.
    pub(super) fn ident_of(&self, token: Token) -> Parsed<Ident> {
        let text = self.text(token);
        let bytes = match token.kind {
            TokenKind::QuotedName if text.starts_with(b"{") => self.identifier_value(token)?,
            TokenKind::QuotedName => self.unquoted(token),
            _ => text.to_vec(),
        };
        if bytes.is_empty() {
            return Err(self.failure(ParseErrorKind::Syntax, token, "a name must not be empty"));
        }
        self.utf8(bytes, token, "a name")
    }

    pub(super) fn parse_ident_list(&mut self) -> Parsed<Vec<Ident>> {
        self.parse_list(Cursor::parse_ident)
    }

    /// `a` or `n.a`: the name of a column, where `n.a` is one name (of a Nested column).
    pub(super) fn parse_column_name(&mut self) -> Parsed<Ident> {
        let mut name = self.parse_ident()?;
        while self.eat_symbol(Symbol::Dot) {
            name.push('.');
            name.push_str(&self.parse_ident()?);
        }
        Ok(name)
    }

    /// `table` or `database.table`.
    pub(super) fn parse_object_name(&mut self) -> Parsed<ObjectName> {
        let first = self.parse_ident()?;
        if !self.eat_symbol(Symbol::Dot) {
            return Ok(ObjectName { database: None, name: first });
        }
        let name = self.parse_ident()?;
        Ok(ObjectName { database: Some(first), name })
    }

    /// The name of an object that a statement changes; refuses `ON CLUSTER` after it.
    pub(super) fn parse_target(&mut self) -> Parsed<ObjectName> {
        let name = self.parse_object_name()?;
        self.refuse_cluster()?;
        Ok(name)
    }

    pub(super) fn refuse_cluster(&mut self) -> Parsed<()> {
        if self.is_phrase("ON CLUSTER") { Err(self.not_implemented("ON CLUSTER")) } else { Ok(()) }
    }

    /// `AS name`, or a name alone that no clause starts with.
    pub(super) fn parse_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.eat("AS") {
            return self.parse_ident().map(Some);
        }
        let token = self.peek();
        let bare = match token.kind {
            TokenKind::QuotedName => true,
            TokenKind::Word => !never_alias(self.text(token)),
            _ => false,
        };
        if bare { self.parse_ident().map(Some) } else { Ok(None) }
    }

    /// `value AS name` where an alias needs its AS: everywhere but in a SELECT list and in FROM.
    pub(super) fn parse_aliased_expr(&mut self) -> Parsed<Expr> {
        let value = self.parse_expr()?;
        if !self.eat("AS") {
            return Ok(value);
        }
        self.wrap()?;
        Ok(Expr::Alias { value: Box::new(value), name: self.parse_ident()? })
    }

    pub(super) fn eat_if_exists(&mut self) -> bool {
        self.eat("IF EXISTS")
    }

    pub(super) fn eat_if_not_exists(&mut self) -> bool {
        self.eat("IF NOT EXISTS")
    }
}
