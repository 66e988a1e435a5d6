//! OPTIMIZE TABLE: merges that a user asks for.

use basalt_base::{Result, bail};
use basalt_sql::ast::{Expr, ObjectName};

use super::{QueryContext, ddl};
use crate::tables::{OptimizeRequest, TableDefinition};

/// Runs one OPTIMIZE; `deduplicate` as the statement lists it.
pub(super) fn optimize(
    query: &QueryContext,
    name: &ObjectName,
    partition: Option<&Expr>,
    is_final: bool,
    deduplicate: Option<&[Expr]>,
) -> Result<()> {
    let key = ddl::key_of(query, name);
    let table = query.engine.catalog().table(&key.database, &key.name, "OPTIMIZE")?;
    let definition = table.definition();
    let columns = |list: &[Expr]| deduplicate_columns(list, &definition);
    let request = OptimizeRequest {
        partition: partition.map(partition_id).transpose()?,
        is_final,
        deduplicate: deduplicate.map(columns).transpose()?,
        keeps_expired: !query.engine.background().expiry().is_on(definition.uuid),
    };
    table.optimize(&request)
}

/// The identifier of the partition that an expression names.
fn partition_id(partition: &Expr) -> Result<String> {
    match partition {
        Expr::Tuple(items) if items.is_empty() => Ok(basalt_parts::WHOLE_TABLE.to_owned()),
        Expr::Function(call) if call.name == "tuple" && call.args.is_empty() => {
            Ok(basalt_parts::WHOLE_TABLE.to_owned())
        }
        other => {
            bail!(InvalidPartitionValue, "the table is not partitioned: there is no partition `{other}`")
        }
    }
}

/// The names of the columns that DEDUPLICATE BY lists; none for all of them.
fn deduplicate_columns(list: &[Expr], definition: &TableDefinition) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for item in list {
        match item {
            Expr::Identifier(parts) => names.push(parts.join(".")),
            Expr::Asterisk { qualifier, except, replace } if qualifier.is_empty() && replace.is_empty() => {
                let stored = definition.stored_definitions().map(|column| &column.name);
                names.extend(stored.filter(|name| !except.contains(name)).cloned());
            }
            other => bail!(NotImplemented, "DEDUPLICATE BY `{other}` is not implemented, only columns and *"),
        }
    }
    Ok(names)
}
