//! The commands of a mutation as text, and its identifier.

use basalt_base::{Error, Result};
use basalt_sql::ast::{AlterAction, Statement};

/// The column that a lightweight DELETE sets to 0: it is in no table.
pub(crate) const ROW_EXISTS: &str = "_row_exists";

/// The identifier of a mutation as users see it.
pub(crate) fn mutation_id(version: u64) -> String {
    format!("mutation_{version}.txt")
}

/// The commands of a mutation, from their text.
pub(crate) fn commands_of(text: &str) -> Result<Vec<AlterAction>> {
    match basalt_sql::parse_statement(format!("ALTER TABLE t {text}").as_bytes())? {
        Statement::Alter(alter) => Ok(alter.actions),
        other => Err(Error::logical(format!("`{other}` is not a mutation"))),
    }
}
