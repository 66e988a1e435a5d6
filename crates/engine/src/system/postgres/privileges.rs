//! What a user may do, in the words of Postgres' privileges.
//!
//! UPDATE and DELETE are ClickHouse's ALTER UPDATE and ALTER DELETE; CONNECT and USAGE are given with any privilege in a
//! database.

use std::sync::Arc;

use basalt_access::{Access, Path, PrivilegeSet};
use basalt_base::{Result, bail};
use basalt_functions::{ObjectRef, PrivilegeTarget};

use super::objects::Relation;
use super::schemas::{OWNER, namespaces};
use crate::execution::Execution;
use crate::names::PG_CATALOG;

const GRANT_OPTION: &str = " with grant option";

/// An object whose privileges are asked for, and what it is called in grants.
pub(super) enum Privileged<'a> {
    Table(&'a Relation),
    Column(&'a Relation, &'a str),
    AnyColumn(&'a Relation),
    Database(String),
    Role(String),
}

/// The access of a user of this name or number; that of the current one if there is none.
pub(super) fn access_of(query: &Execution, user: Option<&ObjectRef>) -> Result<Arc<Access>> {
    match user {
        None | Some(ObjectRef::Numbered(0)) => Ok(Arc::clone(&query.access)),
        Some(ObjectRef::Numbered(oid)) if *oid == i64::from(OWNER) => Ok(Arc::clone(&query.access)),
        Some(ObjectRef::Named(name)) if *name == query.user => Ok(Arc::clone(&query.access)),
        Some(ObjectRef::Named(name)) => query.instance.access_control.access(name, None),
        Some(ObjectRef::Numbered(oid)) => bail!(UnknownUser, "there is no role with the number {oid}"),
    }
}

/// The object of a target; `None` if no object has its number.
pub(super) fn object_of<'a>(
    query: &Execution,
    target: &'a PrivilegeTarget,
    relation: impl Fn(&ObjectRef) -> Option<&'a Relation>,
) -> Result<Option<Privileged<'a>>> {
    let table = |table: &ObjectRef| match (relation(table), table) {
        (Some(relation), _) => Ok(Some(relation)),
        (None, ObjectRef::Named(name)) => bail!(UnknownTable, "relation `{name}` does not exist"),
        (None, ObjectRef::Numbered(_)) => Ok(None),
    };
    Ok(match target {
        PrivilegeTarget::Table(name) => table(name)?.map(Privileged::Table),
        PrivilegeTarget::AnyColumn(name) => table(name)?.map(Privileged::AnyColumn),
        PrivilegeTarget::Column(name, column) => match table(name)? {
            None => None,
            Some(relation) => column_of(relation, column)?.map(|column| Privileged::Column(relation, column)),
        },
        PrivilegeTarget::Database(name) => database_of(query, name, "database")?.map(Privileged::Database),
        PrivilegeTarget::Schema(name) => database_of(query, name, "namespace")?.map(Privileged::Database),
        PrivilegeTarget::Role(ObjectRef::Named(name)) => Some(Privileged::Role(name.clone())),
        PrivilegeTarget::Role(ObjectRef::Numbered(_)) => Some(Privileged::Role(query.user.clone())),
    })
}

fn column_of<'a>(relation: &'a Relation, column: &ObjectRef) -> Result<Option<&'a str>> {
    let mut names = relation.columns.iter().map(|column| column.name.as_str());
    match column {
        ObjectRef::Named(wanted) => match names.find(|name| name == wanted) {
            Some(name) => Ok(Some(name)),
            None => {
                bail!(NoSuchColumnInTable, "column `{wanted}` of relation `{}` does not exist", relation.name)
            }
        },
        ObjectRef::Numbered(position) => {
            Ok(usize::try_from(*position).ok().and_then(|at| at.checked_sub(1)).and_then(|at| names.nth(at)))
        }
    }
}

