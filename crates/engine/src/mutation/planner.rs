//! The commands of a mutation with their names and types checked, as logical expressions.

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_parts::Part;
use basalt_planner::{PlannerContext, cast, plan_expr, plan_filter};
use basalt_sql::ast::{AlterAction, DefaultKind, Expr as SqlExpr, IndexAction, Literal, PartitionRef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

use super::command::ROW_EXISTS;
use crate::tables::{ColumnDefinition, TableDefinition, has_index};

/// A command whose names and types are known.
pub(super) struct Command {
    pub(super) filter: Expr,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Delete {
        is_light: bool,
    },
    Update(Vec<Vec<(usize, Expr)>>),
    /// Deletes the values of the column. Later commands and MATERIALIZED columns computed from it see its default.
    Clear(usize, Expr, Vec<(usize, Expr)>),
    /// Applies the table's TTL and nothing else.
    Expire,
    /// A skip index to make.
    Index(String),
}

impl Command {
    /// The columns that get values, and these.
    pub(super) fn sets(&self) -> Vec<(usize, &Expr)> {
        match &self.kind {
            Kind::Update(rounds) => rounds.iter().flatten().map(|(at, value)| (*at, value)).collect(),
            Kind::Clear(at, value, computed) => {
                let computed = computed.iter().map(|(at, value)| (*at, value));
                std::iter::once((*at, value)).chain(computed).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn index(&self) -> Option<String> {
        match &self.kind {
            Kind::Index(name) => Some(name.clone()),
            _ => None,
        }
    }
}

/// Plans commands for one table.
pub(super) struct Planner<'a> {
    pub(super) definition: &'a TableDefinition,
    pub(super) stored: &'a Columns,
    pub(super) ctx: PlannerContext<'a>,
    /// The part that the commands are for, if it is known.
    pub(super) part: Option<&'a Arc<Part>>,
}

impl Planner<'_> {
    /// `None` for a command that has nothing to do.
    pub(super) fn command(&self, command: &AlterAction) -> Result<Option<Command>> {
        let command = match command {
            AlterAction::Delete { filter, .. } => {
                Command { filter: self.filter(filter)?, kind: Kind::Delete { is_light: false } }
            }
            AlterAction::Update { assignments, filter, .. } => match assignments.as_slice() {
                [(name, _)] if name == ROW_EXISTS => {
                    Command { filter: self.filter(filter)?, kind: Kind::Delete { is_light: true } }
                }
                _ => Command {
                    filter: self.filter(filter)?,
                    kind: Kind::Update(self.assignments(assignments)?),
                },
            },
            AlterAction::ClearColumn { name, .. } => return self.clear(name),
            AlterAction::MaterializeColumn { name, .. } => return self.materialize(name),
            AlterAction::ModifyColumn { column, .. } => return self.retype(&column.name),
            AlterAction::MaterializeTtl { partition } => {
                if matches!(partition, Some(PartitionRef::All)) {
                    bail!(
                        SupportIsDisabled,
                        "`{command}` is not supported; without a partition it is for all"
                    );
                }
                if !self.definition.has_ttl() {
                    bail!(
                        IncorrectQuery,
                        "cannot MATERIALIZE TTL as there is no TTL set for table {}",
                        self.definition.full_name()
                    );
                }
                let never = SqlExpr::Literal(Literal::UInt(0));
                Command { filter: self.filter(&never)?, kind: Kind::Expire }
            }
            AlterAction::Index(IndexAction::Materialize { name, if_exists, .. }) => {
                // It may have been dropped since.
                if !has_index(
                    &self.definition.create,
                    name,
                    *if_exists || self.part.is_some(),
                    "materialize",
                )? {
                    return Ok(None);
                }
                let never = SqlExpr::Literal(Literal::UInt(0));
                Command { filter: self.filter(&never)?, kind: Kind::Index(name.clone()) }
            }
            other => bail!(NotImplemented, "`{other}` as a mutation is not implemented"),
        };
        Ok(Some(command))
    }

    /// The values as they are read now, in the column's current type.
    fn retype(&self, name: &str) -> Result<Option<Command>> {
        // It may have been dropped or renamed since.
        let Some(at) = self.stored.position(name) else { return Ok(None) };
        if self.part.is_some_and(|part| !part.is_converted(at)) {
            return Ok(None);
        }
        self.rewritten(at, Expr::Column(name_of(&self.stored[at]))).map(Some)
    }

    /// Stores the values of the column's expression: of a MATERIALIZED column anew, of a DEFAULT where the part has no
    /// values.
    fn materialize(&self, name: &str) -> Result<Option<Command>> {
        let Some(column) = self.definition.column(name) else {
            bail!(
                NoSuchColumnInTable,
                "there is no column `{name}` in table `{}`",
                self.definition.full_name()
            );
        };
        let Some(default) = &column.default else {
            bail!(
                BadArguments,
                "cannot materialize column `{name}` because it doesn't have default expression"
            );
        };
        let Some(at) = self.stored.position(name) else { return Ok(None) };
        match &default.expr {
            Some(expr) if default.kind == DefaultKind::Materialized => {
                if self.definition.is_in_key(name)? {
                    bail!(AlterOfColumnIsForbidden, "cannot materialize key column `{name}`");
                }
                self.rewritten(at, self.value(expr, &column.ty)?).map(Some)
            }
            _ if self.part.is_some_and(|part| part.has_column(at)) => Ok(None),
            _ => self.rewritten(at, Expr::Column(name_of(&self.stored[at]))).map(Some),
        }
    }

    fn rewritten(&self, at: usize, value: Expr) -> Result<Command> {
        let always = SqlExpr::Literal(Literal::UInt(1));
        Ok(Command { filter: self.filter(&always)?, kind: Kind::Update(vec![vec![(at, value)]]) })
    }

    fn filter(&self, filter: &SqlExpr) -> Result<Expr> {
        plan_filter(filter, self.stored, &self.ctx)
    }

    /// The part loses the column's values, and is read with the current DEFAULT. A column that a TTL needs must be in
    /// every part: all its values become the current default.
    fn clear(&self, name: &str) -> Result<Option<Command>> {
        let Some(at) = self.stored.position(name) else {
            bail!(NotFoundColumnInBlock, "there is no column `{name}` to clear");
        };
        if self.definition.is_in_key(name)? {
            bail!(AlterOfColumnIsForbidden, "trying to ALTER CLEAR key column `{name}`");
        }
        if self.part.is_some_and(|part| !part.has_column(at)) {
            return Ok(None);
        }
        let column = self.definition.column(name);
        let value = match column.and_then(|column| column.default.as_ref()?.expr.as_ref()) {
            Some(default) => self.value(default, &self.stored[at].ty)?,
            None => {
                let value = self.stored[at].ty.default_array(1);
                Expr::Literal(ScalarValue::try_from_array(&value, 0).map_err(Error::logical)?, None)
            }
        };
        if self.part.is_some_and(|part| part.spec().is_needed(at)) {
            return self.rewritten(at, value).map(Some);
        }
        let computed = self.computed_of(&BTreeSet::from([name]))?;
        let always = SqlExpr::Literal(Literal::UInt(1));
        Ok(Some(Command { filter: self.filter(&always)?, kind: Kind::Clear(at, value, computed) }))
    }

    /// The assignments of the statement, then those of the MATERIALIZED columns computed from them.
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
        let computed = self.computed_of(&is_set)?;
        Ok([first, computed].into_iter().filter(|round| !round.is_empty()).collect())
    }

    /// The MATERIALIZED columns that are computed from one of the columns in `is_set`.
    fn computed_of(&self, is_set: &BTreeSet<&str>) -> Result<Vec<(usize, Expr)>> {
        let mut computed = Vec::new();
        for column in self.definition.stored_definitions() {
            let Some(expr) = materialized(column) else { continue };
            let value = self.value(expr, &column.ty)?;
            let uses_set = value.column_refs().iter().any(|used| is_set.contains(used.name.as_str()));
            let Some(at) = self.stored.position(&column.name).filter(|_| uses_set) else { continue };
            if self.definition.is_in_key(&column.name)? {
                bail!(
                    CannotUpdateColumn,
                    "a column that is updated affects MATERIALIZED column `{}`, which is a key column; it cannot be \
                     updated",
                    column.name
                );
            }
            computed.push((at, value));
        }
        Ok(computed)
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
}

fn name_of(column: &Column) -> datafusion::common::Column {
    datafusion::common::Column::from_name(&column.name)
}

fn materialized(column: &ColumnDefinition) -> Option<&SqlExpr> {
    let default = column.default.as_ref().filter(|default| default.kind == DefaultKind::Materialized)?;
    default.expr.as_ref()
}
