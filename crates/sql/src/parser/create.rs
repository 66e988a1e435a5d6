//! CREATE and ATTACH: which kind of object, and CREATE DATABASE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{CreateDatabase, DefinitionMode, EngineCall, ObjectKind, ObjectName, Statement};
use crate::error::ParseErrorKind;
use crate::lexer::Symbol;

/// The words before the name of the created object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CreateWords {
    pub(super) or_replace: bool,
    pub(super) temporary: bool,
}

impl Cursor<'_> {
    pub(super) fn parse_create(&mut self) -> Parsed<Statement> {
        self.expect("CREATE")?;
        let or_replace = self.eat("OR REPLACE");
        let temporary = self.eat("TEMPORARY");
        let words = CreateWords { or_replace, temporary };
        match () {
            () if self.eat("TABLE") => self.parse_create_table(words),
            () if temporary => Err(self.unexpected()),
            () if self.eat("VIEW") => self.parse_create_view(words, false),
            () if self.eat("MATERIALIZED VIEW") => self.parse_create_view(words, true),
            () if self.eat("DICTIONARY") => self.parse_create_dictionary(words),
            () if !or_replace && self.eat("NAMED COLLECTION") => self.parse_create_named_collection(),
            () if !or_replace && (self.eat("DATABASE") || self.eat("SCHEMA")) => self.parse_create_database(),
            () => match self.eat_access_kind() {
                Some(kind) => {
                    let mode = DefinitionMode::Create { or_replace, if_not_exists: false };
                    self.parse_access_definition(kind, mode)
                }
                None => Err(self.refuse_kind("CREATE")),
            },
        }
    }

    /// Refuses a kind of object that `verb` does not support.
    pub(super) fn refuse_kind(&mut self, verb: &str) -> Box<crate::error::Failure> {
        const KINDS: &[&str] = &[
            "FUNCTION", "LIVE", "WINDOW", "NAMED", "INDEX", "UNIQUE", "WORKLOAD", "RESOURCE", "TABLES",
            "ALL", "MASKING",
        ];
        match KINDS.iter().find(|kind| self.is_word(kind)) {
            Some(kind) => self.not_implemented(format!("{verb} {kind}")),
            None => self.unexpected(),
        }
    }

    fn parse_create_database(&mut self) -> Parsed<Statement> {
        let if_not_exists = self.eat_if_not_exists();
        let name = self.parse_ident()?;
        self.refuse_cluster()?;
        let engine = if self.is_word("ENGINE") { Some(self.parse_engine()?) } else { None };
        let comment = self.parse_comment()?;
        Ok(Statement::CreateDatabase(CreateDatabase { name, if_not_exists, engine, comment }))
    }

    /// `COMMENT 'text'`, if it comes.
    pub(super) fn parse_comment(&mut self) -> Parsed<Option<String>> {
        if self.eat("COMMENT") { self.parse_string().map(Some) } else { Ok(None) }
    }

    /// `ENGINE [=] Name[(args)]`.
    pub(super) fn parse_engine(&mut self) -> Parsed<EngineCall> {
        self.expect("ENGINE")?;
        self.eat_symbol(Symbol::Equal);
        self.parse_engine_call()
    }

    /// `Name[(args)]`.
    pub(super) fn parse_engine_call(&mut self) -> Parsed<EngineCall> {
        let name = self.parse_ident()?;
        let has_args = self.is_symbol(Symbol::OpenParen);
        let args = if has_args { self.parse_parenthesized(Cursor::parse_expr)? } else { Vec::new() };
        Ok(EngineCall { name, args })
    }

    pub(super) fn parse_attach(&mut self) -> Parsed<Statement> {
        self.expect("ATTACH")?;
        let Some(kind) = self.eat_object_kind() else {
            self.note("TABLE");
            return Err(self.refuse_kind("ATTACH"));
        };
        let if_not_exists = self.eat_if_not_exists();
        let name = self.parse_kind_name(kind)?;
        self.refuse_definition(kind)?;
        Ok(Statement::Attach { kind, name, if_not_exists })
    }

    /// ATTACH brings back what DETACH left; a definition in the statement could only contradict it.
    fn refuse_definition(&mut self, kind: ObjectKind) -> Parsed<()> {
        let is_defined = match kind {
            ObjectKind::Table => self.is_symbol(Symbol::OpenParen) || self.is_word("ENGINE"),
            ObjectKind::Database => self.is_word("ENGINE"),
            ObjectKind::View | ObjectKind::Dictionary => false,
        };
        if is_defined {
            let token = self.peek();
            let message = format!(
                "ATTACH {kind} takes no definition: it brings back what was detached; CREATE {kind} makes a new one"
            );
            return Err(self.failure(ParseErrorKind::Incorrect, token, message));
        }
        for (word, what) in [("UUID", "ATTACH with a UUID"), ("FROM", "ATTACH from a directory")] {
            if self.is_word(word) {
                return Err(self.not_implemented(what));
            }
        }
        Ok(())
    }

    /// The name of an object of this kind. The name of a database has one part.
    pub(super) fn parse_kind_name(&mut self, kind: ObjectKind) -> Parsed<ObjectName> {
        if kind != ObjectKind::Database {
            return self.parse_target();
        }
        let name = self.parse_ident()?;
        self.refuse_cluster()?;
        Ok(ObjectName { database: None, name })
    }
}
