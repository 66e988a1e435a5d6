//! Actions of ALTER TABLE on whole partitions and parts.

use super::cursor::{Cursor, Parsed};
use crate::ast::{PartitionAction, PartitionRef};
use crate::lexer::TokenKind;

/// The first words of an action, each before `PARTITION` or `PART`.
const VERBS: &[&str] = &["ATTACH", "DETACH", "DROP", "DROP DETACHED", "MOVE", "REPLACE"];

impl Cursor<'_> {
    pub(super) fn is_partition_action(&mut self) -> bool {
        let is_verb = |cursor: &mut Self, verb: &&&str| {
            cursor.is_phrase(&format!("{verb} PARTITION")) || cursor.is_phrase(&format!("{verb} PART"))
        };
        VERBS.iter().any(|verb| is_verb(self, &verb)) || self.is_word("FREEZE") || self.is_word("UNFREEZE")
    }

    pub(super) fn parse_partition_action(&mut self) -> Parsed<PartitionAction> {
        match () {
            () if self.eat("DROP DETACHED") => {
                Ok(PartitionAction::DropDetached { what: self.parse_partition_ref()? })
            }
            () if self.eat("DROP") => Ok(PartitionAction::Drop { what: self.parse_partition_ref()? }),
            () if self.eat("DETACH") => Ok(PartitionAction::Detach { what: self.parse_partition_ref()? }),
            () if self.eat("ATTACH") => {
                let what = self.parse_partition_ref()?;
                if !self.eat("FROM") {
                    return Ok(PartitionAction::Attach { what });
                }
                Ok(PartitionAction::TakeFrom { what, table: self.parse_object_name()?, replace: false })
            }
            () if self.eat("REPLACE") => {
                let what = self.parse_partition_ref()?;
                self.expect("FROM")?;
                Ok(PartitionAction::TakeFrom { what, table: self.parse_object_name()?, replace: true })
            }
            () if self.eat("MOVE") => {
                let what = self.parse_partition_ref()?;
                if self.is_phrase("TO DISK") || self.is_phrase("TO VOLUME") {
                    return Err(self.not_implemented("MOVE PARTITION TO DISK or VOLUME"));
                }
                self.expect("TO TABLE")?;
                Ok(PartitionAction::MoveTo { what, table: self.parse_object_name()? })
            }
            () if self.eat("FREEZE") => {
                let what = self.parse_optional_partition_ref()?;
                let name = if self.eat("WITH NAME") { Some(self.parse_string()?) } else { None };
                Ok(PartitionAction::Freeze { what, name })
            }
            () => {
                self.expect("UNFREEZE")?;
                let what = self.parse_optional_partition_ref()?;
                self.expect("WITH NAME")?;
                Ok(PartitionAction::Unfreeze { what, name: self.parse_string()? })
            }
        }
    }

    /// Everything, where the statement names no partition.
    fn parse_optional_partition_ref(&mut self) -> Parsed<PartitionRef> {
        if self.is_word("PARTITION") || self.is_word("PART") {
            return self.parse_partition_ref();
        }
        Ok(PartitionRef::All)
    }

    /// `PARTITION value`, `PARTITION ID 'id'`, `PARTITION ALL`, `PART 'name'`.
    pub(super) fn parse_partition_ref(&mut self) -> Parsed<PartitionRef> {
        if self.eat("PART") {
            return self.parse_string().map(PartitionRef::Part);
        }
        self.expect("PARTITION")?;
        if self.is_word("ID") && self.peek_at(1).kind == TokenKind::String {
            self.expect("ID")?;
            return self.parse_string().map(PartitionRef::Id);
        }
        if self.eat("ALL") {
            return Ok(PartitionRef::All);
        }
        self.parse_expr().map(PartitionRef::Value)
    }
}
