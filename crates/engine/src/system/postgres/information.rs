//! `information_schema` by PostgreSQL's rules: schemas, tables, columns, views and keys.

use super::cells::Row;
use super::objects::{Relation, RelationColumn, RelationKey, all};
use super::schemas::namespaces;
use crate::execution::Execution;
use crate::names::PG_CATALOG;
use crate::postgres_type::{self, PostgresType};

/// What PostgreSQL adds to the modifier of a `numeric`, and where its precision begins.
const NUMERIC_OFFSET: i32 = 4;
const PRECISION_SHIFT: i32 = 16;
/// The digits of a scale in the same modifier.
const SCALE_MASK: i32 = 0x7FF;

pub(super) fn catalog_name(query: &Execution) -> Vec<Row> {
    vec![Row::default().set("catalog_name", query.database.as_str())]
}

pub(super) fn enabled_roles(query: &Execution) -> Vec<Row> {
    vec![Row::default().set("role_name", query.user.as_str())]
}

pub(super) fn schemata(query: &Execution) -> Vec<Row> {
    let row = |(_, name): (u32, String)| {
        Row::default()
            .set("catalog_name", query.database.as_str())
            .set("schema_name", name)
            .set("schema_owner", query.user.as_str())
    };
    namespaces(query).into_iter().map(row).collect()
}

fn row_of(query: &Execution, relation: &Relation) -> Row {
    Row::default()
        .set("table_catalog", query.database.as_str())
        .set("table_schema", relation.database.as_str())
        .set("table_name", relation.name.as_str())
}

pub(super) fn tables(query: &Execution) -> Vec<Row> {
    let row = |relation: Relation| {
        row_of(query, &relation)
            .set("table_type", if relation.is_view { "VIEW" } else { "BASE TABLE" })
            .set("is_insertable_into", yes_or_no(!relation.is_view))
            .set("is_typed", "NO")
    };
    all(query).into_iter().map(row).collect()
}

pub(super) fn views(query: &Execution) -> Vec<Row> {
    let row = |relation: Relation| {
        row_of(query, &relation)
            .set("view_definition", relation.query)
            .set("check_option", "NONE")
            .set("is_updatable", "NO")
            .set("is_insertable_into", "NO")
            .set("is_trigger_updatable", "NO")
            .set("is_trigger_deletable", "NO")
            .set("is_trigger_insertable_into", "NO")
    };
    all(query).into_iter().filter(|relation| relation.is_view).map(row).collect()
}

pub(super) fn columns(query: &Execution) -> Vec<Row> {
    let of_relation = |relation: Relation| {
        let row = |(column, number): (&RelationColumn, i64)| {
            with_type(row_of(query, &relation), column)
                .set("column_name", column.name.as_str())
                .set("ordinal_position", number)
                .set("column_default", column.default.clone())
                .set("is_nullable", yes_or_no(column.ty.accepts_null()))
                .set("udt_catalog", query.database.as_str())
                .set("dtd_identifier", number.to_string())
                .set("is_updatable", yes_or_no(!relation.is_view))
        };
        relation.columns.iter().zip(1..).map(row).collect::<Vec<_>>()
    };
    all(query).into_iter().flat_map(of_relation).collect()
}

/// The type of a column, and what it is not.
fn with_type(row: Row, column: &RelationColumn) -> Row {
    let PostgresType { oid, modifier, .. } = PostgresType::of(&column.ty, None);
    let oid = column.type_oid.unwrap_or(oid);
    let ty = postgres_type::by_oid(oid);
    let name = ty.map_or("", |ty| ty.name);
    let shown = ty.map_or("", |ty| if ty.category == "A" { "ARRAY" } else { ty.shown.as_str() });
    let (precision, radix, scale) = numeric_limits(name, modifier);
    row.set("data_type", shown)
        .set("numeric_precision", precision)
        .set("numeric_precision_radix", radix)
        .set("numeric_scale", scale)
        .set("datetime_precision", second_digits(name))
        .set("udt_schema", PG_CATALOG)
        .set("udt_name", name)
        .set("is_self_referencing", "NO")
        .set("is_identity", "NO")
        .set("identity_cycle", "NO")
        .set("is_generated", if column.is_computed { "ALWAYS" } else { "NEVER" })
}

/// Precision, radix and scale of a type of numbers.
fn numeric_limits(name: &str, modifier: i32) -> (Option<i64>, Option<i64>, Option<i64>) {
    let (precision, radix, scale) = match name {
        "int2" => (16, 2, Some(0)),
        "int4" => (32, 2, Some(0)),
        "int8" => (64, 2, Some(0)),
        "float4" => (24, 2, None),
        "float8" => (53, 2, None),
        "numeric" if modifier >= NUMERIC_OFFSET => {
            let digits = modifier - NUMERIC_OFFSET;
            (i64::from(digits >> PRECISION_SHIFT), 10, Some(i64::from(digits & SCALE_MASK)))
        }
        _ => return (None, None, None),
    };
    (Some(precision), Some(radix), scale)
}

fn second_digits(name: &str) -> Option<i64> {
    match name {
        "date" => Some(0),
        "timestamp" | "timestamptz" => Some(6),
        _ => None,
    }
}

/// The relations with a unique key, and their keys.
fn unique_keys(query: &Execution) -> impl Iterator<Item = (Relation, RelationKey)> {
    let keys = all(query).into_iter().filter_map(|mut relation| {
        let key = relation.key.take()?;
        Some((relation, key))
    });
    keys.filter(|(_, key)| key.is_unique)
}

fn constraint_row(query: &Execution, relation: &Relation, key: &RelationKey) -> Row {
    row_of(query, relation)
        .set("constraint_catalog", query.database.as_str())
        .set("constraint_schema", relation.database.as_str())
        .set("constraint_name", key.name.as_str())
}

pub(super) fn table_constraints(query: &Execution) -> Vec<Row> {
    let row = |(relation, key): (Relation, RelationKey)| {
        constraint_row(query, &relation, &key)
            .set("constraint_type", "PRIMARY KEY")
            .set("is_deferrable", "NO")
            .set("initially_deferred", "NO")
            .set("enforced", "YES")
    };
    unique_keys(query).map(row).collect()
}

/// `key_column_usage`, and `constraint_column_usage`, which has no positions.
pub(super) fn key_columns(query: &Execution) -> Vec<Row> {
    let of_key = |(relation, key): (Relation, RelationKey)| {
        let row = |(position, number): (&i64, i64)| {
            let column = relation.columns.get(usize::try_from(*position).ok()?.checked_sub(1)?)?;
            let row = constraint_row(query, &relation, &key).set("column_name", column.name.as_str());
            Some(row.set("ordinal_position", number))
        };
        key.columns.iter().zip(1..).filter_map(row).collect::<Vec<_>>()
    };
    unique_keys(query).flat_map(of_key).collect()
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}
