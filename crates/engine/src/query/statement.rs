//! Properties of a statement that its syntax alone decides.

use basalt_sql::ast::{AccessStatement, DefinitionMode, InsertSource, Query, SetExpr, Setting, Statement};

/// The settings of a statement's own SETTINGS clauses, in the order in which they apply.
pub(crate) fn clause_settings(statement: &Statement) -> Vec<Setting> {
    match statement {
        Statement::Query(query) => query_settings(query),
        Statement::Insert(insert) => {
            let mut settings = insert.settings.clone();
            // `INSERT INTO t SELECT .. SETTINGS ..`: the last clause is the whole statement's.
            if let InsertSource::Query(query) = &insert.source {
                settings.extend(query_settings(query));
            }
            settings
        }
        Statement::Alter(alter) => alter.settings.clone(),
        Statement::Update(update) => update.settings.clone(),
        Statement::Delete { settings, .. } => settings.clone(),
        Statement::Check(check) => check.settings.clone(),
        Statement::Explain(explain) => clause_settings(&explain.statement),
        _ => Vec::new(),
    }
}

fn query_settings(query: &Query) -> Vec<Setting> {
    let mut settings = body_settings(&query.body);
    settings.extend(query.settings.iter().cloned());
    settings
}

/// The settings of a set operation stand in its last SELECT.
fn body_settings(body: &SetExpr) -> Vec<Setting> {
    match body {
        SetExpr::Select(select) => select.settings.clone(),
        SetExpr::Operation { right, .. } => body_settings(right),
        SetExpr::Nested(query) => query_settings(query),
    }
}

/// The [`kind_name`] of KILL QUERY.
pub(super) const KILL: &str = "KillQuery";

/// The column `query_kind` of the log.
pub(super) fn kind_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "Select",
        Statement::Insert(_) | Statement::Copy(_) => "Insert",
        Statement::CreateDatabase(_)
        | Statement::CreateTable(_)
        | Statement::CreateView(_)
        | Statement::CreateDictionary(_)
        | Statement::CreateNamedCollection(_)
        | Statement::Attach { .. } => "Create",
        Statement::Drop(_)
        | Statement::DropNamedCollection { .. }
        | Statement::Detach(_)
        | Statement::Truncate { .. } => "Drop",
        Statement::Alter(_) | Statement::AlterNamedCollection(_) => "Alter",
        Statement::Rename { .. } | Statement::Exchange { .. } => "Rename",
        Statement::Delete { .. } => "Delete",
        Statement::Update(_) => "Update",
        Statement::Backup { .. } => "Backup",
        Statement::Restore { .. } => "Restore",
        Statement::Optimize { .. } => "Optimize",
        Statement::Use(_) => "Use",
        Statement::Set { .. } => "Set",
        Statement::Show(_) => "Show",
        Statement::Describe(_) => "Describe",
        Statement::Exists { .. } => "Exists",
        Statement::Explain(_) => "Explain",
        Statement::System(_) => "System",
        Statement::KillQuery { .. } => KILL,
        Statement::KillMutation { .. } => "KillMutation",
        Statement::Check(_) => "Check",
        Statement::Access(statement) => access_kind(statement),
    }
}

fn access_kind(statement: &AccessStatement) -> &'static str {
    let of_mode = |mode: DefinitionMode| match mode {
        DefinitionMode::Create { .. } => "Create",
        DefinitionMode::Alter { .. } => "Alter",
    };
    match statement {
        AccessStatement::User(definition) => of_mode(definition.mode),
        AccessStatement::Role(definition) => of_mode(definition.mode),
        AccessStatement::RowPolicy(definition) => of_mode(definition.mode),
        AccessStatement::Quota(definition) => of_mode(definition.mode),
        AccessStatement::SettingsProfile(definition) => of_mode(definition.mode),
        AccessStatement::Drop(_) => "Drop",
        AccessStatement::Grant(_) => "Grant",
        AccessStatement::Revoke(_) => "Revoke",
        AccessStatement::SetRole(_) | AccessStatement::SetDefaultRole { .. } => "Set",
    }
}

/// Whether the statement only reads; under `readonly = 2` SET and USE may run too.
pub(super) fn may_run_readonly(statement: &Statement, readonly: u64) -> bool {
    match statement {
        Statement::Query(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Exists { .. }
        | Statement::Explain(_)
        | Statement::Check(_) => true,
        Statement::Set { .. } => readonly == 2,
        Statement::Access(statement) => matches!(statement.as_ref(), AccessStatement::SetRole(_)),
        Statement::Use(_) => true,
        _ => false,
    }
}

/// Whether the statement makes, changes or drops what the catalog holds.
pub(super) fn changes_definitions(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateDatabase(_)
            | Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::CreateDictionary(_)
            | Statement::Drop(_)
            | Statement::Detach(_)
            | Statement::Attach { .. }
            | Statement::Truncate { .. }
            | Statement::Alter(_)
            | Statement::Rename { .. }
            | Statement::Exchange { .. }
            | Statement::Restore { .. }
    ) || matches!(statement, Statement::Access(access) if !matches!(access.as_ref(), AccessStatement::SetRole(_)))
}
