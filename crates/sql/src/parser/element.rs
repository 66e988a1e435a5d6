//! The column list of a table: columns, column groups, indexes, constraints, projections.

use super::cursor::{Cursor, Parsed};
use crate::ast::{ColumnDef, DefaultKind, IndexDef, TableElement, TypeName};
use crate::lexer::{Symbol, TokenKind};

/// Words after the name of a column that are not its type.
const NOT_A_TYPE: &[&str] = &[
    "DEFAULT",
    "MATERIALIZED",
    "ALIAS",
    "EPHEMERAL",
    "CODEC",
    "TTL",
    "COMMENT",
    "NULL",
    "NOT",
    "FIRST",
    "AFTER",
    "REMOVE",
    "MODIFY",
    "RESET",
    "PRIMARY",
    "STATISTICS",
    "COLLATE",
    "SETTINGS",
];

impl Cursor<'_> {
    /// An entry of the list, and whether it is a column that says PRIMARY KEY.
    pub(super) fn parse_element_of_table(&mut self) -> Parsed<(TableElement, bool)> {
        if self.starts_entry("INDEX") {
            self.take();
            return Ok((TableElement::Index(self.parse_index()?), false));
        }
        if self.starts_group() {
            return Ok((self.parse_column_group()?, false));
        }
        if self.starts_entry("CONSTRAINT") {
            self.take();
            let name = self.parse_ident()?;
            let assume = self.eat("ASSUME");
            if !assume {
                self.expect("CHECK")?;
            }
            return Ok((TableElement::Constraint { name, assume, expr: self.parse_expr()? }, false));
        }
        if self.starts_entry("PROJECTION") {
            self.take();
            let name = self.parse_ident()?;
            self.expect_symbol(Symbol::OpenParen)?;
            let query = Box::new(self.parse_query()?);
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok((TableElement::Projection { name, query }, false));
        }
        if self.is_phrase("FOREIGN KEY") {
            return Err(self.not_implemented("FOREIGN KEY"));
        }
        let (column, is_key) = self.parse_column()?;
        Ok((TableElement::Column(column), is_key))
    }

    /// Whether `word` starts an entry and is not the name of a column, as in `index UInt8,`.
    fn starts_entry(&mut self, word: &str) -> bool {
        let named = matches!(self.peek_at(1).kind, TokenKind::Word | TokenKind::QuotedName);
        let column = matches!(self.peek_at(2).kind, TokenKind::Symbol(Symbol::Comma | Symbol::CloseParen))
            || self.is_one_of_at(2, NOT_A_TYPE);
        self.is_word(word) && named && !column
    }

    /// Whether a column group comes. A column may be called COLUMN, but no type is called GROUP.
    fn starts_group(&mut self) -> bool {
        let is_named = matches!(self.peek_at(2).kind, TokenKind::Word | TokenKind::QuotedName);
        self.is_phrase("COLUMN GROUP") && is_named && self.is_symbol_at(3, Symbol::OpenParen)
    }

    /// `COLUMN GROUP name (a, b)`.
    fn parse_column_group(&mut self) -> Parsed<TableElement> {
        self.expect("COLUMN GROUP")?;
        let name = self.parse_ident()?;
        let columns = self.parse_parenthesized(Cursor::parse_column_name)?;
        Ok(TableElement::ColumnGroup { name, columns })
    }

    /// `name expr [TYPE kind [GRANULARITY n]]`.
    pub(super) fn parse_index(&mut self) -> Parsed<IndexDef> {
        let name = self.parse_ident()?;
        let expr = self.parse_expr()?;
        if !self.eat("TYPE") {
            return Ok(IndexDef { name, expr, kind: None, granularity: None });
        }
        let kind = Some(self.parse_index_call()?);
        let granularity = if self.eat("GRANULARITY") { Some(self.parse_u64()?) } else { None };
        Ok(IndexDef { name, expr, kind, granularity })
    }

    /// A column with its clauses, and whether PRIMARY KEY is one of them.
    pub(super) fn parse_column(&mut self) -> Parsed<(ColumnDef, bool)> {
        let name = self.parse_column_name()?;
        let typed = matches!(self.peek_kind(), TokenKind::Word | TokenKind::QuotedName);
        let ty = if typed && !self.is_one_of(NOT_A_TYPE) { Some(self.parse_type_of_column()?) } else { None };
        let mut column = ColumnDef::new(name, ty);
        let mut is_key = false;
        while self.parse_column_clause(&mut column, &mut is_key)? {}
        if column.ty.is_none()
            && column.default.is_none()
            && column.codec.is_empty()
            && column.comment.is_none()
            && column.ttl.is_none()
            && column.settings.is_empty()
        {
            self.note("type");
            return Err(self.unexpected());
        }
        Ok((column, is_key))
    }

    fn parse_type_of_column(&mut self) -> Parsed<TypeName> {
        if self.is_postgres() { self.parse_column_type() } else { self.parse_type() }
    }

    fn parse_column_clause(&mut self, column: &mut ColumnDef, is_key: &mut bool) -> Parsed<bool> {
        match () {
            () if self.eat("NOT NULL") => column.nullable = Some(false),
            () if self.eat("NULL") => column.nullable = Some(true),
            () if self.eat("DEFAULT") => {
                column.default = Some((DefaultKind::Default, Some(self.parse_expr()?)))
            }
            () if self.eat("MATERIALIZED") => {
                column.default = Some((DefaultKind::Materialized, Some(self.parse_expr()?)));
            }
            () if self.eat("ALIAS") => column.default = Some((DefaultKind::Alias, Some(self.parse_expr()?))),
            () if self.eat("EPHEMERAL") => {
                let value = if self.ends_column_clause() { None } else { Some(self.parse_expr()?) };
                column.default = Some((DefaultKind::Ephemeral, value));
            }
            () if self.is_word("CODEC") => column.codec = self.parse_codec_clause()?,
            () if self.eat("TTL") => column.ttl = Some(self.parse_expr()?),
            () if self.eat("COMMENT") => column.comment = Some(self.parse_string()?),
            () if self.eat("PRIMARY KEY") => *is_key = true,
            () if self.is_word("STATISTICS") => return Err(self.not_implemented("STATISTICS of a column")),
            () if self.is_word("COLLATE") => return Err(self.not_implemented("COLLATE of a column")),
            () if self.is_word("AUTO_INCREMENT") => return Err(self.not_implemented("AUTO_INCREMENT")),
            () if self.is_word("SETTINGS") && self.is_symbol_at(1, Symbol::OpenParen) => {
                self.expect("SETTINGS")?;
                column.settings = self.parse_parenthesized(Cursor::parse_setting)?;
            }
            () => return Ok(false),
        }
        Ok(true)
    }

    fn ends_column_clause(&mut self) -> bool {
        matches!(self.peek_kind(), TokenKind::End | TokenKind::Symbol(Symbol::Comma | Symbol::CloseParen))
            || self.at_statement_end()
            || self.is_one_of(NOT_A_TYPE)
    }
}
