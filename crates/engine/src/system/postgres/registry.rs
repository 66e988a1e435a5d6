//! The relations of `pg_catalog` and `information_schema` by name.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};

use super::cells::{Row, block};
use super::relation::CatalogRelation;
use super::{attributes, classes, fixed, information, keys, relation, schemas, settings};
use crate::execution::Execution;
use crate::names::PG_CATALOG;
use crate::postgres_type::EXACT_TYPE;
use crate::tables::{Table, VirtualTable};

type Rows = fn(&Execution) -> Vec<Row>;

/// The relations of `pg_catalog` that are not empty.
const ROWS: &[(&str, Rows)] = &[
    ("pg_am", fixed::pg_am),
    ("pg_attrdef", attributes::pg_attrdef),
    ("pg_attribute", attributes::pg_attribute),
    ("pg_authid", schemas::roles),
    ("pg_class", classes::pg_class),
    ("pg_collation", fixed::pg_collation),
    ("pg_constraint", keys::pg_constraint),
    ("pg_database", schemas::pg_database),
    ("pg_description", classes::pg_description),
    ("pg_index", keys::pg_index),
    ("pg_indexes", keys::pg_indexes),
    ("pg_language", fixed::pg_language),
    ("pg_namespace", schemas::pg_namespace),
    ("pg_proc", fixed::pg_proc),
    ("pg_roles", schemas::roles),
    ("pg_settings", settings::pg_settings),
    ("pg_shadow", schemas::users),
    ("pg_stat_all_tables", classes::pg_stat_user_tables),
    ("pg_stat_user_tables", classes::pg_stat_user_tables),
    ("pg_tables", classes::pg_tables),
    ("pg_tablespace", schemas::pg_tablespace),
    ("pg_type", fixed::pg_type),
    ("pg_user", schemas::users),
    ("pg_views", classes::pg_views),
];

/// The views of `information_schema` that are not empty.
const INFORMATION_ROWS: &[(&str, Rows)] = &[
    ("columns", information::columns),
    ("constraint_column_usage", information::key_columns),
    ("enabled_roles", information::enabled_roles),
    ("information_schema_catalog_name", information::catalog_name),
    ("key_column_usage", information::key_columns),
    ("schemata", information::schemata),
    ("table_constraints", information::table_constraints),
    ("tables", information::tables),
    ("views", information::views),
];

/// Whether `pg_catalog` has a relation called `name`.
pub(crate) fn has_table(name: &str) -> bool {
    relation::find(PG_CATALOG, name).is_some()
}

/// The relation `pg_catalog.name`, as `query` sees it.
pub(crate) fn table(name: &str, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    let Some(found) = relation::find(PG_CATALOG, name) else {
        let near = did_you_mean(name, relation::all().iter().map(|relation| relation.name));
        bail!(UnknownTable, "table `{PG_CATALOG}.{name}` does not exist{near}");
    };
    open(found, ROWS, query)
}

/// The view `information_schema.name`, in any case; `None` if PostgreSQL has none.
pub(crate) fn information_view(name: &str, query: &Arc<Execution>) -> Result<Option<Arc<dyn Table>>> {
    let found = relation::find(relation::INFORMATION_SCHEMA, &name.to_ascii_lowercase());
    found.map(|found| open(found, INFORMATION_ROWS, query)).transpose()
}

fn open(
    found: &'static CatalogRelation,
    rows: &[(&str, Rows)],
    query: &Arc<Execution>,
) -> Result<Arc<dyn Table>> {
    let name = found.name;
    let rows = rows.iter().find(|(known, _)| *known == name).map(|(_, rows)| *rows);
    let (query, columns) = (Arc::clone(query), found.columns());
    let exact_types = found.columns.iter().map(|column| {
        (column.name.to_owned(), HashMap::from([(EXACT_TYPE.to_owned(), column.type_oid.to_string())]))
    });
    let exact_types = exact_types.collect();
    let scanned = columns.clone();
    let table = VirtualTable::of_block("System", found.schema, name, &columns, move || {
        block(&scanned, &rows.map(|rows| rows(&query)).unwrap_or_default())
    })?;
    Ok(Arc::new(table.with_field_metadata(exact_types)))
}
