//! SHOW of access control: definitions and grants, without passwords.

use std::sync::Arc;

use basalt_access::Entities;
use basalt_base::{Column, Columns, Result, SqlType, bail};
use basalt_sql::ast::{AccessKind, AccessStatement, ObjectName, ShowAccess};

use super::show::{Answer, strings_block};
use crate::execution::Execution;

const KINDS: &[AccessKind] = &[
    AccessKind::User,
    AccessKind::Role,
    AccessKind::SettingsProfile,
    AccessKind::RowPolicy,
    AccessKind::Quota,
];

/// The answer to a SHOW whose privileges were checked.
pub(super) fn answer(query: &Arc<Execution>, show: &ShowAccess) -> Result<Answer> {
    let entities = query.instance.access_control.entities();
    let title = show.to_string();
    match show {
        ShowAccess::Entities(kind) => lines("name", names(&entities, *kind)),
        ShowAccess::CurrentRoles => Ok(Answer::Select("SELECT * FROM system.current_roles".to_owned())),
        ShowAccess::EnabledRoles => Ok(Answer::Select("SELECT * FROM system.enabled_roles".to_owned())),
        ShowAccess::Privileges => Ok(Answer::Select("SELECT * FROM system.privileges".to_owned())),
        ShowAccess::Create { kind, names, tables } => {
            lines(&title, definitions(query, &entities, *kind, names, tables)?)
        }
        ShowAccess::Grants { names } => {
            let own = [query.user.clone()];
            let names = if names.is_empty() { &own } else { names.as_slice() };
            if let Some(name) = names.iter().find(|name| entities.grants(name).is_none()) {
                bail!(UnknownRole, "there is no user or role `{name}`");
            }
            lines(&title, names.iter().flat_map(|name| entities.grant_statements(name)))
        }
        ShowAccess::All => {
            let definitions = KINDS.iter().flat_map(|kind| entities.definitions(*kind)).map(shown);
            let names = entities.users.keys().chain(entities.roles.keys());
            lines(&title, definitions.chain(names.flat_map(|name| entities.grant_statements(name))))
        }
    }
}

fn names(entities: &Entities, kind: AccessKind) -> Vec<String> {
    match kind {
        AccessKind::User => entities.users.keys().cloned().collect(),
        AccessKind::Role => entities.roles.keys().cloned().collect(),
        AccessKind::SettingsProfile => entities.profiles.keys().cloned().collect(),
        AccessKind::RowPolicy => entities.policies.keys().map(ToString::to_string).collect(),
        AccessKind::Quota => entities.quotas.keys().cloned().collect(),
    }
}

/// The statements that make the entities; no names are the user itself.
fn definitions(
    query: &Execution,
    entities: &Entities,
    kind: AccessKind,
    names: &[String],
    tables: &[ObjectName],
) -> Result<Vec<AccessStatement>> {
    let own = [query.user.clone()];
    let names = if names.is_empty() { &own } else { names };
    let all = entities.definitions(kind);
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        found.extend(all.iter().filter(|one| is_called(query, one, name, tables)).cloned().map(shown));
        if found.len() == before {
            return Err(basalt_access::not_found(kind, name));
        }
    }
    Ok(found)
}

fn is_called(query: &Execution, statement: &AccessStatement, name: &str, tables: &[ObjectName]) -> bool {
    let is_name = |names: &[String]| names.iter().any(|one| one == name);
    match statement {
        AccessStatement::User(definition) => is_name(&definition.names),
        AccessStatement::Role(definition) => is_name(&definition.names),
        AccessStatement::SettingsProfile(definition) => is_name(&definition.names),
        AccessStatement::Quota(definition) => is_name(&definition.names),
        AccessStatement::RowPolicy(definition) => {
            let is_on = |table: &ObjectName| {
                let own = &definition.tables[0];
                let database = table.database.as_ref().unwrap_or(&query.database);
                own.database.as_ref() == Some(database) && own.name == table.name
            };
            is_name(&definition.names) && (tables.is_empty() || tables.iter().any(is_on))
        }
        _ => false,
    }
}

/// The definition without passwords.
fn shown(statement: AccessStatement) -> AccessStatement {
    match statement {
        AccessStatement::User(user) => AccessStatement::User(user.without_secrets()),
        other => other,
    }
}

fn lines(title: &str, lines: impl IntoIterator<Item = impl ToString>) -> Result<Answer> {
    let columns = Columns::new(vec![Column::new(title, SqlType::String)]);
    let rows = lines.into_iter().map(|line| vec![line.to_string()]).collect();
    let block = strings_block(&columns, rows)?;
    Ok(Answer::Block(columns, block))
}
