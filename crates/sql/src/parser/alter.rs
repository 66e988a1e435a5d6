//! ALTER TABLE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{AlterAction, AlterTable, ColumnDef, ColumnPosition, Expr, Ident, Statement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_alter(&mut self) -> Parsed<Statement> {
        self.expect("ALTER")?;
        if !self.eat("TABLE") {
            return Err(
                match ["DATABASE", "USER", "ROLE", "QUOTA", "NAMED", "ROW", "POLICY", "SETTINGS"]
                    .iter()
                    .find(|word| self.is_word(word))
                {
                    Some(word) => self.not_implemented(format!("ALTER {word}")),
                    None => self.unexpected(),
                },
            );
        }
        let name = self.parse_target()?;
        let actions = self.parse_list(Cursor::parse_alter_action)?;
        let settings = if self.eat("SETTINGS") { self.parse_settings()? } else { Vec::new() };
        Ok(Statement::Alter(Box::new(AlterTable { name, actions, settings })))
    }

    fn parse_alter_action(&mut self) -> Parsed<AlterAction> {
        match () {
            () if self.eat("ADD COLUMN") => self.parse_add_column(),
            () if self.eat("DROP COLUMN") => {
                let if_exists = self.eat_if_exists();
                Ok(AlterAction::DropColumn { name: self.parse_column_name()?, if_exists })
            }
            () if self.eat("MODIFY COLUMN") || self.eat("ALTER COLUMN") => self.parse_modify_column(),
            () if self.eat("RENAME COLUMN") => self.parse_rename_column(),
            () if self.eat("COMMENT COLUMN") => {
                let if_exists = self.eat_if_exists();
                let name = self.parse_column_name()?;
                Ok(AlterAction::CommentColumn { name, comment: self.parse_string()?, if_exists })
            }
            () if self.eat("CLEAR COLUMN") => {
                let name = self.parse_column_name()?;
                let partition = if self.eat("IN PARTITION") { Some(self.parse_partition()?) } else { None };
                Ok(AlterAction::ClearColumn { name, partition })
            }
            () => self.parse_table_action(),
        }
    }

    /// Actions on rows, partitions and the table as a whole.
    fn parse_table_action(&mut self) -> Parsed<AlterAction> {
        match () {
            () if self.eat("UPDATE") => {
                let assignments = self.parse_list(Cursor::parse_assignment)?;
                self.refuse_in_partition()?;
                self.expect("WHERE")?;
                Ok(AlterAction::Update { assignments, filter: self.parse_expr()? })
            }
            () if self.eat("DELETE") => {
                self.refuse_in_partition()?;
                self.expect("WHERE")?;
                Ok(AlterAction::Delete { filter: self.parse_expr()? })
            }
            () if self.is_partition_action() => self.parse_partition_action().map(AlterAction::Partition),
            () if self.eat("MODIFY SETTING") => {
                Ok(AlterAction::ModifySetting { settings: self.parse_settings()? })
            }
            () if self.eat("MODIFY COMMENT") => {
                Ok(AlterAction::ModifyComment { comment: self.parse_string()? })
            }
            () if self.eat("MODIFY TTL") => {
                Ok(AlterAction::ModifyTtl { ttl: self.parse_list(Cursor::parse_ttl)? })
            }
            () if self.eat("REMOVE TTL") => Ok(AlterAction::RemoveTtl),
            () if self.eat("MATERIALIZE TTL") => {
                let partition = if self.eat("IN PARTITION") { Some(self.parse_partition()?) } else { None };
                Ok(AlterAction::MaterializeTtl { partition })
            }
            () if self.eat("MODIFY ORDER BY") => {
                Ok(AlterAction::ModifyOrderBy { order_by: self.parse_sorting_key()? })
            }
            () => self.parse_other_action(),
        }
    }

    fn parse_other_action(&mut self) -> Parsed<AlterAction> {
        const FIRST_WORDS: &[&str] = &[
            "ADD",
            "APPLY",
            "ATTACH",
            "CLEAR",
            "DETACH",
            "DROP",
            "EXPORT",
            "FETCH",
            "FREEZE",
            "FORGET",
            "MATERIALIZE",
            "MODIFY",
            "MOVE",
            "REMOVE",
            "REPLACE",
            "RESET",
            "UNFREEZE",
        ];
        if !self.is_one_of(FIRST_WORDS) {
            self.note("UPDATE");
            return Err(self.unexpected());
        }
        Ok(AlterAction::Other { words: self.take_words(&[])? })
    }

    fn parse_add_column(&mut self) -> Parsed<AlterAction> {
        let if_not_exists = self.eat_if_not_exists();
        let column = self.parse_column_only()?;
        let position = match () {
            () if self.eat("FIRST") => Some(ColumnPosition::First),
            () if self.eat("AFTER") => Some(ColumnPosition::After(self.parse_column_name()?)),
            () => None,
        };
        Ok(AlterAction::AddColumn { column, if_not_exists, position })
    }

    fn parse_modify_column(&mut self) -> Parsed<AlterAction> {
        let if_exists = self.eat_if_exists();
        if self.is_word_at(1, "REMOVE") && self.is_word_at(2, "TTL") {
            let name = self.parse_column_name()?;
            self.expect("REMOVE TTL")?;
            return Ok(AlterAction::RemoveColumnTtl { name, if_exists });
        }
        if self.is_one_of_at(1, &["REMOVE", "MODIFY", "RESET"]) {
            let words = format!("MODIFY COLUMN {}", self.take_words(&[])?);
            return Ok(AlterAction::Other { words });
        }
        // `ALTER COLUMN name TYPE type` says the same as `MODIFY COLUMN name type`.
        let column =
            if self.is_word_at(1, "TYPE") { self.parse_retyped_column()? } else { self.parse_column_only()? };
        if self.is_one_of(&["FIRST", "AFTER"]) {
            return Err(self.not_implemented("a position behind MODIFY COLUMN"));
        }
        Ok(AlterAction::ModifyColumn { column, if_exists })
    }

    fn parse_retyped_column(&mut self) -> Parsed<ColumnDef> {
        let name = self.parse_column_name()?;
        self.expect("TYPE")?;
        let ty = Some(self.parse_type()?);
        Ok(ColumnDef { name, ty, nullable: None, default: None, codec: Vec::new(), ttl: None, comment: None })
    }

    fn parse_column_only(&mut self) -> Parsed<ColumnDef> {
        let (column, is_key) = self.parse_column()?;
        if is_key { Err(self.refuse("PRIMARY KEY has no place in ALTER TABLE")) } else { Ok(column) }
    }

    fn parse_rename_column(&mut self) -> Parsed<AlterAction> {
        let if_exists = self.eat_if_exists();
        let from = self.parse_column_name()?;
        self.expect("TO")?;
        Ok(AlterAction::RenameColumn { from, to: self.parse_column_name()?, if_exists })
    }

    pub(super) fn parse_assignment(&mut self) -> Parsed<(Ident, Expr)> {
        let name = self.parse_column_name()?;
        self.expect_symbol(Symbol::Equal)?;
        Ok((name, self.parse_expr()?))
    }

    fn refuse_in_partition(&mut self) -> Parsed<()> {
        if self.is_phrase("IN PARTITION") { Err(self.not_implemented("IN PARTITION")) } else { Ok(()) }
    }

    /// The value behind the word PARTITION.
    pub(super) fn parse_partition(&mut self) -> Parsed<Expr> {
        use crate::lexer::TokenKind;
        if self.is_word("ID") && self.peek_at(1).kind == TokenKind::String {
            return Err(self.not_implemented("PARTITION ID"));
        }
        if self.is_word("ALL") {
            return Err(self.not_implemented("PARTITION ALL"));
        }
        self.parse_expr()
    }
}
