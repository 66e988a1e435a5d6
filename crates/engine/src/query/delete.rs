//! DELETE FROM: rows deleted in place, or a lightweight delete that is recorded as a mutation.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_sql::ast::{AlterAction, Expr, Literal, ObjectName};

use crate::execution::Execution;
use crate::mutation::{ROW_EXISTS, begin, change_in_place, wait};

/// `DELETE FROM t WHERE ..`.
pub(super) fn delete_from(
    query: &Arc<Execution>,
    name: &ObjectName,
    filter: &Expr,
    parameters: &HashMap<String, String>,
) -> Result<()> {
    let key = query.key_of(name);
    let table = query.instance.catalog().table(&key.database, &key.name, "DELETE")?;
    if table.as_changeable().is_some() {
        let command = AlterAction::Delete { partition: None, filter: filter.clone() };
        return change_in_place(query, &table, &[command], parameters);
    }
    if table.as_parts().is_none() {
        bail!(BadArguments, "DELETE query is not supported for table {}", table.definition().full_name());
    }
    let zero = Expr::Literal(Literal::UInt(0));
    let command = AlterAction::Update {
        assignments: vec![(ROW_EXISTS.to_owned(), zero)],
        partition: None,
        filter: filter.clone(),
    };
    let version = begin(query, table.as_ref(), &[command])?;
    if query.settings.lightweight_deletes_sync > 0 { wait(query, &key, &table, version) } else { Ok(()) }
}