/// The database of a name or number; Postgres counts databases and schemas apart.
fn database_of(query: &Execution, object: &ObjectRef, counted_as: &str) -> Result<Option<String>> {
    let named = |name: &str| match name {
        "public" => query.database.clone(),
        name => name.to_owned(),
    };
    let mut known = namespaces(query).into_iter();
    match object {
        ObjectRef::Named(wanted) => {
            let wanted = named(wanted);
            match known.find(|(_, name)| *name == wanted) {
                Some((_, name)) => Ok(Some(name)),
                None => bail!(UnknownDatabase, "database `{wanted}` does not exist"),
            }
        }
        ObjectRef::Numbered(number) if counted_as == "namespace" => {
            Ok(known.find(|(oid, _)| i64::from(*oid) == *number).map(|(_, name)| name))
        }
        ObjectRef::Numbered(number) => {
            let oid = |name: &str| query.instance.postgres_oids.of(&format!("database {name}"));
            Ok(known.find(|(_, name)| i64::from(oid(name)) == *number).map(|(_, name)| name))
        }
    }
}

/// Whether one of `privileges`, a list with commas, is given.
pub(super) fn has_any(access: &Access, object: &Privileged<'_>, privileges: &str) -> Result<bool> {
    let mut is_given = false;
    // Each is checked, so that a wrong word is an error wherever it stands.
    for privilege in privileges.split(',') {
        is_given |= has(access, object, privilege)?;
    }
    Ok(is_given)
}

fn has(access: &Access, object: &Privileged<'_>, privilege: &str) -> Result<bool> {
    let wanted = privilege.trim().to_ascii_lowercase();
    let word = wanted.strip_suffix(GRANT_OPTION).unwrap_or(&wanted);
    let may_give = wanted.len() != word.len();
    let granted = |set: &'static str, path: &Path| {
        let set = PrivilegeSet::of(set);
        if may_give { access.may_give(set, path) } else { access.has(set, path) }
    };
    let unknown = || bail!(BadArguments, "unrecognized privilege type: `{}`", privilege.trim());
    match object {
        Privileged::Role(role) => match word {
            "member" | "usage" | "set" => {
                Ok(access.is_unlimited() || *role == access.user || access.enabled_roles.contains(role))
            }
            _ => unknown(),
        },
        Privileged::Database(name) => {
            let path = Path::of(&[name]);
            match word {
                "create" => Ok(granted("CREATE TABLE", &path)),
                "temp" | "temporary" => Ok(granted("CREATE TEMPORARY TABLE", &Path::of(&[]))),
                "connect" | "usage" => Ok(is_catalog(name) || access.sees(&path)),
                _ => unknown(),
            }
        }
        Privileged::Table(relation) | Privileged::Column(relation, _) | Privileged::AnyColumn(relation) => {
            let table = Path::of(&[&relation.database, &relation.name]);
            let is_table = matches!(object, Privileged::Table(_));
            let set = match word {
                "select" if is_catalog(&relation.database) => return Ok(!may_give),
                "select" => "SELECT",
                "insert" => "INSERT",
                "update" => "ALTER UPDATE",
                "delete" if is_table => "ALTER DELETE",
                "truncate" if is_table => "TRUNCATE",
                // There are neither foreign keys nor triggers.
                "trigger" | "maintain" if is_table => return Ok(false),
                "references" => return Ok(false),
                _ => return unknown(),
            };
            Ok(match object {
                Privileged::Column(_, column) => granted(set, &table.with(column)),
                Privileged::AnyColumn(_) => {
                    let of_column = |name: &str| granted(set, &table.clone().with(name));
                    relation.columns.iter().any(|column| of_column(&column.name))
                }
                _ => granted(set, &table),
            })
        }
    }
}

fn is_catalog(database: &str) -> bool {
    database == PG_CATALOG || crate::names::INFORMATION_SCHEMA.contains(&database)
}
