//! From commands to a planned change: expressions over blocks of just the columns that they need.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use basalt_base::{Columns, Result, bail};
use basalt_parts::{Part, TableParts};
use basalt_sql::ast::{AlterAction, IndexAction};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;

use super::change::{Action, PlannedChange, Step};
use super::command::commands_of;
use super::planner::{Command, Kind, Planner};
use crate::execution::Execution;
use crate::instance::Instance;
use crate::planning::{PlanningContext, physical, selection};
use crate::tables::TableDefinition;

/// The mutations that a part waits for, combined into one change.
pub(super) fn plan_change(
    instance: &Arc<Instance>,
    definition: &TableDefinition,
    parts: &TableParts,
    part: &Arc<Part>,
    waiting: &[(u64, Arc<str>)],
) -> Result<PlannedChange> {
    let mut commands = Vec::new();
    for (_, text) in waiting {
        commands.extend(commands_of(text)?);
    }
    let query = Execution::internal(instance, &definition.database, "mutation");
    plan(&query, definition, parts, Some(part), &commands)
}

/// Plans the commands, which apply one after another: those that have something to do in `part`, or all of
/// them, to see whether they can be planned.
pub(super) fn plan(
    query: &Arc<Execution>,
    definition: &TableDefinition,
    parts: &TableParts,
    part: Option<&Arc<Part>>,
    commands: &[AlterAction],
) -> Result<PlannedChange> {
    let planning = PlanningContext::new(query, HashMap::new());
    let stored = definition.stored();
    let planner = Planner { definition, stored: &stored, ctx: planning.context(), part };
    let mut logical = Vec::with_capacity(commands.len());
    for command in commands {
        if is_for(query, parts, part, command)? {
            logical.extend(planner.command(command)?);
        }
    }
    change(&stored, &logical)
}

/// A change of the rows of a table without parts.
pub(super) struct PlannedRows {
    pub(super) change: PlannedChange,
    /// Every row that the change concerns meets it; `None` if that is not known before its turn.
    pub(super) filter: Option<Expr>,
}

/// Plans the commands, which apply one after another, for a table without parts.
pub(super) fn plan_rows(
    query: &Arc<Execution>,
    definition: &TableDefinition,
    commands: &[AlterAction],
    parameters: &HashMap<String, String>,
) -> Result<PlannedRows> {
    let planning = PlanningContext::new(query, parameters.clone());
    let stored = definition.stored();
    let planner = Planner { definition, stored: &stored, ctx: planning.context(), part: None };
    let mut logical = Vec::with_capacity(commands.len());
    for command in commands {
        logical.extend(planner.command(command)?);
    }
    // Before the first command that concerns a row, the row is as it is stored.
    let filters = logical.iter().map(|command| command.filter.clone());
    let filter = filters.reduce(Expr::or).filter(|filter| !filter.is_volatile());
    Ok(PlannedRows { change: change(&stored, &logical)?, filter })
}

/// Whether the command is for the partition of the part.
fn is_for(
    query: &Arc<Execution>,
    parts: &TableParts,
    part: Option<&Arc<Part>>,
    command: &AlterAction,
) -> Result<bool> {
    let partition = match command {
        AlterAction::Update { partition, .. }
        | AlterAction::Delete { partition, .. }
        | AlterAction::ClearColumn { partition, .. }
        | AlterAction::MaterializeColumn { partition, .. }
        | AlterAction::MaterializeTtl { partition }
        | AlterAction::Index(IndexAction::Materialize { partition, .. }) => partition.as_ref(),
        _ => None,
    };
    let Some(partition) = partition else { return Ok(true) };
    let selected = selection(query, parts, partition)?;
    Ok(part.is_none_or(|part| selected.has_part(part.name())))
}

/// The commands over blocks of just the columns that they need; `stored` are the table's.
fn change(stored: &Columns, commands: &[Command]) -> Result<PlannedChange> {
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let (written, cleared) = targets(commands);
    // If the commands only clear columns that no other one is computed from, no values need to be read.
    let is_alone = |one: &Command| matches!(&one.kind, Kind::Clear(_, _, computed) if computed.is_empty());
    let steps = if commands.iter().all(is_alone) { &[] } else { commands };
    for step in steps {
        note_columns(stored, &step.filter, &mut used);
        for (at, value) in step.sets() {
            note_columns(stored, value, &mut used);
            used.insert(at);
        }
    }
    let is_light = |one: &Command| matches!(one.kind, Kind::Delete { is_light: true });
    let indexes: Vec<String> = commands.iter().filter_map(Command::index).collect();
    if !indexes.is_empty() && commands.iter().any(is_light) {
        // Each of them is tried alone.
        bail!(NotImplemented, "MATERIALIZE INDEX together with a lightweight DELETE is not implemented");
    }
    if used.is_empty() {
        // Counting rows takes a column.
        used.insert(0);
    }
    let reads: Columns = used.iter().map(|&at| stored[at].clone()).collect();
    let name = |at: &usize| stored[*at].name.clone();
    Ok(PlannedChange {
        reads: used.iter().map(name).collect(),
        schema: reads.to_arrow(),
        writes: written.iter().map(name).collect(),
        clears: cleared.iter().map(name).collect(),
        steps: steps.iter().map(|one| step(stored, one, &reads)).collect::<Result<_>>()?,
        applies_ttl: commands.iter().any(|one| matches!(one.kind, Kind::Expire)),
        indexes,
        is_light: commands.iter().all(is_light),
    })
}

fn step(stored: &Columns, command: &Command, reads: &Columns) -> Result<Step> {
    let expr = |expr: &Expr| -> Result<Arc<dyn PhysicalExpr>> { Ok(physical(expr, reads)?.0) };
    let place = |at: usize| reads.position(&stored[at].name).unwrap_or_default();
    let action = match &command.kind {
        Kind::Delete { .. } => Action::Delete,
        // No row meets their conditions.
        Kind::Expire | Kind::Index(_) => Action::Update(Vec::new()),
        Kind::Update(rounds) => {
            let assignment = |(at, value): &(usize, Expr)| Ok((place(*at), expr(value)?));
            let round = |round: &Vec<_>| round.iter().map(assignment).collect::<Result<Vec<_>>>();
            Action::Update(rounds.iter().map(round).collect::<Result<_>>()?)
        }
        Kind::Clear(at, value, computed) => {
            let assignment = |(at, value): &(usize, Expr)| Ok((place(*at), expr(value)?));
            let computed = computed.iter().map(assignment).collect::<Result<_>>()?;
            Action::Update(vec![vec![(place(*at), expr(value)?)], computed])
        }
    };
    Ok(Step { filter: expr(&command.filter)?, action })
}

fn note_columns(stored: &Columns, expr: &Expr, used: &mut BTreeSet<usize>) {
    used.extend(expr.column_refs().iter().filter_map(|column| stored.position(&column.name)));
}

/// The columns whose values change in the end, and those that lose them.
fn targets(commands: &[Command]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut written, mut cleared) = (BTreeSet::new(), BTreeSet::new());
    for command in commands {
        for (at, _) in command.sets() {
            let is_clear = matches!(&command.kind, Kind::Clear(own, ..) if *own == at);
            let (into, from) =
                if is_clear { (&mut cleared, &mut written) } else { (&mut written, &mut cleared) };
            from.remove(&at);
            into.insert(at);
        }
    }
    (written, cleared)
}
