//! CREATE DATABASE and CREATE VIEW, and ALTER TABLE.

use std::fmt::{self, Display, Formatter};

use super::table::SortingKey;
use super::{Clause, Comma, Name, Text, flag, text_clause};
use crate::ast::{
    AlterAction, AlterTable, ColumnPosition, CreateDatabase, CreateView, Expr, Ident, IndexAction,
    PartitionRef,
};

impl Display for CreateDatabase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE DATABASE")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {}", Name(&self.name))?;
        Clause("ENGINE =", &self.engine).fmt(f)?;
        text_clause(f, "COMMENT", self.comment.as_ref())
    }
}

impl Display for CreateView {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE")?;
        flag(f, self.or_replace, "OR REPLACE")?;
        flag(f, self.materialized, "MATERIALIZED")?;
        f.write_str(" VIEW")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {}", self.name)?;
        Clause("TO", &self.to).fmt(f)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", Comma(&self.columns))?;
        }
        Clause("ENGINE =", &self.engine).fmt(f)?;
        if let Some(key) = &self.order_by {
            write!(f, " ORDER BY {}", SortingKey(key))?;
        }
        flag(f, self.populate, "POPULATE")?;
        text_clause(f, "COMMENT", self.comment.as_ref())?;
        write!(f, " AS {}", self.query)
    }
}

impl Display for AlterTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TABLE {} {}", self.name, Comma(&self.actions))?;
        if self.settings.is_empty() { Ok(()) } else { write!(f, " SETTINGS {}", Comma(&self.settings)) }
    }
}

impl Display for AlterAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let exists = |set: &bool| if *set { "IF EXISTS " } else { "" };
        match self {
            AlterAction::AddColumn { column, if_not_exists, position } => {
                f.write_str("ADD COLUMN")?;
                flag(f, *if_not_exists, "IF NOT EXISTS")?;
                write!(f, " {column}{}", Position(position.as_ref()))
            }
            AlterAction::DropColumn { name, if_exists } => {
                write!(f, "DROP COLUMN {}{}", exists(if_exists), Name(name))
            }
            AlterAction::ModifyColumn { column, if_exists, position } => {
                write!(f, "MODIFY COLUMN {}{column}{}", exists(if_exists), Position(position.as_ref()))
            }
            AlterAction::RemoveProperty { name, property, if_exists } => {
                write!(f, "MODIFY COLUMN {}{} REMOVE {}", exists(if_exists), Name(name), property.word())
            }
            AlterAction::RenameColumn { from, to, if_exists } => {
                write!(f, "RENAME COLUMN {}{} TO {}", exists(if_exists), Name(from), Name(to))
            }
            AlterAction::CommentColumn { name, comment, if_exists } => {
                write!(f, "COMMENT COLUMN {}{} {}", exists(if_exists), Name(name), Text(comment.as_bytes()))
            }
            AlterAction::ClearColumn { name, if_exists, partition } => {
                write!(f, "CLEAR COLUMN {}{}{}", exists(if_exists), Name(name), Clause("IN", partition))
            }
            AlterAction::MaterializeColumn { name, partition } => {
                write!(f, "MATERIALIZE COLUMN {}{}", Name(name), Clause("IN", partition))
            }
            action => fmt_table_action(f, action),
        }
    }
}

/// Where a column goes, with the space before it.
struct Position<'a>(Option<&'a ColumnPosition>);

impl Display for Position<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(ColumnPosition::First) => f.write_str(" FIRST"),
            Some(ColumnPosition::After(name)) => write!(f, " AFTER {}", Name(name)),
        }
    }
}

/// Actions on rows, partitions and the table as a whole.
fn fmt_table_action(f: &mut Formatter<'_>, action: &AlterAction) -> fmt::Result {
    match action {
        AlterAction::Update { assignments, partition, filter } => {
            write!(f, "UPDATE {}{} WHERE {filter}", Assignments(assignments), Clause("IN", partition))
        }
        AlterAction::Delete { partition, filter } => {
            write!(f, "DELETE{} WHERE {filter}", Clause("IN", partition))
        }
        AlterAction::Partition(action) => write!(f, "{action}"),
        AlterAction::Index(action) => write!(f, "{action}"),
        AlterAction::ModifySetting { settings } => write!(f, "MODIFY SETTING {}", Comma(settings)),
        AlterAction::ModifyTtl { ttl } => write!(f, "MODIFY TTL {}", Comma(ttl)),
        AlterAction::RemoveTtl => f.write_str("REMOVE TTL"),
        AlterAction::RemoveColumnTtl { name, if_exists } => {
            f.write_str("MODIFY COLUMN")?;
            flag(f, *if_exists, "IF EXISTS")?;
            write!(f, " {} REMOVE TTL", Name(name))
        }
        AlterAction::MaterializeTtl { partition } => {
            f.write_str("MATERIALIZE TTL")?;
            match partition {
                Some(partition) => write!(f, " IN {partition}"),
                None => Ok(()),
            }
        }
        AlterAction::ResetSetting { names } => {
            let names: Vec<String> = names.iter().map(|name| Name(name).to_string()).collect();
            write!(f, "RESET SETTING {}", Comma(&names))
        }
        AlterAction::ModifyComment { comment } => write!(f, "MODIFY COMMENT {}", Text(comment.as_bytes())),
        AlterAction::ModifyOrderBy { order_by } => write!(f, "MODIFY ORDER BY {}", SortingKey(order_by)),
        AlterAction::Other { words } => f.write_str(words),
        _ => Ok(()),
    }
}

/// `a = 1, b = b + 1`.
pub(super) struct Assignments<'a>(pub(super) &'a [(Ident, Expr)]);

impl Display for Assignments<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let assignment = |(name, value): &(Ident, Expr)| format!("{} = {value}", Name(name));
        let assignments: Vec<String> = self.0.iter().map(assignment).collect();
        Comma(&assignments).fmt(f)
    }
}

impl Display for IndexAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let exists = |set: &bool| if *set { "IF EXISTS " } else { "" };
        let place = |f: &mut Formatter<'_>, partition: &Option<PartitionRef>| match partition {
            Some(partition) => write!(f, " IN {partition}"),
            None => Ok(()),
        };
        match self {
            IndexAction::Add { index, if_not_exists, position } => {
                let exists = if *if_not_exists { "IF NOT EXISTS " } else { "" };
                // The printed index begins with the word itself.
                let text = index.to_string();
                write!(f, "ADD INDEX {exists}{}", text.strip_prefix("INDEX ").unwrap_or(&text))?;
                match position {
                    None => Ok(()),
                    Some(ColumnPosition::First) => f.write_str(" FIRST"),
                    Some(ColumnPosition::After(name)) => write!(f, " AFTER {}", Name(name)),
                }
            }
            IndexAction::Drop { name, if_exists } => {
                write!(f, "DROP INDEX {}{}", exists(if_exists), Name(name))
            }
            IndexAction::Clear { name, if_exists, partition } => {
                write!(f, "CLEAR INDEX {}{}", exists(if_exists), Name(name))?;
                place(f, partition)
            }
            IndexAction::Materialize { name, if_exists, partition } => {
                write!(f, "MATERIALIZE INDEX {}{}", exists(if_exists), Name(name))?;
                place(f, partition)
            }
        }
    }
}
