//! ALTER TABLE ... PARTITION and PART: whole parts come and go.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::{Error, Result, bail};
use basalt_parts::{PartSelection, TableParts};
use basalt_sql::ast::{ObjectName, PartitionAction, PartitionRef};

use crate::execution::Execution;
use crate::planning::selection;
use crate::tables::{Table, TableDefinition};

/// The directory of the data directory where FREEZE puts its copies.
const SHADOW: &str = "shadow";

/// Runs one action; the caller holds the catalog's DDL lock.
pub(super) fn run(query: &Arc<Execution>, table: &dyn Table, action: &PartitionAction) -> Result<()> {
    let parts = parts_of(table)?;
    let select = |what: &PartitionRef| selection(query, parts, what);
    match action {
        PartitionAction::Drop { what } => {
            parts.drop_parts(&select(what)?)?;
        }
        PartitionAction::DropDetached { what } => {
            if !query.settings.allow_drop_detached {
                bail!(SupportIsDisabled, "DROP DETACHED needs the setting allow_drop_detached = 1");
            }
            parts.drop_detached(&select(what)?)?;
        }
        PartitionAction::Detach { what } => {
            parts.detach_parts(&select(what)?, None)?;
        }
        PartitionAction::Attach { what } => {
            parts.attach_parts(&select(what)?)?;
        }
        PartitionAction::TakeFrom { what, table: source, replace } => {
            let source = other_table(query, source)?;
            check_alike(&table.definition(), &source.definition())?;
            let source = parts_of(source.as_ref())?;
            for id in partitions(&select(what)?, source)? {
                parts.attach_from(source, &id, *replace)?;
            }
        }
        PartitionAction::MoveTo { what, table: target } => {
            let target = other_table(query, target)?;
            if target.definition().uuid == table.definition().uuid {
                bail!(BadArguments, "a partition cannot be moved to the table that it is in");
            }
            check_alike(&table.definition(), &target.definition())?;
            for id in partitions(&select(what)?, parts)? {
                parts.move_to(parts_of(target.as_ref())?, &id, &query.instance.catalog().store_root())?;
            }
        }
        PartitionAction::Freeze { what, name } => freeze(query, table, &select(what)?, name.as_deref())?,
        PartitionAction::Unfreeze { what, name } => {
            parts.unfreeze(&select(what)?, &frozen_dir(query, table, name)?)?;
        }
    }
    query.instance.background().wake();
    Ok(())
}

fn parts_of(table: &dyn Table) -> Result<&TableParts> {
    crate::tables::parts_of(table).ok_or_else(|| table.refuses("an action on partitions"))
}

fn other_table(query: &Execution, name: &ObjectName) -> Result<Arc<dyn Table>> {
    let key = query.key_of(name);
    query.instance.catalog().table(&key.database, &key.name, "ALTER TABLE ... PARTITION")
}

fn check_alike(one: &TableDefinition, other: &TableDefinition) -> Result<()> {
    if one.stored().to_vec() != other.stored().to_vec() {
        bail!(
            IncompatibleColumns,
            "tables `{}` and `{}` have different columns",
            one.full_name(),
            other.full_name()
        );
    }
    let keys = |definition: &TableDefinition| (definition.sort_key().ok(), definition.partition_key());
    if keys(one) != keys(other) {
        bail!(
            BadArguments,
            "tables `{}` and `{}` have different partition or sorting keys",
            one.full_name(),
            other.full_name()
        );
    }
    Ok(())
}

/// The identifiers of the partitions that are selected.
fn partitions(which: &PartSelection, parts: &TableParts) -> Result<Vec<String>> {
    match which {
        PartSelection::Partition(id) => Ok(vec![id.clone()]),
        PartSelection::All => {
            let mut ids: Vec<String> =
                parts.snapshot().iter().map(|part| part.name().partition.clone()).collect();
            ids.dedup();
            Ok(ids)
        }
        PartSelection::Part(_) => Err(Error::not_implemented("this action on a single PART")),
    }
}

fn freeze(query: &Execution, table: &dyn Table, which: &PartSelection, name: Option<&str>) -> Result<()> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => next_name(&*query.instance.opener().storage, &query.instance.data_dir().join(SHADOW))?,
    };
    parts_of(table)?.freeze(which, &frozen_dir(query, table, &name)?)?;
    Ok(())
}

/// One more than the largest number that names a copy.
fn next_name(storage: &dyn Storage, shadow: &Path) -> Result<String> {
    if !storage.exists(shadow)? {
        return Ok("1".to_owned());
    }
    let numbers = storage.list(shadow)?.into_iter().filter_map(|entry| entry.name.parse::<u64>().ok());
    Ok((numbers.max().unwrap_or(0) + 1).to_string())
}

fn frozen_dir(query: &Execution, table: &dyn Table, name: &str) -> Result<PathBuf> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        bail!(BadArguments, "`{name}` cannot be the name of a directory");
    }
    let uuid = table.definition().uuid.to_string();
    Ok(query.instance.data_dir().join(SHADOW).join(name).join("store").join(uuid))
}
