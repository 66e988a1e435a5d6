//! The relations of `pg_catalog` and `information_schema`: their columns, as PostgreSQL 15 has them.

use std::sync::LazyLock;

use basalt_base::{Column, Columns, SqlType};

use crate::names::PG_CATALOG;
use crate::postgres_type as types;

/// The views of standard SQL. ClickHouse's views of this name have other columns.
pub(super) const INFORMATION_SCHEMA: &str = "information_schema";

/// The first number of views, which have none in the files.
const VIEWS: u32 = 12_000;

/// Digits of a second in a `timestamptz`.
const TIMESTAMP_DIGITS: u8 = 6;

/// One relation of the catalog.
pub(super) struct CatalogRelation {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) oid: u32,
    pub(super) is_view: bool,
    pub(super) columns: Vec<CatalogColumn>,
}

/// One column of a relation of the catalog.
pub(super) struct CatalogColumn {
    pub(super) name: &'static str,
    /// The number of its type in `pg_type`.
    pub(super) type_oid: u32,
    pub(super) nullable: bool,
}

static RELATIONS: LazyLock<Vec<CatalogRelation>> = LazyLock::new(|| {
    let lines = FILES.iter().flat_map(|(schema, text)| text.lines().map(|line| (*schema, line)));
    lines.zip(VIEWS..).filter_map(|((schema, line), number)| parse(schema, line, number)).collect()
});

/// The schemas and their relations, one in a line.
const FILES: &[(&str, &str)] = &[
    (PG_CATALOG, include_str!("relations.txt")),
    (INFORMATION_SCHEMA, include_str!("information_schema.txt")),
];

/// Every relation, by name.
pub(super) fn all() -> &'static [CatalogRelation] {
    &RELATIONS
}

pub(super) fn find(schema: &str, name: &str) -> Option<&'static CatalogRelation> {
    RELATIONS.iter().find(|relation| relation.schema == schema && relation.name == name)
}

impl CatalogRelation {
    /// The columns with the types that hold their values here.
    pub(super) fn columns(&self) -> Columns {
        self.columns.iter().map(|column| Column::new(column.name, column.sql_type())).collect()
    }
}

impl CatalogColumn {
    pub(super) fn sql_type(&self) -> SqlType {
        let ty = types::by_oid(self.type_oid).map_or(SqlType::String, |row| match row.category {
            "A" => {
                SqlType::array_of(types::by_oid(row.element).map_or(SqlType::String, |row| scalar(row.name)))
            }
            _ => scalar(row.name),
        });
        if self.nullable { ty.into_nullable() } else { ty }
    }
}

fn scalar(name: &str) -> SqlType {
    match name {
        "bool" => SqlType::Bool,
        "int2" => SqlType::Int16,
        "int4" => SqlType::Int32,
        "int8" => SqlType::Int64,
        "oid" | "xid" => SqlType::UInt32,
        "float4" => SqlType::Float32,
        "float8" => SqlType::Float64,
        "timestamptz" => SqlType::DateTime64 { precision: TIMESTAMP_DIGITS, zone: Some("UTC".into()) },
        _ => SqlType::String,
    }
}

fn parse(schema: &'static str, line: &'static str, number: u32) -> Option<CatalogRelation> {
    let mut words = line.split(' ');
    let (name, oid) = (words.next()?, words.next()?);
    let columns = words.map(|word| {
        let (name, ty) = word.split_once(':')?;
        let (ty, nullable) = ty.strip_suffix('?').map_or((ty, false), |ty| (ty, true));
        let type_oid = types::by_name(ty)?.oid;
        Some(CatalogColumn { name, type_oid, nullable })
    });
    let columns = columns.collect::<Option<Vec<_>>>()?;
    let is_view = oid == "view";
    Some(CatalogRelation { schema, name, oid: oid.parse().unwrap_or(number), is_view, columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_relation() {
        assert_eq!(all().len(), FILES.iter().map(|(_, text)| text.lines().count()).sum::<usize>());
        let class = find(PG_CATALOG, "pg_class").expect("a relation");
        assert_eq!((class.oid, class.columns[1].sql_type()), (1259, SqlType::String));
    }
}
