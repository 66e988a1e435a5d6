//! `pg_namespace`, `pg_database`, and who owns them.

use super::cells::{Cell, Row};
use super::relation;
use crate::execution::Execution;
use crate::names::{INFORMATION_SCHEMA, PG_CATALOG};

/// The number of the namespace `pg_catalog`.
pub(super) const CATALOG_NAMESPACE: u32 = 11;
/// The number of the owner of everything: there is one role.
pub(super) const OWNER: u32 = 10;
/// The number of the tablespace of everything.
pub(super) const TABLESPACE: u32 = 1663;
/// The number of the encoding UTF8.
const UTF8: i64 = 6;
const COLLATION: &str = "C.UTF-8";

pub(super) fn namespace_oid(query: &Execution, database: &str) -> u32 {
    match database {
        PG_CATALOG => CATALOG_NAMESPACE,
        other => query.instance.postgres_oids.of(&format!("namespace {other}")),
    }
}

/// The databases that a client can connect to and knows of.
fn databases(query: &Execution) -> Vec<String> {
    let mut names = query.visible_databases();
    names.retain(|name| !INFORMATION_SCHEMA.contains(&name.as_str()));
    names
}

/// The namespaces: every database, and those of the catalog.
pub(super) fn namespaces(query: &Execution) -> Vec<(u32, String)> {
    let mut names = databases(query);
    names.extend([PG_CATALOG, relation::INFORMATION_SCHEMA].map(str::to_owned));
    names.into_iter().map(|name| (namespace_oid(query, &name), name)).collect()
}

pub(super) fn pg_namespace(query: &Execution) -> Vec<Row> {
    let row = |(oid, name): (u32, String)| {
        Row::default().set("oid", oid).set("nspname", name).set("nspowner", OWNER)
    };
    namespaces(query).into_iter().map(row).collect()
}

/// A client connects to one of the databases and sees all of them as schemas.
pub(super) fn pg_database(query: &Execution) -> Vec<Row> {
    let row = |name: String| {
        Row::default()
            .set("oid", query.instance.postgres_oids.of(&format!("database {name}")))
            .set("datname", name)
            .set("datdba", OWNER)
            .set("encoding", UTF8)
            .set("datlocprovider", "c")
            .set("datallowconn", true)
            .set("datconnlimit", -1_i64)
            .set("dattablespace", TABLESPACE)
            .set("datcollate", COLLATION)
            .set("datctype", COLLATION)
            .set("datacl", Cell::Null)
    };
    databases(query).into_iter().map(row).collect()
}

/// `pg_roles` and `pg_authid`.
pub(super) fn roles(query: &Execution) -> Vec<Row> {
    let row = Row::default()
        .set("oid", OWNER)
        .set("rolname", query.user.as_str())
        .set("rolsuper", true)
        .set("rolinherit", true)
        .set("rolcreaterole", true)
        .set("rolcreatedb", true)
        .set("rolcanlogin", true)
        .set("rolconnlimit", -1_i64);
    vec![row]
}

/// `pg_user` and `pg_shadow`.
pub(super) fn users(query: &Execution) -> Vec<Row> {
    let row = Row::default()
        .set("usename", query.user.as_str())
        .set("usesysid", OWNER)
        .set("usecreatedb", true)
        .set("usesuper", true);
    vec![row]
}

pub(super) fn pg_tablespace(_query: &Execution) -> Vec<Row> {
    let row =
        |(oid, name): (u32, &str)| Row::default().set("oid", oid).set("spcname", name).set("spcowner", OWNER);
    [(TABLESPACE, "pg_default"), (1664, "pg_global")].into_iter().map(row).collect()
}
