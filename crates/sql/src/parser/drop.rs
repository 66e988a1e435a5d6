//! DROP, DETACH, TRUNCATE, RENAME, EXCHANGE and DELETE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{DetachObject, DropObject, ObjectKind, RenamePair, Statement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_drop_family(&mut self) -> Parsed<Statement> {
        match () {
            () if self.eat("DROP NAMED COLLECTION") => self.parse_drop_named_collection(),
            () if self.eat("DROP") => match self.eat_access_kind() {
                Some(kind) => self.parse_drop_access(kind),
                None => self.parse_drop().map(Statement::Drop),
            },
            () if self.eat("DETACH") => self.parse_detach().map(Statement::Detach),
            () if self.eat("TRUNCATE") => self.parse_truncate(),
            () if self.eat("RENAME") => self.parse_rename(),
            () if self.eat("EXCHANGE") => self.parse_exchange(),
            () => self.parse_delete(),
        }
    }

    fn parse_drop(&mut self) -> Parsed<DropObject> {
        let temporary = self.eat("TEMPORARY");
        let Some(kind) = self.eat_object_kind() else {
            self.note("TABLE");
            return Err(self.refuse_kind("DROP"));
        };
        let if_exists = self.eat_if_exists();
        if self.is_phrase("IF EMPTY") {
            return Err(self.not_implemented("IF EMPTY"));
        }
        let names = self.parse_list(|cursor| cursor.parse_kind_name(kind))?;
        let sync = self.eat("SYNC") || self.eat("NO DELAY");
        Ok(DropObject { kind, names, if_exists, temporary, sync })
    }

    fn parse_detach(&mut self) -> Parsed<DetachObject> {
        let Some(kind) = self.eat_object_kind() else {
            self.note("TABLE");
            return Err(self.refuse_kind("DETACH"));
        };
        let if_exists = self.eat_if_exists();
        let name = self.parse_kind_name(kind)?;
        let permanently = self.eat("PERMANENTLY");
        let sync = self.eat("SYNC") || self.eat("NO DELAY");
        Ok(DetachObject { kind, name, if_exists, permanently, sync })
    }

    fn parse_truncate(&mut self) -> Parsed<Statement> {
        if self.is_word("DATABASE") || self.is_phrase("ALL TABLES") {
            return Err(self.not_implemented("TRUNCATE of a database"));
        }
        let _noise = self.eat("TEMPORARY");
        let _noise = self.eat("TABLE");
        let if_exists = self.eat_if_exists();
        let name = self.parse_target()?;
        let _noise = self.eat("SYNC");
        Ok(Statement::Truncate { name, if_exists })
    }

    fn parse_rename(&mut self) -> Parsed<Statement> {
        let kind = match self.eat_object_kind() {
            Some(kind) => kind,
            None if self.is_one_of(&["USER", "ROLE", "QUOTA", "PROFILE"]) => {
                return Err(self.refuse_kind("RENAME"));
            }
            None => ObjectKind::Table,
        };
        let pairs = self.parse_list(|cursor| {
            let from = cursor.parse_kind_name(kind)?;
            cursor.expect("TO")?;
            Ok(RenamePair { from, to: cursor.parse_kind_name(kind)? })
        })?;
        Ok(Statement::Rename { kind, pairs })
    }

    fn parse_exchange(&mut self) -> Parsed<Statement> {
        let kind = if self.eat("DICTIONARIES") {
            ObjectKind::Dictionary
        } else {
            self.expect("TABLES")?;
            ObjectKind::Table
        };
        let left = self.parse_target()?;
        self.expect("AND")?;
        Ok(Statement::Exchange { kind, left, right: self.parse_target()? })
    }

    fn parse_delete(&mut self) -> Parsed<Statement> {
        self.expect("DELETE")?;
        self.expect("FROM")?;
        let table = self.parse_target()?;
        if self.is_phrase("IN PARTITION") || self.is_symbol(Symbol::OpenParen) {
            return Err(self.not_implemented("DELETE from one partition"));
        }
        self.expect("WHERE")?;
        let filter = self.parse_expr()?;
        Ok(Statement::Delete { table, filter, settings: self.parse_settings_clause()? })
    }
}
