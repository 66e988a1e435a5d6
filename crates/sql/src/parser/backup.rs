//! BACKUP and RESTORE of one table.

use super::cursor::{Cursor, Parsed};
use crate::ast::Statement;
use crate::error::Failure;

impl Cursor<'_> {
    /// Starts after BACKUP.
    pub(super) fn parse_backup(&mut self) -> Parsed<Statement> {
        if !self.eat("TABLE") {
            return Err(self.refuse_backup_kind("BACKUP"));
        }
        let table = self.parse_target()?;
        self.expect("TO")?;
        Ok(Statement::Backup { table, to: self.parse_engine_call()? })
    }

    /// Starts after RESTORE.
    pub(super) fn parse_restore(&mut self) -> Parsed<Statement> {
        if !self.eat("TABLE") {
            return Err(self.refuse_backup_kind("RESTORE"));
        }
        let table = self.parse_object_name()?;
        let new_name = if self.eat("AS") { Some(self.parse_object_name()?) } else { None };
        self.refuse_cluster()?;
        self.expect("FROM")?;
        Ok(Statement::Restore { table, new_name, from: self.parse_engine_call()? })
    }

    fn refuse_backup_kind(&mut self, verb: &str) -> Box<Failure> {
        const KINDS: &[&str] = &["DATABASE", "DICTIONARY", "VIEW", "TEMPORARY", "ALL"];
        match KINDS.iter().find(|kind| self.is_word(kind)) {
            Some(kind) => self.not_implemented(format!("{verb} {kind}")),
            None => self.unexpected(),
        }
    }
}
