//! `pg_settings`: the variables of the session.

use super::cells::Row;
use crate::execution::Execution;

pub(super) fn pg_settings(query: &Execution) -> Vec<Row> {
    let variables = query.postgres.as_deref().map(|session| session.variables()).unwrap_or_default();
    let row = |(name, value): (String, String)| {
        Row::default()
            .set("name", name)
            .set("setting", value.as_str())
            .set("category", "Client Connection Defaults")
            .set("context", "user")
            .set("vartype", "string")
            .set("source", "session")
            .set("boot_val", value.as_str())
            .set("reset_val", value)
            .set("pending_restart", false)
    };
    variables.into_iter().map(row).collect()
}
