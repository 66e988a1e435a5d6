//! ALTER TABLE, and what mutations read.

use basalt_base::{Result, bail};
use basalt_sql::ast::{AlterAction, AlterTable, Expr, IndexAction, ObjectName, PartitionAction};

use super::checker::Checker;

impl Checker<'_> {
    pub(super) fn alter(&self, alter: &AlterTable) -> Result<()> {
        let table = &alter.name;
        for action in &alter.actions {
            match action {
                AlterAction::AddColumn { column, .. } => self.column("ALTER ADD COLUMN", table, &column.name),
                AlterAction::DropColumn { name, .. } => self.column("ALTER DROP COLUMN", table, name),
                AlterAction::ModifyColumn { column, .. } => {
                    self.column("ALTER MODIFY COLUMN", table, &column.name)
                }
                AlterAction::RemoveProperty { name, .. } | AlterAction::RemoveColumnTtl { name, .. } => {
                    self.column("ALTER MODIFY COLUMN", table, name)
                }
                AlterAction::RenameColumn { from, to, .. } => self
                    .column("ALTER RENAME COLUMN", table, from)
                    .and_then(|()| self.column("ALTER RENAME COLUMN", table, to)),
                AlterAction::CommentColumn { name, .. } => self.column("ALTER COMMENT COLUMN", table, name),
                AlterAction::ClearColumn { name, .. } => self.column("ALTER CLEAR COLUMN", table, name),
                AlterAction::MaterializeColumn { name, .. } => {
                    self.column("ALTER MATERIALIZE COLUMN", table, name)
                }
                AlterAction::Update { assignments, filter, .. } => {
                    let columns: Vec<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
                    self.columns("ALTER UPDATE", table, &columns)?;
                    self.mutation(assignments.iter().map(|(_, value)| value).chain([filter]))
                }
                AlterAction::Delete { filter, .. } => {
                    self.named("ALTER DELETE", table).and_then(|()| self.mutation([filter]))
                }
                AlterAction::Index(action) => self.named(index_privilege(action), table),
                AlterAction::ModifySetting { .. } | AlterAction::ResetSetting { .. } => {
                    self.named("ALTER SETTINGS", table)
                }
                AlterAction::ModifyComment { .. } => self.named("ALTER MODIFY COMMENT", table),
                AlterAction::ModifyOrderBy { .. } => self.named("ALTER ORDER BY", table),
                AlterAction::ModifyTtl { .. } | AlterAction::RemoveTtl => self.named("ALTER TTL", table),
                AlterAction::MaterializeTtl { .. } => self.named("ALTER MATERIALIZE TTL", table),
                AlterAction::Partition(action) => self.partition(action, table),
                AlterAction::Other { .. } => self.named("ALTER TABLE", table),
            }?;
        }
        Ok(())
    }

    /// Subqueries of a mutation run with the rights of the engine, when their time comes.
    pub(super) fn mutation<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<()> {
        if !exprs.into_iter().any(|expr| expr.any(&mut |part| reads(part))) {
            return Ok(());
        }
        self.global("SELECT")?;
        match self.query.instance.access_control.entities().policies.is_empty() {
            true => Ok(()),
            false => bail!(
                AccessDenied,
                "{}: a mutation with a subquery needs all privileges while there are row policies",
                self.access.user
            ),
        }
    }

    fn partition(&self, action: &PartitionAction, table: &ObjectName) -> Result<()> {
        match action {
            PartitionAction::Drop { .. }
            | PartitionAction::DropDetached { .. }
            | PartitionAction::Detach { .. } => self.named("ALTER DELETE", table),
            PartitionAction::Attach { .. } => self.named("INSERT", table),
            PartitionAction::TakeFrom { table: from, replace, .. } => {
                self.whole(from)?;
                self.named("INSERT", table)?;
                if *replace { self.named("ALTER DELETE", table) } else { Ok(()) }
            }
            PartitionAction::MoveTo { table: to, .. } => {
                self.named("ALTER MOVE PARTITION", table)?;
                self.whole(table)?;
                self.named("INSERT", to)
            }
            PartitionAction::Freeze { .. } | PartitionAction::Unfreeze { .. } => {
                self.named("ALTER FREEZE PARTITION", table)
            }
        }
    }
}

/// Whether an expression reads a table.
fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists(_) => true,
        Expr::In { right, .. } => matches!(right.as_ref(), Expr::Identifier(_) | Expr::Function(_)),
        _ => false,
    }
}

fn index_privilege(action: &IndexAction) -> &'static str {
    match action {
        IndexAction::Add { .. } => "ALTER ADD INDEX",
        IndexAction::Drop { .. } => "ALTER DROP INDEX",
        IndexAction::Clear { .. } => "ALTER CLEAR INDEX",
        IndexAction::Materialize { .. } => "ALTER MATERIALIZE INDEX",
    }
}
