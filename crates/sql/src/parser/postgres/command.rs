//! The statements of a script, and those that a session answers itself.

use std::ops::Range;

use crate::ast::{Literal, TypeName};
use crate::error::ParseError;
use crate::lexer::{Lexer, Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};
use crate::postgres::{ParameterValue, PostgresCommand};

use super::state::PostgresState;

/// Words after SHOW that make it a statement of ClickHouse's.
const SHOWN_BY_ENGINE: &[&str] = &[
    "TABLES",
    "DATABASES",
    "SCHEMAS",
    "CREATE",
    "COLUMNS",
    "FIELDS",
    "FUNCTIONS",
    "SETTINGS",
    "PROCESSLIST",
    "DICTIONARIES",
    "DICTIONARY",
    "INDEX",
    "INDEXES",
    "INDICES",
    "KEYS",
    "GRANTS",
    "USERS",
    "ENGINES",
    "FULL",
    "EXTENDED",
    "CHANGED",
    "MERGES",
    "TABLE",
    "DATABASE",
    "TEMPORARY",
];

/// First words of statements for the engine, and their command tags.
const TAGS: &[(&str, &str)] = &[
    ("SELECT", "SELECT"),
    ("WITH", "SELECT"),
    ("FROM", "SELECT"),
    ("VALUES", "SELECT"),
    ("TABLE", "SELECT"),
    ("INSERT", "INSERT"),
    ("UPDATE", "UPDATE"),
    ("DELETE", "DELETE"),
    ("CREATE TABLE", "CREATE TABLE"),
    ("CREATE VIEW", "CREATE VIEW"),
    ("CREATE DATABASE", "CREATE DATABASE"),
    ("CREATE SCHEMA", "CREATE SCHEMA"),
    ("CREATE", "CREATE"),
    ("DROP TABLE", "DROP TABLE"),
    ("DROP VIEW", "DROP VIEW"),
    ("DROP DATABASE", "DROP DATABASE"),
    ("DROP SCHEMA", "DROP SCHEMA"),
    ("DROP", "DROP"),
    ("ALTER", "ALTER TABLE"),
    ("TRUNCATE", "TRUNCATE TABLE"),
    ("EXPLAIN", "EXPLAIN"),
    ("SHOW", "SHOW"),
];

/// Statements that have no effect here.
const IGNORED: &[(&str, &str)] = &[
    ("CLOSE", "CLOSE CURSOR"),
    ("LISTEN", "LISTEN"),
    ("UNLISTEN", "UNLISTEN"),
    ("NOTIFY", "NOTIFY"),
    ("LOCK TABLE", "LOCK TABLE"),
    ("ANALYZE", "ANALYZE"),
    ("VACUUM", "VACUUM"),
];

/// Where the statements of a script stand in it: without blanks around them and without their `;`.
pub fn split_postgres(script: &[u8]) -> Result<Vec<Range<usize>>, ParseError> {
    let mut lexer = Lexer::new(script, 0, crate::Dialect::Postgres);
    let (mut spans, mut start, mut end, mut open_count) = (Vec::new(), None, 0, 0_usize);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Symbol(Symbol::Semicolon) if open_count == 0 => {
                spans.extend(start.take().map(|start| start..end));
                continue;
            }
            TokenKind::Symbol(Symbol::OpenParen) => open_count += 1,
            TokenKind::Symbol(Symbol::CloseParen) => open_count = open_count.saturating_sub(1),
            _ => {}
        }
        start.get_or_insert(token.start);
        end = token.end;
    }
    spans.extend(start.map(|start| start..end));
    Ok(spans)
}

/// Which command a statement is.
pub fn parse_postgres_command(text: &[u8]) -> Result<PostgresCommand, ParseError> {
    let mut cursor = Cursor::new(text, 0).with_postgres(PostgresState::new(&[]), 0);
    cursor.parse_command().map_err(|failure| ParseError::new(text, *failure))
}

