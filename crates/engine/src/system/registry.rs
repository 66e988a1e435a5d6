//! The system tables by name.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Result, bail};

use super::block;
use super::block::Alias;
use super::{
    aggregate_function_combinators, asynchronous_metrics, build_options, columns, data_skipping_indices,
    data_type_families, databases, detached_parts, detached_tables, dictionaries, disks, empty, errors,
    events, formats, functions, grants, keywords, merge_tree_settings, merges, metrics, mutations,
    named_collections, one, part_log, parts, parts_columns, processes, query_log, quotas, rocksdb,
    rocksdb_settings, roles, row_policies, settings, settings_profiles, storage_policies, succinct_columns,
    succinct_segments, succinct_settings, table_engines, table_functions, tables, time_zones, users,
    warnings,
};
use crate::execution::Execution;
use crate::names::SYSTEM;
use crate::table_functions::{numbers_table, zeros_table};
use crate::tables::{Table, VirtualTable};

/// One system table.
struct SystemTable {
    name: &'static str,
    columns: fn() -> Columns,
    block: fn(&Execution) -> Result<RecordBatch>,
}

const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "aggregate_function_combinators",
        columns: aggregate_function_combinators::columns,
        block: aggregate_function_combinators::block,
    },
    SystemTable {
        name: "asynchronous_metrics",
        columns: asynchronous_metrics::columns,
        block: asynchronous_metrics::block,
    },
    SystemTable { name: "build_options", columns: build_options::columns, block: build_options::block },
    SystemTable { name: "columns", columns: columns::columns, block: columns::block },
    SystemTable { name: "current_roles", columns: roles::current_columns, block: roles::current_block },
    SystemTable {
        name: "data_skipping_indices",
        columns: data_skipping_indices::columns,
        block: data_skipping_indices::block,
    },
    SystemTable {
        name: "data_type_families",
        columns: data_type_families::columns,
        block: data_type_families::block,
    },
    SystemTable { name: "databases", columns: databases::columns, block: databases::block },
    SystemTable { name: "detached_parts", columns: detached_parts::columns, block: detached_parts::block },
    SystemTable { name: "detached_tables", columns: detached_tables::columns, block: detached_tables::block },
    SystemTable { name: "dictionaries", columns: dictionaries::columns, block: dictionaries::block },
    SystemTable { name: "disks", columns: disks::columns, block: disks::block },
    SystemTable { name: "enabled_roles", columns: roles::enabled_columns, block: roles::enabled_block },
    SystemTable { name: "errors", columns: errors::columns, block: errors::block },
    SystemTable { name: "events", columns: events::columns, block: events::block },
    SystemTable { name: "formats", columns: formats::columns, block: formats::block },
    SystemTable { name: "functions", columns: functions::columns, block: functions::block },
    SystemTable { name: "grants", columns: grants::columns, block: grants::block },
    SystemTable { name: "keywords", columns: keywords::columns, block: keywords::block },
    SystemTable {
        name: "merge_tree_settings",
        columns: merge_tree_settings::columns,
        block: merge_tree_settings::block,
    },
    SystemTable { name: "merges", columns: merges::columns, block: merges::block },
    SystemTable { name: "metrics", columns: metrics::columns, block: metrics::block },
    SystemTable { name: "mutations", columns: mutations::columns, block: mutations::block },
    SystemTable {
        name: "named_collections",
        columns: named_collections::columns,
        block: named_collections::block,
    },
    SystemTable { name: "one", columns: one::columns, block: one::block },
    SystemTable { name: "part_log", columns: part_log::columns, block: part_log::block },
    SystemTable { name: "parts", columns: parts::columns, block: parts::block },
    SystemTable { name: "parts_columns", columns: parts_columns::columns, block: parts_columns::block },
    SystemTable { name: "privileges", columns: grants::privilege_columns, block: grants::privilege_block },
    SystemTable { name: "processes", columns: processes::columns, block: processes::block },
    SystemTable { name: "query_log", columns: query_log::columns, block: query_log::block },
    SystemTable { name: "quota_limits", columns: quotas::limit_columns, block: quotas::limit_block },
    SystemTable { name: "quota_usage", columns: quotas::own_usage_columns, block: quotas::own_usage_block },
    SystemTable { name: "quotas", columns: quotas::columns, block: quotas::block },
    SystemTable { name: "quotas_usage", columns: quotas::all_usage_columns, block: quotas::all_usage_block },
    SystemTable { name: "rocksdb", columns: rocksdb::columns, block: rocksdb::block },
    SystemTable { name: "role_grants", columns: roles::grant_columns, block: roles::grant_block },
    SystemTable {
        name: "rocksdb_settings",
        columns: merge_tree_settings::columns,
        block: rocksdb_settings::block,
    },
    SystemTable { name: "roles", columns: roles::columns, block: roles::block },
    SystemTable { name: "row_policies", columns: row_policies::columns, block: row_policies::block },
    SystemTable { name: "settings", columns: settings::columns, block: settings::block },
    SystemTable {
        name: "settings_profile_elements",
        columns: settings_profiles::element_columns,
        block: settings_profiles::element_block,
    },
    SystemTable {
        name: "settings_profiles",
        columns: settings_profiles::columns,
        block: settings_profiles::block,
    },
    SystemTable {
        name: "storage_policies",
        columns: storage_policies::columns,
        block: storage_policies::block,
    },
    SystemTable {
        name: "succinct_columns",
        columns: succinct_columns::columns,
        block: succinct_columns::block,
    },
    SystemTable {
        name: "succinct_segments",
        columns: succinct_segments::columns,
        block: succinct_segments::block,
    },
    SystemTable {
        name: "succinct_settings",
        columns: merge_tree_settings::columns,
        block: succinct_settings::block,
    },
    SystemTable { name: "table_engines", columns: table_engines::columns, block: table_engines::block },
    SystemTable { name: "table_functions", columns: table_functions::columns, block: table_functions::block },
    SystemTable { name: "tables", columns: tables::columns, block: tables::block },
    SystemTable { name: "time_zones", columns: time_zones::columns, block: time_zones::block },
    SystemTable { name: "users", columns: users::columns, block: users::block },
    SystemTable { name: "warnings", columns: warnings::columns, block: warnings::block },
];

