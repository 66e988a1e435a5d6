//! The relations of all databases as the catalog shows them.

use basalt_base::SqlType;
use basalt_sql::ast::{DefaultKind, Expr};

use super::relation;
use super::schemas::namespace_oid;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::SYSTEM;
use crate::system::registry::described;
use crate::tables::{ColumnDefinition, Table};

/// Engines whose primary key is unique.
const UNIQUE_KEYS: &[&str] = &["EmbeddedRocksDB", "Succinct"];

/// A table or view.
pub(super) struct Relation {
    pub(super) oid: u32,
    pub(super) database: String,
    pub(super) namespace: u32,
    pub(super) name: String,
    pub(super) is_view: bool,
    pub(super) columns: Vec<RelationColumn>,
    pub(super) comment: String,
    /// The text of a view's query.
    pub(super) query: Option<String>,
    pub(super) key: Option<RelationKey>,
    pub(super) rows: Option<u64>,
    pub(super) bytes: Option<u64>,
}

/// A column of a table or view.
pub(super) struct RelationColumn {
    pub(super) name: String,
    pub(super) ty: SqlType,
    /// The exact type of a column of `pg_catalog`.
    pub(super) type_oid: Option<u32>,
    pub(super) default: Option<String>,
    pub(super) is_computed: bool,
    pub(super) comment: String,
}

/// The key of a table: an index, and a constraint if no two rows have the same.
pub(super) struct RelationKey {
    pub(super) index_oid: u32,
    pub(super) constraint_oid: u32,
    pub(super) name: String,
    pub(super) is_unique: bool,
    /// Positions of columns from 1; 0 for an expression.
    pub(super) columns: Vec<i64>,
    /// The elements as SQL.
    pub(super) texts: Vec<String>,
}

/// Every relation.
pub(super) fn all(query: &Execution) -> Vec<Relation> {
    let objects = query.visible_objects();
    let mut relations: Vec<Relation> = objects
        .into_iter()
        .filter_map(|(database, name, object)| of_object(query, database, name, object))
        .collect();
    for (name, columns) in described() {
        let columns = columns.iter().map(|column| plain(&column.name, column.ty.clone())).collect();
        let oid = query.instance.postgres_oids.of(&format!("relation {SYSTEM}.{name}"));
        relations.push(simple(query, oid, SYSTEM, name, false, columns));
    }
    for known in relation::all() {
        let columns = known.columns.iter().map(|column| RelationColumn {
            type_oid: Some(column.type_oid),
            ..plain(column.name, column.sql_type())
        });
        relations.push(simple(query, known.oid, known.schema, known.name, known.is_view, columns.collect()));
    }
    relations
}

fn simple(
    query: &Execution,
    oid: u32,
    database: &str,
    name: &str,
    is_view: bool,
    columns: Vec<RelationColumn>,
) -> Relation {
    Relation {
        oid,
        database: database.to_owned(),
        namespace: namespace_oid(query, database),
        name: name.to_owned(),
        is_view,
        columns,
        comment: String::new(),
        query: None,
        key: None,
        rows: None,
        bytes: None,
    }
}

fn plain(name: &str, ty: SqlType) -> RelationColumn {
    RelationColumn {
        name: name.to_owned(),
        ty,
        type_oid: None,
        default: None,
        is_computed: false,
        comment: String::new(),
    }
}

/// `None` for what could not be opened.
fn of_object(query: &Execution, database: String, name: String, object: CatalogObject) -> Option<Relation> {
    let oid = query.instance.postgres_oids.of(&format!("relation {}", object.uuid()));
    let of_columns =
        |columns: Vec<RelationColumn>, is_view| simple(query, oid, &database, &name, is_view, columns);
    Some(match object {
        CatalogObject::Table(table) => {
            let definition = table.definition();
            let columns = definition.columns.iter().map(of_definition).collect();
            Relation {
                comment: definition.create.comment.clone().unwrap_or_default(),
                key: key_of(query, oid, &name, table.as_ref()),
                rows: table.total_rows(),
                bytes: table.total_bytes(),
                ..of_columns(columns, false)
            }
        }
        CatalogObject::View(view) => {
            let columns = view.columns.iter().map(|column| plain(&column.name, column.ty.clone())).collect();
            Relation { query: Some(view.create.query.to_string()), ..of_columns(columns, true) }
        }
        CatalogObject::Dictionary(entry) => {
            let columns = entry.shown_columns().0;
            let columns = columns.iter().map(|column| plain(&column.name, column.ty.clone())).collect();
            of_columns(columns, false)
        }
        CatalogObject::Broken(_) => return None,
    })
}

fn of_definition(column: &ColumnDefinition) -> RelationColumn {
    let default = column.default.as_ref().and_then(|default| default.expr.as_ref());
    RelationColumn {
        default: default.map(ToString::to_string),
        is_computed: matches!(column.kind(), Some(DefaultKind::Alias | DefaultKind::Materialized)),
        comment: column.comment.clone(),
        ..plain(&column.name, column.ty.clone())
    }
}

fn key_of(query: &Execution, oid: u32, name: &str, table: &dyn Table) -> Option<RelationKey> {
    let definition = table.definition();
    let (clauses, primary) = definition.sort_key().ok()?;
    if primary == 0 {
        return None;
    }
    let is_unique = UNIQUE_KEYS.contains(&table.engine());
    let position = |expr: &Expr| match expr {
        Expr::Identifier(parts) => {
            let name = parts.join(".");
            definition.columns.iter().position(|column| column.name == name).map_or(0, |at| at as i64 + 1)
        }
        _ => 0,
    };
    let clauses = &clauses[..primary];
    Some(RelationKey {
        index_oid: query.instance.postgres_oids.of(&format!("index of {oid}")),
        constraint_oid: query.instance.postgres_oids.of(&format!("constraint of {oid}")),
        name: format!("{name}_{}", if is_unique { "pkey" } else { "key" }),
        is_unique,
        columns: clauses.iter().map(|clause| position(&clause.expr)).collect(),
        texts: clauses.iter().map(|clause| clause.text()).collect(),
    })
}
