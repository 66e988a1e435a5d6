//! `pg_index`, `pg_indexes`, `pg_constraint`: the keys of tables.
//!
//! The key of a MergeTree table is an index that is not unique. That of a table of rows by key is its primary key.

use super::cells::{Cell, Row};
use super::objects::{Relation, RelationKey, all};
use crate::execution::Execution;

/// The relations with a key, and their keys.
fn keys(query: &Execution) -> Vec<(Relation, RelationKey)> {
    let with_key = |mut relation: Relation| relation.key.take().map(|key| (relation, key));
    all(query).into_iter().filter_map(with_key).collect()
}

pub(super) fn pg_index(query: &Execution) -> Vec<Row> {
    let row = |(relation, key): (Relation, RelationKey)| {
        let count = key.columns.len();
        Row::default()
            .set("indexrelid", key.index_oid)
            .set("indrelid", relation.oid)
            .set("indnatts", count as i64)
            .set("indnkeyatts", count as i64)
            .set("indisunique", key.is_unique)
            .set("indisprimary", key.is_unique)
            .set("indimmediate", true)
            .set("indisclustered", true)
            .set("indisvalid", true)
            .set("indisready", true)
            .set("indislive", true)
            .set("indkey", Cell::Integers(key.columns))
            .set("indcollation", Cell::Integers(vec![0; count]))
            .set("indclass", Cell::Integers(vec![0; count]))
            .set("indoption", Cell::Integers(vec![0; count]))
    };
    keys(query).into_iter().map(row).collect()
}

pub(super) fn pg_indexes(query: &Execution) -> Vec<Row> {
    let row = |(relation, key): (Relation, RelationKey)| {
        let definition = index_definition(&relation, &key);
        Row::default()
            .set("schemaname", relation.database)
            .set("tablename", relation.name)
            .set("indexname", key.name)
            .set("indexdef", definition)
    };
    keys(query).into_iter().map(row).collect()
}

pub(super) fn pg_constraint(query: &Execution) -> Vec<Row> {
    let row = |(relation, key): (Relation, RelationKey)| {
        Row::default()
            .set("oid", key.constraint_oid)
            .set("conname", key.name)
            .set("connamespace", relation.namespace)
            .set("contype", "p")
            .set("convalidated", true)
            .set("conrelid", relation.oid)
            .set("conindid", key.index_oid)
            .set("confupdtype", " ")
            .set("confdeltype", " ")
            .set("confmatchtype", " ")
            .set("conislocal", true)
            .set("connoinherit", true)
            .set("conkey", Cell::Integers(key.columns))
    };
    keys(query).into_iter().filter(|(_, key)| key.is_unique).map(row).collect()
}

/// CREATE INDEX, as Postgres prints it.
pub(super) fn index_definition(relation: &Relation, key: &RelationKey) -> String {
    let unique = if key.is_unique { "UNIQUE " } else { "" };
    let (name, database, table, columns) =
        (&key.name, &relation.database, &relation.name, key.texts.join(", "));
    format!("CREATE {unique}INDEX {name} ON {database}.{table} USING btree ({columns})")
}
