//! The database `system`: tables that describe the engine. One file a table.
//!
//! To add one: its file with `columns` and `block`, and its line in [`registry`].

mod access;
mod aggregate_function_combinators;
mod asynchronous_metrics;
mod block;
mod build_options;
mod columns;
mod data_skipping_indices;
mod data_type_families;
mod databases;
mod detached_parts;
mod detached_tables;
mod dictionaries;
mod disks;
mod empty;
mod errors;
mod events;
mod formats;
mod functions;
mod grants;
mod keywords;
mod merge_tree_settings;
mod merges;
mod metrics;
mod mutations;
mod named_collections;
mod one;
mod part_log;
mod parts;
mod parts_columns;
pub(crate) mod postgres;
mod processes;
mod query_log;
mod quotas;
mod registry;
mod rocksdb;
mod rocksdb_settings;
mod roles;
mod row_policies;
mod settings;
mod settings_profiles;
mod storage_policies;
mod succinct_columns;
mod succinct_segments;
mod succinct_settings;
mod table_engines;
mod table_functions;
mod tables;
mod time_zones;
mod users;
mod warnings;

pub(crate) use registry::{table, table_names};