impl Cursor<'_> {
    fn parse_command(&mut self) -> Parsed<PostgresCommand> {
        if let Some(command) = self.parse_transaction_command()? {
            return Ok(command);
        }
        if let Some((_, tag)) = IGNORED.iter().find(|(phrase, _)| self.is_phrase(phrase)) {
            return Ok(PostgresCommand::Ignored { tag });
        }
        match () {
            () if self.is_word("SET") => self.parse_set(),
            () if self.eat("RESET") => self.parse_reset(),
            () if self.is_word("SHOW") && !self.is_one_of_at(1, SHOWN_BY_ENGINE) => self.parse_shown(),
            () if self.is_word("DISCARD") => Ok(PostgresCommand::DiscardAll),
            () if self.eat("DEALLOCATE") => self.parse_deallocate(),
            () if self.eat("PREPARE") => self.parse_prepare(),
            () if self.is_word("EXECUTE") => self.parse_execute(),
            () if self.is_word("COPY") && self.copies_to_client() => {
                self.parse_postgres_copy().map(|copy| PostgresCommand::Copy(Box::new(copy)))
            }
            () => Ok(PostgresCommand::Statement { tag: self.tag() }),
        }
    }

    fn tag(&mut self) -> &'static str {
        let mut ahead = 0;
        while self.is_symbol_at(ahead, Symbol::OpenParen) {
            ahead += 1;
        }
        for (phrase, tag) in TAGS {
            if phrase.split(' ').enumerate().all(|(at, word)| self.is_word_at(ahead + at, word)) {
                return tag;
            }
        }
        "OK"
    }

    fn parse_transaction_command(&mut self) -> Parsed<Option<PostgresCommand>> {
        let command = match () {
            () if self.is_word("BEGIN") || self.is_phrase("START TRANSACTION") => PostgresCommand::Begin,
            () if self.is_one_of(&["COMMIT", "END"]) => PostgresCommand::Commit,
            () if self.is_phrase("ROLLBACK TO") => PostgresCommand::Savepoint { tag: "ROLLBACK" },
            () if self.is_one_of(&["ROLLBACK", "ABORT"]) => PostgresCommand::Rollback,
            () if self.is_word("SAVEPOINT") => PostgresCommand::Savepoint { tag: "SAVEPOINT" },
            () if self.is_word("RELEASE") => PostgresCommand::Savepoint { tag: "RELEASE" },
            () => return Ok(None),
        };
        Ok(Some(command))
    }

    /// `SET [SESSION|LOCAL] name {TO|=} value`, and the forms with words of their own.
    fn parse_set(&mut self) -> Parsed<PostgresCommand> {
        self.take();
        if self.is_phrase("SESSION CHARACTERISTICS") || self.is_word("TRANSACTION") {
            return Ok(PostgresCommand::Ignored { tag: "SET" });
        }
        if !self.is_symbol_at(1, Symbol::Equal) {
            let _noise = self.eat("SESSION") || self.eat("LOCAL");
        }
        if self.eat("TIME ZONE") {
            return Ok(PostgresCommand::Set { name: "timezone".to_owned(), value: self.parse_set_value()? });
        }
        if self.eat("NAMES") {
            let value = self.parse_set_value()?;
            return Ok(PostgresCommand::Set { name: "client_encoding".to_owned(), value });
        }
        if self.is_one_of(&["ROLE", "SESSION AUTHORIZATION"]) {
            return Ok(PostgresCommand::Ignored { tag: "SET" });
        }
        let name = self.parse_column_name()?;
        if name.starts_with("param_") {
            return Ok(PostgresCommand::Settings);
        }
        if !self.eat("TO") {
            self.expect_symbol(Symbol::Equal)?;
        }
        let value = self.parse_set_value()?;
        // `SET a = 1, b = 2` is ClickHouse's form.
        let is_list = self.is_symbol_at(1, Symbol::Equal);
        Ok(if is_list { PostgresCommand::Settings } else { PostgresCommand::Set { name, value } })
    }

    /// A value, or several with commas; `None` for DEFAULT.
    fn parse_set_value(&mut self) -> Parsed<Option<String>> {
        if self.is_word("DEFAULT") || self.is_word("LOCAL") {
            self.take();
            return Ok(None);
        }
        let mut values = vec![self.parse_variable_word()?];
        while self.is_symbol(Symbol::Comma) && !self.is_symbol_at(2, Symbol::Equal) {
            self.take();
            values.push(self.parse_variable_word()?);
        }
        if self.is_symbol(Symbol::Comma) {
            self.take();
        }
        Ok(Some(values.join(", ")))
    }

    fn parse_variable_word(&mut self) -> Parsed<String> {
        if matches!(self.peek_kind(), TokenKind::Word | TokenKind::QuotedName) {
            let token = self.take();
            let text =
                if token.kind == TokenKind::Word { self.text(token).to_vec() } else { self.unquoted(token) };
            return self.utf8(text, token, "a value");
        }
        let token = self.peek();
        Ok(match self.parse_literal()? {
            Literal::String(text) => self.utf8(text, token, "a value")?,
            Literal::Number(text) => text,
            Literal::UInt(number) => number.to_string(),
            Literal::Int(number) => number.to_string(),
            Literal::Bool(value) => value.to_string(),
            Literal::Null => String::new(),
        })
    }

    fn parse_reset(&mut self) -> Parsed<PostgresCommand> {
        let name = match () {
            () if self.is_word("ALL") => None,
            () if self.eat("TIME ZONE") => Some("timezone".to_owned()),
            () => Some(self.parse_column_name()?),
        };
        Ok(PostgresCommand::Reset { name })
    }

    fn parse_shown(&mut self) -> Parsed<PostgresCommand> {
        self.take();
        let name = match () {
            () if self.is_phrase("TIME ZONE") => "timezone".to_owned(),
            () if self.is_phrase("TRANSACTION ISOLATION LEVEL") => "transaction_isolation".to_owned(),
            () if self.is_phrase("SESSION AUTHORIZATION") => "session_authorization".to_owned(),
            () => self.parse_column_name()?,
        };
        Ok(PostgresCommand::Show { name })
    }

    fn parse_deallocate(&mut self) -> Parsed<PostgresCommand> {
        let _noise = self.eat("PREPARE");
        let name = if self.is_word("ALL") { None } else { Some(self.parse_ident()?) };
        Ok(PostgresCommand::Deallocate { name })
    }

    fn parse_prepare(&mut self) -> Parsed<PostgresCommand> {
        let name = self.parse_ident()?;
        let is_typed = self.is_symbol(Symbol::OpenParen);
        let types: Vec<TypeName> =
            if is_typed { self.parse_parenthesized(Cursor::parse_column_type)? } else { Vec::new() };
        self.expect("AS")?;
        let start = self.offset();
        Ok(PostgresCommand::Prepare { name, types, statement: start..self.source().len() })
    }

    fn parse_execute(&mut self) -> Parsed<PostgresCommand> {
        self.take();
        let name = self.parse_ident()?;
        let has_values = self.is_symbol(Symbol::OpenParen);
        let values = if has_values { self.parse_parenthesized(Cursor::parse_value)? } else { Vec::new() };
        Ok(PostgresCommand::Execute { name, values })
    }

    fn parse_value(&mut self) -> Parsed<ParameterValue> {
        if self.eat("NULL") {
            return Ok(ParameterValue::Null);
        }
        self.parse_variable_word().map(|text| ParameterValue::Text(text.into_bytes()))
    }
}
