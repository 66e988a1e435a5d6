//! UPDATE: rows changed in place, or a mutation that is waited for.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::Result;
use basalt_sql::ast::{AlterAction, Update};

use crate::execution::Execution;
use crate::mutation::{begin, change_in_place, wait};

/// `UPDATE t SET .. WHERE ..`.
pub(super) fn update(
    query: &Arc<Execution>,
    update: Update,
    parameters: &HashMap<String, String>,
) -> Result<()> {
    let key = query.key_of(&update.table);
    let table = query.instance.catalog().table(&key.database, &key.name, "UPDATE")?;
    let Update { assignments, partition, filter, .. } = update;
    let command = AlterAction::Update { assignments, partition, filter };
    if table.as_changeable().is_some() {
        return change_in_place(query, &table, &[command], parameters);
    }
    if table.as_parts().is_none() {
        return Err(table.refuses("UPDATE"));
    }
    let version = begin(query, table.as_ref(), &[command])?;
    wait(query, &key, &table, version)
}
