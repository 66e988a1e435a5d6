//! Actions of ALTER TABLE on whole partitions and parts.

use std::fmt::{self, Display, Formatter};

use super::Text;
use crate::ast::{PartitionAction, PartitionRef};

impl Display for PartitionRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PartitionRef::All => f.write_str("PARTITION ALL"),
            PartitionRef::Id(id) => write!(f, "PARTITION ID {}", Text(id.as_bytes())),
            PartitionRef::Value(value) => write!(f, "PARTITION {value}"),
            PartitionRef::Part(name) => write!(f, "PART {}", Text(name.as_bytes())),
        }
    }
}

impl Display for PartitionAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PartitionAction::Drop { what } => write!(f, "DROP {what}"),
            PartitionAction::DropDetached { what } => write!(f, "DROP DETACHED {what}"),
            PartitionAction::Detach { what } => write!(f, "DETACH {what}"),
            PartitionAction::Attach { what } => write!(f, "ATTACH {what}"),
            PartitionAction::TakeFrom { what, table, replace: false } => {
                write!(f, "ATTACH {what} FROM {table}")
            }
            PartitionAction::TakeFrom { what, table, replace: true } => {
                write!(f, "REPLACE {what} FROM {table}")
            }
            PartitionAction::MoveTo { what, table } => write!(f, "MOVE {what} TO TABLE {table}"),
            PartitionAction::Freeze { what, name: None } => write!(f, "FREEZE {what}"),
            PartitionAction::Freeze { what, name: Some(name) } => {
                write!(f, "FREEZE {what} WITH NAME {}", Text(name.as_bytes()))
            }
            PartitionAction::Unfreeze { what, name } => {
                write!(f, "UNFREEZE {what} WITH NAME {}", Text(name.as_bytes()))
            }
        }
    }
}
