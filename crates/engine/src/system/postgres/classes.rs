//! `pg_class`, `pg_tables`, `pg_views`, `pg_stat_user_tables`, `pg_description`: tables and views.

use super::cells::Row;
use super::objects::{Relation, RelationKey, all};
use super::schemas::OWNER;
use crate::execution::Execution;
use crate::names::{PG_CATALOG, SYSTEM};

/// The numbers of `pg_class` and of the access methods `heap` and `btree`.
pub(super) const PG_CLASS: u32 = 1259;
const HEAP: u32 = 2;
const BTREE: u32 = 403;
/// Bytes of a page, in which Postgres counts.
const PAGE_BYTES: u64 = 8192;

pub(super) fn pg_class(query: &Execution) -> Vec<Row> {
    let relations = all(query);
    let indexes = relations.iter().filter_map(|relation| Some(index_row(relation, relation.key.as_ref()?)));
    relations.iter().map(class_row).chain(indexes).collect()
}

fn class_row(relation: &Relation) -> Row {
    let pages = relation.bytes.unwrap_or(0) / PAGE_BYTES;
    Row::default()
        .set("oid", relation.oid)
        .set("relname", relation.name.as_str())
        .set("relnamespace", relation.namespace)
        .set("relowner", OWNER)
        .set("relam", if relation.is_view { 0 } else { HEAP })
        .set("relfilenode", relation.oid)
        .set("relpages", i64::try_from(pages).unwrap_or(i64::MAX))
        .set("reltuples", relation.rows.map_or(-1, |rows| rows as i64))
        .set("relhasindex", relation.key.is_some())
        .set("relpersistence", "p")
        .set("relkind", if relation.is_view { "v" } else { "r" })
        .set("relnatts", relation.columns.len() as i64)
        .set("relhasrules", relation.is_view)
        .set("relispopulated", true)
        .set("relreplident", if relation.is_view { "n" } else { "d" })
}

fn index_row(relation: &Relation, key: &RelationKey) -> Row {
    Row::default()
        .set("oid", key.index_oid)
        .set("relname", key.name.as_str())
        .set("relnamespace", relation.namespace)
        .set("relowner", OWNER)
        .set("relam", BTREE)
        .set("relfilenode", key.index_oid)
        .set("relpersistence", "p")
        .set("relkind", "i")
        .set("relnatts", key.columns.len() as i64)
        .set("relispopulated", true)
        .set("relreplident", "n")
}

pub(super) fn pg_tables(query: &Execution) -> Vec<Row> {
    let row = |relation: Relation| {
        Row::default()
            .set("schemaname", relation.database)
            .set("tablename", relation.name)
            .set("tableowner", query.user.as_str())
            .set("hasindexes", relation.key.is_some())
            .set("hasrules", false)
            .set("hastriggers", false)
            .set("rowsecurity", false)
    };
    all(query).into_iter().filter(|relation| !relation.is_view).map(row).collect()
}

pub(super) fn pg_views(query: &Execution) -> Vec<Row> {
    let row = |relation: Relation| {
        Row::default()
            .set("schemaname", relation.database)
            .set("viewname", relation.name)
            .set("viewowner", query.user.as_str())
            .set("definition", relation.query)
    };
    all(query).into_iter().filter(|relation| relation.is_view).map(row).collect()
}

pub(super) fn pg_stat_user_tables(query: &Execution) -> Vec<Row> {
    let row = |relation: Relation| {
        Row::default()
            .set("relid", relation.oid)
            .set("schemaname", relation.database)
            .set("relname", relation.name)
            .set("n_live_tup", relation.rows.map(|rows| rows as i64))
    };
    let is_of_users = |relation: &Relation| {
        !relation.is_view && relation.database != PG_CATALOG && relation.database != SYSTEM
    };
    all(query).into_iter().filter(is_of_users).map(row).collect()
}

/// The comments of tables and columns.
pub(super) fn pg_description(query: &Execution) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in all(query) {
        let comments = relation.columns.iter().map(|column| column.comment.as_str());
        for (position, comment) in std::iter::once(relation.comment.as_str()).chain(comments).enumerate() {
            if !comment.is_empty() {
                let row = Row::default().set("objoid", relation.oid).set("classoid", PG_CLASS);
                rows.push(row.set("objsubid", position as i64).set("description", comment));
            }
        }
    }
    rows
}
