//! OPTIMIZE TABLE: merges that a user asks for.

use std::fmt;
use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_parts::{MergeWatch, Part, PartSelection, WorkControl};
use basalt_sql::ast::{Expr, ObjectName, PartitionRef};
use basalt_succinct::Step;
use parking_lot::Mutex;

use crate::background::{Background, Entered};
use crate::execution::Execution;
use crate::names::ObjectKey;
use crate::planning::selection;
use crate::tables::{OptimizeRequest, Table, TableDefinition, parts_of};

/// Runs one OPTIMIZE; `deduplicate` as the statement lists it.
pub(super) fn optimize(
    query: &Arc<Execution>,
    name: &ObjectName,
    partition: Option<&PartitionRef>,
    is_final: bool,
    deduplicate: Option<&[Expr]>,
) -> Result<()> {
    let key = query.key_of(name);
    let table = query.instance.catalog().table(&key.database, &key.name, "OPTIMIZE")?;
    let definition = table.definition();
    let columns = |list: &[Expr]| deduplicate_columns(list, &definition);
    let background = query.instance.background();
    let control = background.control_of_merge(definition.uuid);
    let control = Arc::new(control);
    let watch = RunningMerge { background, key: &key, control: &control, entered: Mutex::new(None) };
    let list = |step: &Step| -> Box<dyn Send + '_> { Box::new(background.enter_step(&key, step, &control)) };
    let request = OptimizeRequest {
        partition: partition.map(|partition| partition_id(query, table.as_ref(), partition)).transpose()?,
        is_final,
        deduplicate: deduplicate.map(columns).transpose()?,
        control: &control,
        watch: &watch,
        list_step: &list,
    };
    match table.as_stored() {
        Some(stored) => stored.optimize(&request),
        None => Err(table.refuses("OPTIMIZE")),
    }
}

/// The merge that the statement is at, for `system.merges`.
struct RunningMerge<'a> {
    background: &'a Background,
    key: &'a ObjectKey,
    control: &'a Arc<WorkControl>,
    entered: Mutex<Option<Entered<'a>>>,
}

impl MergeWatch for RunningMerge<'_> {
    fn merge_begins(&self, parts: &[Arc<Part>]) {
        *self.entered.lock() = Some(self.background.enter(self.key, parts, None, self.control));
    }

    fn merge_ends(&self) {
        self.entered.lock().take();
    }
}

impl fmt::Debug for RunningMerge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningMerge").field("key", self.key).finish_non_exhaustive()
    }
}

/// The identifier of the one partition that is meant.
fn partition_id(query: &Arc<Execution>, table: &dyn Table, partition: &PartitionRef) -> Result<String> {
    let Some(parts) = parts_of(table) else {
        return Err(table.refuses("OPTIMIZE of a partition"));
    };
    match selection(query, parts, partition)? {
        PartSelection::Partition(id) => Ok(id),
        PartSelection::All | PartSelection::Part(_) => {
            bail!(
                SupportIsDisabled,
                "OPTIMIZE takes one partition, not `{partition}`; without one it takes all"
            )
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
