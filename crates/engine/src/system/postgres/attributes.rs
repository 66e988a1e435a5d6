//! `pg_attribute` and `pg_attrdef`: the columns of every relation, and their defaults.

use super::cells::{Cell, Row};
use super::objects::{Relation, RelationColumn, all};
use crate::execution::Execution;
use crate::postgres_type::{self, PostgresType};

/// The number of the collation `default`.
const DEFAULT_COLLATION: u32 = 100;

pub(super) fn pg_attribute(query: &Execution) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in all(query) {
        rows.extend(
            relation.columns.iter().zip(1..).map(|(column, number)| column_row(relation.oid, column, number)),
        );
        if let Some(key) = &relation.key {
            let columns = key.columns.iter().zip(1..);
            rows.extend(columns.filter_map(|(position, number)| {
                let column = relation.columns.get(usize::try_from(*position).ok()?.checked_sub(1)?)?;
                Some(
                    column_row(key.index_oid, column, number).set("atthasdef", false).set("attgenerated", ""),
                )
            }));
        }
    }
    rows
}

fn column_row(relation: u32, column: &RelationColumn, number: i64) -> Row {
    let PostgresType { oid, length, modifier } = PostgresType::of(&column.ty, None);
    let oid = column.type_oid.unwrap_or(oid);
    let ty = postgres_type::by_oid(oid);
    let is_text = ty.is_some_and(|ty| ty.collation != 0);
    Row::default()
        .set("attrelid", relation)
        .set("attname", column.name.as_str())
        .set("atttypid", oid)
        .set("attstattarget", -1_i64)
        .set("attlen", i64::from(ty.map_or(length, |ty| ty.length)))
        .set("attnum", number)
        .set("attndims", i64::from(ty.is_some_and(|ty| ty.category == "A")))
        .set("attcacheoff", -1_i64)
        .set("atttypmod", i64::from(modifier))
        .set("attbyval", ty.is_some_and(|ty| ty.by_value))
        .set("attalign", ty.map_or("i", |ty| ty.alignment))
        .set("attstorage", ty.map_or("p", |ty| ty.storage))
        .set("attnotnull", !column.ty.accepts_null())
        .set("atthasdef", column.default.is_some())
        .set("attgenerated", if column.is_computed { "s" } else { "" })
        .set("attislocal", true)
        .set("attcollation", if is_text { DEFAULT_COLLATION } else { 0 })
        .set("attacl", Cell::Null)
}

pub(super) fn pg_attrdef(query: &Execution) -> Vec<Row> {
    let of_relation = |relation: Relation| {
        let defaults = relation.columns.into_iter().zip(1_i64..);
        let defaults = defaults.filter_map(|(column, number)| Some((column.default?, number)));
        let oids = &query.instance.postgres_oids;
        let row = |(text, number): (String, i64)| {
            Row::default()
                .set("oid", oids.of(&format!("default {number} of {}", relation.oid)))
                .set("adrelid", relation.oid)
                .set("adnum", number)
                .set("adbin", text)
        };
        defaults.map(row).collect::<Vec<_>>()
    };
    all(query).into_iter().flat_map(of_relation).collect()
}
