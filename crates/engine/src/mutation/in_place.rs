//! Applies commands to a table whose rows are changed in place: reads the rows, changes them, writes them back by key.
//!
//! The change begins before the first row is read and ends with its commit. INSERTs and other changes of the table wait
//! meanwhile, so the rows that are read are the rows that are changed. All commands become visible in one step.
//!
//! # Cost
//!
//! Conditions on the key decide which rows are read. Rows pass block by block; the table's engine decides how many
//! changed rows it keeps in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{and, filter, filter_record_batch, not};
use basalt_base::{Error, Result, bail};
use basalt_exec::error::from_datafusion;
use basalt_parts::RowChange;
use basalt_sql::ast::AlterAction;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::change::{ChangedRows, PlannedChange};
use super::plan::{PlannedRows, plan_rows};
use crate::execution::Execution;
use crate::planning::run_to_blocks;
use crate::provider::TableScanProvider;
use crate::tables::{ChangeableTable, RowsChange, Table, TableDefinition};

/// Applies the commands to `table`, one after another and all of them at once for everybody else. `parameters` are those
/// of the statement.
pub(crate) fn change_in_place(
    query: &Arc<Execution>,
    table: &Arc<dyn Table>,
    commands: &[AlterAction],
    parameters: &HashMap<String, String>,
) -> Result<()> {
    let Some(changeable) = table.as_changeable() else {
        return Err(table.refuses("a change in place"));
    };
    commands.iter().try_for_each(|command| check_command(table.as_ref(), command))?;
    let (mut change, definition) = begin(query, table.as_ref(), changeable)?;
    let PlannedRows { change: planned, filter } = plan_rows(query, &definition, commands, parameters)?;
    query.log_start();
    let mut writer = RowWriter::new(&definition, planned, changeable);
    let blocks = run_to_blocks(query, scan(query, table, &definition, &writer.columns, filter)?);
    for block in blocks {
        query.check()?;
        writer.write(&block?, change.as_mut())?;
    }
    if query.has_read_enough() {
        bail!(
            TooManyRows,
            "query `{}` may not change only some of its rows: read_overflow_mode = 'break' ended its reading \
             after max_rows_to_read, {}",
            query.id,
            query.settings.max_rows_to_read
        );
    }
    query.check()?;
    if writer.rows > 0 {
        change.commit()?;
    }
    query.progress.add_written(writer.rows, writer.bytes);
    Ok(())
}

/// Begins the change; its rows have the columns of the definition.
fn begin<'t>(
    query: &Execution,
    table: &dyn Table,
    changeable: &'t dyn ChangeableTable,
) -> Result<(Box<dyn RowsChange + 't>, Arc<TableDefinition>)> {
    loop {
        query.check()?;
        let definition = table.definition();
        let change = changeable.begin_change(query.threads())?;
        // Otherwise an ALTER has added a column meanwhile.
        if Arc::ptr_eq(&definition, &table.definition()) {
            return Ok((change, definition));
        }
    }
}

fn check_command(table: &dyn Table, command: &AlterAction) -> Result<()> {
    match command {
        AlterAction::Update { partition: None, .. } | AlterAction::Delete { partition: None, .. } => Ok(()),
        AlterAction::Update { .. } | AlterAction::Delete { .. } => Err(table.refuses("IN PARTITION")),
        _ => bail!(
            BadArguments,
            "rows of a table of engine {} can be changed by UPDATE and DELETE only, got {command}",
            table.engine()
        ),
    }
}

