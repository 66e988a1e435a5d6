//! TTL clauses as SQL.

use std::fmt::{self, Display, Formatter};

use super::{Clause, Comma, Name, Text};
use crate::ast::{TtlAction, TtlElement};

impl Display for TtlElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.expr, self.action)
    }
}

/// With a leading space, if there is anything to print.
impl Display for TtlAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TtlAction::Delete { filter } => Clause("WHERE", filter).fmt(f),
            TtlAction::ToDisk { name, if_exists } => target(f, "DISK", name, *if_exists),
            TtlAction::ToVolume { name, if_exists } => target(f, "VOLUME", name, *if_exists),
            TtlAction::Group { keys, assignments } => {
                write!(f, " GROUP BY {}", Comma(keys))?;
                for (position, (column, value)) in assignments.iter().enumerate() {
                    let before = if position == 0 { " SET" } else { "," };
                    write!(f, "{before} {} = {value}", Name(column))?;
                }
                Ok(())
            }
            TtlAction::Recompress { codec } => write!(f, " RECOMPRESS CODEC({})", Comma(codec)),
        }
    }
}

fn target(f: &mut Formatter<'_>, kind: &str, name: &str, if_exists: bool) -> fmt::Result {
    let condition = if if_exists { "IF EXISTS " } else { "" };
    write!(f, " TO {kind} {condition}{}", Text(name.as_bytes()))
}