/// Columns that are computed from others, by table.
const ALIASES: &[(&str, &[Alias])] = &[
    ("asynchronous_metrics", asynchronous_metrics::ALIASES),
    ("columns", columns::ALIASES),
    ("databases", databases::ALIASES),
    ("events", events::ALIASES),
    ("metrics", metrics::ALIASES),
    ("part_log", part_log::ALIASES),
    ("tables", tables::ALIASES),
];

/// The tables that are not made of one block.
const ENDLESS: &[&str] = &["numbers", "numbers_mt", "zeros"];

/// The names of all system tables.
pub(crate) fn table_names() -> Vec<&'static str> {
    let empty = empty::EMPTY.iter().map(|(name, _)| *name);
    TABLES.iter().map(|table| table.name).chain(empty).chain(ENDLESS.iter().copied()).collect()
}

/// Name and columns of every system table that is made of one block.
pub(super) fn described() -> impl Iterator<Item = (&'static str, Columns)> {
    let empty = empty::EMPTY.iter().map(|(name, text)| (*name, block::declared(text)));
    TABLES.iter().map(|table| (table.name, with_aliases(table))).chain(empty)
}

/// The columns of a table and those that are computed from them.
fn with_aliases(table: &SystemTable) -> Columns {
    let aliases = aliases_of(table.name).iter();
    let declared = aliases.flat_map(|(name, ty, _)| {
        block::declared(&format!("{name} {ty}")).iter().cloned().collect::<Vec<_>>()
    });
    (table.columns)().iter().cloned().chain(declared).collect()
}

fn aliases_of(name: &str) -> &'static [Alias] {
    ALIASES.iter().find(|(table, _)| *table == name).map_or(&[], |(_, aliases)| aliases)
}

/// The system table called `name`, as `query` sees it.
pub(crate) fn table(name: &str, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    match name {
        "numbers" | "numbers_mt" => return numbers_table(),
        "zeros" => return zeros_table(),
        _ => {}
    }
    if let Some(columns) = empty::columns(name) {
        let rows = columns.clone();
        let table = VirtualTable::of_block("System", SYSTEM, name, &columns, move || empty::block(&rows))?;
        return Ok(Arc::new(table));
    }
    let Some(found) = TABLES.iter().find(|table| table.name == name) else {
        bail!(UnknownTable, "table `{SYSTEM}.{name}` does not exist{}", did_you_mean(name, table_names()));
    };
    let (query, block) = (Arc::clone(query), found.block);
    let columns = (found.columns)();
    let mut table = VirtualTable::of_block("System", SYSTEM, found.name, &columns, move || block(&query))?;
    table = table.with_aliases(aliases_of(name))?;
    Ok(Arc::new(table))
}
