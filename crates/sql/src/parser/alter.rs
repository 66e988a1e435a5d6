//! ALTER TABLE, and UPDATE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{
    AlterAction, AlterTable, ColumnDef, ColumnPosition, ColumnProperty, DefinitionMode, Expr, Ident,
    IndexAction, PartitionRef, Setting, Statement, Update,
};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_alter(&mut self) -> Parsed<Statement> {
        self.expect("ALTER")?;
        if self.eat("NAMED COLLECTION") {
            return self.parse_alter_named_collection();
        }
        if let Some(kind) = self.eat_access_kind() {
            return self.parse_access_definition(kind, DefinitionMode::Alter { if_exists: false });
        }
        if !self.eat("TABLE") {
            return Err(match self.is_word("DATABASE") {
                true => self.not_implemented("ALTER DATABASE"),
                false => self.unexpected(),
            });
        }
        let name = self.parse_target()?;
        let actions = self.parse_list(Cursor::parse_alter_action)?;
        let settings = self.parse_settings_clause()?;
        Ok(Statement::Alter(Box::new(AlterTable { name, actions, settings })))
    }

    fn parse_alter_action(&mut self) -> Parsed<AlterAction> {
        match () {
            () if self.eat("ADD COLUMN") => self.parse_add_column(),
            () if self.eat("DROP COLUMN") => {
                let if_exists = self.eat_if_exists();
                Ok(AlterAction::DropColumn { name: self.parse_column_name()?, if_exists })
            }
            () if self.eat("MODIFY COLUMN") => self.parse_modify_column(),
            () if self.eat("ALTER COLUMN") => self.parse_alter_column(),
            () if self.eat("RENAME COLUMN") => self.parse_rename_column(),
            () if self.eat("COMMENT COLUMN") => {
                let if_exists = self.eat_if_exists();
                let name = self.parse_column_name()?;
                Ok(AlterAction::CommentColumn { name, comment: self.parse_string()?, if_exists })
            }
            () if self.eat("CLEAR COLUMN") => {
                let if_exists = self.eat_if_exists();
                let name = self.parse_column_name()?;
                Ok(AlterAction::ClearColumn { name, if_exists, partition: self.parse_in_partition()? })
            }
            () if self.eat("MATERIALIZE COLUMN") => {
                let name = self.parse_column_name()?;
                Ok(AlterAction::MaterializeColumn { name, partition: self.parse_in_partition()? })
            }
            () => self.parse_table_action(),
        }
    }

    /// Actions on rows, partitions and the table as a whole.
    fn parse_table_action(&mut self) -> Parsed<AlterAction> {
        match () {
            () if self.eat("UPDATE") => {
                let assignments = self.parse_list(Cursor::parse_assignment)?;
                let partition = self.parse_in_partition()?;
                self.expect("WHERE")?;
                Ok(AlterAction::Update { assignments, partition, filter: self.parse_expr()? })
            }
            () if self.eat("DELETE") => {
                let partition = self.parse_in_partition()?;
                self.expect("WHERE")?;
                Ok(AlterAction::Delete { partition, filter: self.parse_expr()? })
            }
            () if self.is_index_action() => self.parse_index_action().map(AlterAction::Index),
            () if self.is_partition_action() => self.parse_partition_action().map(AlterAction::Partition),
            () if self.eat("MODIFY SETTING") => {
                Ok(AlterAction::ModifySetting { settings: self.parse_settings()? })
            }
            () if self.eat("RESET SETTING") => {
                Ok(AlterAction::ResetSetting { names: self.parse_list(Cursor::parse_column_name)? })
            }
            () if self.eat("MODIFY COMMENT") => {
                Ok(AlterAction::ModifyComment { comment: self.parse_string()? })
            }
            () if self.eat("MODIFY TTL") => {
                Ok(AlterAction::ModifyTtl { ttl: self.parse_list(Cursor::parse_ttl)? })
            }
            () if self.eat("REMOVE TTL") => Ok(AlterAction::RemoveTtl),
            () if self.eat("MATERIALIZE TTL") => {
                Ok(AlterAction::MaterializeTtl { partition: self.parse_in_partition()? })
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
        Ok(AlterAction::AddColumn { column, if_not_exists, position: self.parse_column_position()? })
    }

    fn parse_column_position(&mut self) -> Parsed<Option<ColumnPosition>> {
        match () {
            () if self.eat("FIRST") => Ok(Some(ColumnPosition::First)),
            () if self.eat("AFTER") => Ok(Some(ColumnPosition::After(self.parse_column_name()?))),
            () => Ok(None),
        }
    }

    fn parse_modify_column(&mut self) -> Parsed<AlterAction> {
        let if_exists = self.eat_if_exists();
        if self.is_word_at(1, "REMOVE") && self.is_word_at(2, "TTL") {
            let name = self.parse_column_name()?;
            self.expect("REMOVE TTL")?;
            return Ok(AlterAction::RemoveColumnTtl { name, if_exists });
        }
        if self.is_word_at(1, "REMOVE") {
            let name = self.parse_column_name()?;
            self.expect("REMOVE")?;
            return Ok(AlterAction::RemoveProperty { name, property: self.parse_property()?, if_exists });
        }
        if self.is_one_of_at(1, &["MODIFY", "RESET"]) {
            let words = format!("MODIFY COLUMN {}", self.take_words(&[])?);
            return Ok(AlterAction::Other { words });
        }
        let column = self.parse_column_only()?;
        Ok(AlterAction::ModifyColumn { column, if_exists, position: self.parse_column_position()? })
    }

    /// `ALTER COLUMN name TYPE type` says the same as `MODIFY COLUMN name type`.
    fn parse_alter_column(&mut self) -> Parsed<AlterAction> {
        let retyped = if self.is_word("IF") && self.is_word_at(1, "EXISTS") { 3 } else { 1 };
        if !self.is_word_at(retyped, "TYPE") {
            return self.parse_modify_column();
        }
        let if_exists = self.eat_if_exists();
        let column = self.parse_retyped_column()?;
        Ok(AlterAction::ModifyColumn { column, if_exists, position: self.parse_column_position()? })
    }

    fn parse_property(&mut self) -> Parsed<ColumnProperty> {
        match ColumnProperty::ALL.into_iter().find(|property| self.eat(property.word())) {
            Some(property) => Ok(property),
            None => Err(self.unexpected()),
        }
    }

    fn parse_retyped_column(&mut self) -> Parsed<ColumnDef> {
        let name = self.parse_column_name()?;
        self.expect("TYPE")?;
        Ok(ColumnDef::new(name, Some(self.parse_type()?)))
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

    fn is_index_action(&mut self) -> bool {
        self.is_one_of(&["ADD", "DROP", "CLEAR", "MATERIALIZE"]) && self.is_word_at(1, "INDEX")
    }

    fn parse_index_action(&mut self) -> Parsed<IndexAction> {
        if self.eat("ADD INDEX") {
            let if_not_exists = self.eat_if_not_exists();
            let index = self.parse_index()?;
            let position = match () {
                () if self.eat("FIRST") => Some(ColumnPosition::First),
                () if self.eat("AFTER") => Some(ColumnPosition::After(self.parse_ident()?)),
                () => None,
            };
            return Ok(IndexAction::Add { index, if_not_exists, position });
        }
        if self.eat("DROP INDEX") {
            let if_exists = self.eat_if_exists();
            return Ok(IndexAction::Drop { name: self.parse_ident()?, if_exists });
        }
        let clears = self.eat("CLEAR INDEX");
        if !clears {
            self.expect("MATERIALIZE INDEX")?;
        }
        let if_exists = self.eat_if_exists();
        let name = self.parse_ident()?;
        let partition = if self.eat("IN") { Some(self.parse_partition_ref()?) } else { None };
        Ok(match clears {
            true => IndexAction::Clear { name, if_exists, partition },
            false => IndexAction::Materialize { name, if_exists, partition },
        })
    }

    pub(super) fn parse_assignment(&mut self) -> Parsed<(Ident, Expr)> {
        let name = self.parse_column_name()?;
        self.expect_symbol(Symbol::Equal)?;
        Ok((name, self.parse_expr()?))
    }

    /// Starts after UPDATE at the beginning of a statement.
    pub(super) fn parse_update(&mut self) -> Parsed<Statement> {
        let table = self.parse_target()?;
        self.expect("SET")?;
        let assignments = self.parse_list(Cursor::parse_assignment)?;
        let partition = self.parse_in_partition()?;
        self.expect("WHERE")?;
        let filter = self.parse_expr()?;
        let settings = self.parse_settings_clause()?;
        Ok(Statement::Update(Box::new(Update { table, assignments, partition, filter, settings })))
    }

    /// `SETTINGS a = 1, ..`; none if it does not come.
    pub(super) fn parse_settings_clause(&mut self) -> Parsed<Vec<Setting>> {
        if self.eat("SETTINGS") { self.parse_settings() } else { Ok(Vec::new()) }
    }

    /// `IN PARTITION ..`.
    fn parse_in_partition(&mut self) -> Parsed<Option<PartitionRef>> {
        if !self.is_in_partition() {
            return Ok(None);
        }
        self.expect("IN")?;
        self.parse_partition_ref().map(Some)
    }
}