/// Reads these columns (positions among the stored ones) of the rows that may meet the filter.
fn scan(
    query: &Arc<Execution>,
    table: &Arc<dyn Table>,
    definition: &TableDefinition,
    columns: &[usize],
    filter: Option<Expr>,
) -> Result<LogicalPlan> {
    // As it is since the change began.
    let table = Arc::clone(table).as_of_now().unwrap_or_else(|| Arc::clone(table));
    let (wanted, stored) = (definition.stored(), table.definition().stored());
    let place = |at: &usize| stored.position(&wanted[*at].name);
    let Some(projection) = columns.iter().map(place).collect::<Option<Vec<usize>>>() else {
        return Err(Error::logical("the table lost a column while its rows are changed"));
    };
    let provider = TableScanProvider::new(table, Arc::clone(&query.context));
    let source = provider_as_source(Arc::new(provider));
    // The scan may use the filter to read less. The commands themselves decide about each row.
    let filters = filter.into_iter().collect();
    LogicalPlanBuilder::scan_with_filters("rows", source, Some(projection), filters)
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)
}

/// Changes blocks and hands the rows that changed to the table.
struct RowWriter {
    planned: PlannedChange,
    /// The columns that blocks have, as positions among the stored ones: all of them if rows are updated.
    columns: Vec<usize>,
    /// Places in the blocks: the columns that the commands read, those that they set with their places in the changed
    /// rows, and the key.
    reads: Vec<usize>,
    writes: Vec<(usize, usize)>,
    key: Vec<usize>,
    /// Rows that were changed, and their bytes as they were read.
    rows: u64,
    bytes: u64,
}

impl RowWriter {
    fn new(definition: &TableDefinition, planned: PlannedChange, table: &dyn ChangeableTable) -> RowWriter {
        let stored = definition.stored();
        let positions = |names: &[String]| -> Vec<usize> {
            names.iter().filter_map(|name| stored.position(name)).collect()
        };
        let (reads, writes) = (positions(planned.reads()), positions(planned.writes()));
        let key = table.lookup_key().to_vec();
        let columns: Vec<usize> = match writes.is_empty() {
            true => BTreeSet::from_iter(reads.iter().chain(&key).copied()).into_iter().collect(),
            false => (0..stored.len()).collect(),
        };
        let place = |list: &[usize], at: usize| list.iter().position(|other| *other == at);
        RowWriter {
            reads: reads.iter().filter_map(|&at| place(&columns, at)).collect(),
            writes: writes
                .iter()
                .filter_map(|&at| Some((place(&columns, at)?, place(&reads, at)?)))
                .collect(),
            key: key.iter().filter_map(|&at| place(&columns, at)).collect(),
            columns,
            planned,
            rows: 0,
            bytes: 0,
        }
    }

    fn write(&mut self, block: &RecordBatch, change: &mut (dyn RowsChange + '_)) -> Result<()> {
        let read = block.project(&self.reads).map_err(Error::of_arrow)?;
        let ChangedRows { rows, updated, keep } = self.planned.changed(&read)?;
        let updated = match (updated, &keep) {
            (Some(updated), Some(keep)) => Some(and(&updated, keep).map_err(Error::of_arrow)?),
            (updated, _) => updated,
        };
        if let Some(updated) = updated.filter(|mask| mask.true_count() > 0) {
            let mut columns = block.columns().to_vec();
            for &(place, from) in &self.writes {
                columns[place] = Arc::clone(rows.column(from));
            }
            let rows = RecordBatch::try_new(block.schema(), columns).map_err(Error::of_arrow)?;
            change.put(&filter_record_batch(&rows, &updated).map_err(Error::of_arrow)?)?;
            self.count(block, &updated);
        }
        if let Some(keep) = keep {
            let gone = not(&keep).map_err(Error::of_arrow)?;
            let key = |&at: &usize| filter(block.column(at), &gone).map_err(Error::of_arrow);
            let keys: Vec<ArrayRef> = self.key.iter().map(key).collect::<Result<_>>()?;
            change.delete(&keys)?;
            self.count(block, &gone);
        }
        Ok(())
    }

    fn count(&mut self, block: &RecordBatch, mask: &BooleanArray) {
        let (rows, bytes) = (mask.true_count() as u64, block.get_array_memory_size() as u64);
        self.rows += rows;
        self.bytes += bytes * rows / block.num_rows().max(1) as u64;
    }
}
