//! From commands to a planned change: names and types checked, values converted to the columns' types.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, Result, SqlType, bail};
use basalt_planner::{PlannerContext, cast, plan_expr, plan_filter};
use basalt_sql::ast::{AlterAction, DefaultKind, Expr as SqlExpr, Literal};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;

use super::change::{Action, PlannedChange, Step};
use super::{ROW_EXISTS, commands_of};
use crate::Engine;
use crate::query::QueryContext;
use crate::query::catalog_view::Surroundings;
use crate::query::fill::physical;
use crate::tables::{ColumnDefinition, TableDefinition};

/// The change that the waiting mutations of a part are together.
pub(super) fn plan_change(
    engine: &Arc<Engine>,
    definition: &TableDefinition,
    waiting: &[(u64, Arc<str>)],
) -> Result<PlannedChange> {
    let mut commands = Vec::new();
    for (_, text) in waiting {
        commands.extend(commands_of(text)?);
    }
    let query = Arc::new(QueryContext::internal(engine, &definition.database, "mutation"));
    plan(&query, definition, &commands)
}

/// Plans the commands, which apply one after another.
pub(super) fn plan(
    query: &Arc<QueryContext>,
    definition: &TableDefinition,
    commands: &[AlterAction],
) -> Result<PlannedChange> {
    let surroundings = Surroundings::of(query, HashMap::new());
    let stored = definition.stored();
    let planner = Planner { definition, stored: &stored, ctx: surroundings.context() };
    let logical = commands.iter().map(|command| planner.command(command)).collect::<Result<Vec<_>>>()?;
    planner.change(&logical)
}

/// A command whose names and types are known.
struct Command {
    filter: Expr,
    kind: Kind,
}

enum Kind {
    Delete { is_light: bool },
    Update(Vec<Vec<(usize, Expr)>>),
}

struct Planner<'a> {
    definition: &'a TableDefinition,
    stored: &'a Columns,
    ctx: PlannerContext<'a>,
}

