//! Which family a statement belongs to, by its first words.

use super::cursor::{Cursor, Parsed};
use crate::ast::{CheckTable, KillMode, ObjectKind, Statement};
use crate::lexer::Symbol;

/// ClickHouse statements that the tree cannot represent.
const NOT_IMPLEMENTED: &[&str] = &["UNDROP", "MOVE", "WATCH", "BEGIN", "COMMIT", "ROLLBACK", "EXECUTE"];

impl Cursor<'_> {
    pub(super) fn parse_statement(&mut self) -> Parsed<Statement> {
        if self.is_word("WITH") && self.is_query_at(0) {
            return self.parse_with_statement();
        }
        if self.is_query_at(0) || self.is_symbol(Symbol::OpenParen) {
            return self.parse_query().map(|query| Statement::Query(Box::new(query)));
        }
        let parse: fn(&mut Self) -> Parsed<Statement> = match () {
            () if self.is_word("INSERT") => Cursor::parse_insert,
            () if self.is_word("COPY") => Cursor::parse_copy,
            () if self.is_word("CREATE") => Cursor::parse_create,
            () if self.is_word("ATTACH") => Cursor::parse_attach,
            () if self.is_word("ALTER") => Cursor::parse_alter,
            () if self.is_word("SHOW") => Cursor::parse_show,
            () if self.is_word("SYSTEM") => Cursor::parse_system,
            () if self.is_word("EXPLAIN") => Cursor::parse_explain,
            () if self.is_one_of(&["DESCRIBE", "DESC"]) => Cursor::parse_describe,
            () if self.is_one_of(&["DROP", "DETACH", "TRUNCATE", "RENAME", "EXCHANGE", "DELETE"]) => {
                Cursor::parse_drop_family
            }
            () => Cursor::parse_short_statement,
        };
        parse(self)
    }

    fn parse_short_statement(&mut self) -> Parsed<Statement> {
        if let Some(statement) = self.parse_set_role()? {
            return Ok(statement);
        }
        match () {
            () if self.eat("USE") => self.parse_ident().map(Statement::Use),
            () if self.eat("SET") => self.parse_set_statement(),
            () if self.is_word("EXISTS") => self.parse_exists(),
            () if self.eat("OPTIMIZE TABLE") => self.parse_optimize(),
            () if self.is_word("KILL") => self.parse_kill(),
            () if self.eat("CHECK TABLE") => self.parse_check(),
            () if self.eat("UPDATE") => self.parse_update(),
            () if self.eat("GRANT") => self.parse_grant(),
            () if self.eat("REVOKE") => self.parse_revoke(),
            () if self.eat("BACKUP") => self.parse_backup(),
            () if self.eat("RESTORE") => self.parse_restore(),
            () => Err(self.unknown_statement()),
        }
    }

    fn unknown_statement(&mut self) -> Box<crate::error::Failure> {
        if let Some(word) = NOT_IMPLEMENTED.iter().find(|word| self.is_word(word)) {
            return self.not_implemented(*word);
        }
        for first in [
            "SELECT", "INSERT", "COPY", "CREATE", "ATTACH", "ALTER", "SHOW", "SYSTEM", "EXPLAIN", "DESCRIBE",
            "DROP", "DETACH", "TRUNCATE", "RENAME", "DELETE", "UPDATE", "GRANT", "REVOKE", "BACKUP",
            "RESTORE", "WITH",
        ] {
            self.note(first);
        }
        self.unexpected()
    }

    /// `EXISTS [TEMPORARY] [TABLE|DATABASE|VIEW|DICTIONARY] name`.
    fn parse_exists(&mut self) -> Parsed<Statement> {
        self.expect("EXISTS")?;
        let _noise = self.eat("TEMPORARY");
        let kind = self.eat_object_kind().unwrap_or(ObjectKind::Table);
        Ok(Statement::Exists { kind, name: self.parse_object_name()? })
    }

    /// The word for a kind of object, if a name follows it.
    pub(super) fn eat_object_kind(&mut self) -> Option<ObjectKind> {
        const KINDS: &[(&str, ObjectKind)] = &[
            ("TABLE", ObjectKind::Table),
            ("DATABASE", ObjectKind::Database),
            ("SCHEMA", ObjectKind::Database),
            ("VIEW", ObjectKind::View),
            ("DICTIONARY", ObjectKind::Dictionary),
        ];
        let &(_, kind) = KINDS.iter().find(|(word, _)| self.is_word(word))?;
        self.take();
        Some(kind)
    }

    /// Starts after OPTIMIZE TABLE.
    fn parse_optimize(&mut self) -> Parsed<Statement> {
        let table = self.parse_target()?;
        let partition = if self.is_word("PARTITION") { Some(self.parse_partition_ref()?) } else { None };
        let is_final = self.eat("FINAL");
        let deduplicate = match self.eat("DEDUPLICATE") {
            true if self.eat("BY") => Some(self.parse_list(Cursor::parse_expr)?),
            true => Some(Vec::new()),
            false => None,
        };
        if self.is_word("CLEANUP") {
            return Err(self.not_implemented("OPTIMIZE .. CLEANUP"));
        }
        Ok(Statement::Optimize { table, partition, is_final, deduplicate })
    }

    fn parse_kill(&mut self) -> Parsed<Statement> {
        if self.eat("KILL MUTATION") {
            self.refuse_cluster()?;
            self.expect("WHERE")?;
            let filter = self.parse_expr()?;
            let _noise = self.eat("SYNC") || self.eat("ASYNC");
            return Ok(Statement::KillMutation { filter });
        }
        self.expect("KILL QUERY")?;
        self.refuse_cluster()?;
        self.expect("WHERE")?;
        let filter = self.parse_expr()?;
        let mode = match () {
            () if self.eat("TEST") => KillMode::Test,
            () if self.eat("SYNC") => KillMode::Sync,
            () => {
                let _noise = self.eat("ASYNC");
                KillMode::Async
            }
        };
        Ok(Statement::KillQuery { filter, mode })
    }

    /// Starts after CHECK TABLE.
    fn parse_check(&mut self) -> Parsed<Statement> {
        let table = self.parse_object_name()?;
        let is_narrower = self.is_word("PARTITION") || self.is_word("PART");
        let partition = if is_narrower { Some(self.parse_partition_ref()?) } else { None };
        let mut format = self.parse_format()?;
        let settings = if self.eat("SETTINGS") { self.parse_settings()? } else { Vec::new() };
        if format.is_none() {
            format = self.parse_format()?;
        }
        Ok(Statement::Check(CheckTable { table, partition, format, settings }))
    }
}
