//! CREATE, ALTER and DROP NAMED COLLECTION, from the name on.

use super::cursor::{Cursor, Parsed};
use crate::ast::{AlterNamedCollection, CollectionEntry, CreateNamedCollection, Statement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_create_named_collection(&mut self) -> Parsed<Statement> {
        let if_not_exists = self.eat_if_not_exists();
        let name = self.parse_ident()?;
        self.refuse_cluster()?;
        self.expect("AS")?;
        let entries = self.parse_list(Cursor::parse_collection_entry)?;
        Ok(Statement::CreateNamedCollection(CreateNamedCollection { name, if_not_exists, entries }))
    }

    pub(super) fn parse_alter_named_collection(&mut self) -> Parsed<Statement> {
        let if_exists = self.eat_if_exists();
        let name = self.parse_ident()?;
        self.refuse_cluster()?;
        let set = if self.eat("SET") { self.parse_list(Cursor::parse_collection_entry)? } else { Vec::new() };
        let delete = match self.eat("DELETE") {
            true => self.parse_ident_list()?,
            false if set.is_empty() => {
                self.note("SET");
                return Err(self.unexpected());
            }
            false => Vec::new(),
        };
        Ok(Statement::AlterNamedCollection(AlterNamedCollection { name, if_exists, set, delete }))
    }

    pub(super) fn parse_drop_named_collection(&mut self) -> Parsed<Statement> {
        let if_exists = self.eat_if_exists();
        let name = self.parse_ident()?;
        self.refuse_cluster()?;
        Ok(Statement::DropNamedCollection { name, if_exists })
    }

    /// `key = value [[NOT] OVERRIDABLE]`.
    fn parse_collection_entry(&mut self) -> Parsed<CollectionEntry> {
        let key = self.parse_ident()?;
        self.expect_symbol(Symbol::Equal)?;
        let value = self.parse_literal()?;
        let overridable = match () {
            () if self.eat("NOT OVERRIDABLE") => Some(false),
            () if self.eat("OVERRIDABLE") => Some(true),
            () => None,
        };
        Ok(CollectionEntry { key, value, overridable })
    }
}