impl Planner<'_> {
    fn command(&self, command: &AlterAction) -> Result<Command> {
        match command {
            AlterAction::Delete { filter } => {
                Ok(Command { filter: self.filter(filter)?, kind: Kind::Delete { is_light: false } })
            }
            AlterAction::Update { assignments, filter } => match assignments.as_slice() {
                [(name, _)] if name == ROW_EXISTS => {
                    Ok(Command { filter: self.filter(filter)?, kind: Kind::Delete { is_light: true } })
                }
                _ => Ok(Command {
                    filter: self.filter(filter)?,
                    kind: Kind::Update(self.assignments(assignments)?),
                }),
            },
            AlterAction::ClearColumn { name, partition: None } => self.clear(name),
            other => bail!(NotImplemented, "`{other}` as a mutation is not implemented"),
        }
    }

    fn filter(&self, filter: &SqlExpr) -> Result<Expr> {
        plan_filter(filter, self.stored, &self.ctx)
    }

    /// All values become the default of the column.
    fn clear(&self, name: &str) -> Result<Command> {
        if self.stored.position(name).is_none() {
            bail!(NotFoundColumnInBlock, "there is no column `{name}` to clear");
        }
        if self.definition.is_in_key(name)? {
            bail!(AlterOfColumnIsForbidden, "trying to ALTER CLEAR key column `{name}`");
        }
        let at = self.position(name)?;
        let column = self.definition.column(name);
        let value = match column.and_then(|column| column.default.as_ref()?.expr.as_ref()) {
            Some(default) => self.value(default, &self.stored[at].ty)?,
            None => {
                let value = self.stored[at].ty.default_array(1);
                Expr::Literal(ScalarValue::try_from_array(&value, 0).map_err(Error::logical)?, None)
            }
        };
        let always = SqlExpr::Literal(Literal::UInt(1));
        Ok(Command { filter: self.filter(&always)?, kind: Kind::Update(vec![vec![(at, value)]]) })
    }

    /// What the statement assigns, then what MATERIALIZED columns make of it.
    fn assignments(&self, list: &[(String, SqlExpr)]) -> Result<Vec<Vec<(usize, Expr)>>> {
        let mut first = Vec::new();
        for (name, value) in list {
            let at = self.target(name)?;
            if first.iter().any(|(other, _)| *other == at) {
                bail!(
                    MultipleAssignmentsToColumn,
                    "multiple assignments in the single statement to column `{name}`"
                );
            }
            first.push((at, self.value(value, &self.stored[at].ty)?));
        }
        let is_set: BTreeSet<&str> = first.iter().map(|(at, _)| self.stored[*at].name.as_str()).collect();
        let mut computed = Vec::new();
        for column in self.definition.stored_definitions() {
            let Some(expr) = materialized(column) else { continue };
            let value = self.value(expr, &column.ty)?;
            let uses_set = value.column_refs().iter().any(|used| is_set.contains(used.name.as_str()));
            if let Some(at) = self.stored.position(&column.name).filter(|_| uses_set) {
                computed.push((at, value));
            }
        }
        Ok([first, computed].into_iter().filter(|round| !round.is_empty()).collect())
    }

    fn value(&self, value: &SqlExpr, to: &SqlType) -> Result<Expr> {
        let (planned, ty) = plan_expr(value, self.stored, &self.ctx)?;
        cast(planned, &ty, to, &self.ctx)
    }

    fn position(&self, name: &str) -> Result<usize> {
        if let Some(at) = self.stored.position(name) {
            return Ok(at);
        }
        let near = did_you_mean(name, self.stored.iter().map(|column| column.name.as_str()));
        bail!(
            NoSuchColumnInTable,
            "there is no column `{name}` in table `{}`{near}",
            self.definition.full_name()
        )
    }

    /// The stored column that an UPDATE may set.
    fn target(&self, name: &str) -> Result<usize> {
        let at = self.position(name)?;
        if self.definition.column(name).is_some_and(|column| materialized(column).is_some()) {
            bail!(CannotUpdateColumn, "cannot UPDATE materialized column `{name}`");
        }
        if self.definition.is_in_key(name)? {
            bail!(CannotUpdateColumn, "cannot UPDATE key column `{name}`");
        }
        Ok(at)
    }

    /// The commands over blocks of just the columns that they need.
    fn change(&self, commands: &[Command]) -> Result<PlannedChange> {
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut written: BTreeSet<usize> = BTreeSet::new();
        for command in commands {
            self.note_columns(&command.filter, &mut used);
            let Kind::Update(rounds) = &command.kind else { continue };
            for (at, value) in rounds.iter().flatten() {
                self.note_columns(value, &mut used);
                used.insert(*at);
                written.insert(*at);
            }
        }
        if used.is_empty() {
            // Rows are counted by a column.
            used.insert(0);
        }
        let reads: Columns = used.iter().map(|&at| self.stored[at].clone()).collect();
        let name = |at: &usize| self.stored[*at].name.clone();
        Ok(PlannedChange {
            reads: used.iter().map(name).collect(),
            schema: reads.to_arrow(),
            writes: written.iter().map(name).collect(),
            steps: commands.iter().map(|one| self.step(one, &reads)).collect::<Result<_>>()?,
            is_light: commands.iter().all(|one| matches!(one.kind, Kind::Delete { is_light: true })),
        })
    }

    fn step(&self, command: &Command, reads: &Columns) -> Result<Step> {
        let expr = |expr: &Expr| -> Result<Arc<dyn PhysicalExpr>> { Ok(physical(expr, reads)?.0) };
        let place = |at: usize| reads.position(&self.stored[at].name).unwrap_or_default();
        let action = match &command.kind {
            Kind::Delete { .. } => Action::Delete,
            Kind::Update(rounds) => {
                let assignment = |(at, value): &(usize, Expr)| Ok((place(*at), expr(value)?));
                let round = |round: &Vec<_>| round.iter().map(assignment).collect::<Result<Vec<_>>>();
                Action::Update(rounds.iter().map(round).collect::<Result<_>>()?)
            }
        };
        Ok(Step { filter: expr(&command.filter)?, action })
    }

    fn note_columns(&self, expr: &Expr, used: &mut BTreeSet<usize>) {
        used.extend(expr.column_refs().iter().filter_map(|column| self.stored.position(&column.name)));
    }
}

fn materialized(column: &ColumnDefinition) -> Option<&SqlExpr> {
    let default = column.default.as_ref().filter(|default| default.kind == DefaultKind::Materialized)?;
    default.expr.as_ref()
}
