//! The database `system`: tables that describe the engine. One file a table.
//!
//! To add one: its file with `columns` and `block`, and its line in [`registry`].

mod block;
mod columns;
mod data_skipping_indices;
mod databases;
mod detached_parts;
mod detached_tables;
mod dictionaries;
mod formats;
mod functions;
mod merge_tree_settings;
mod merges;
mod mutations;
mod named_collections;
mod one;
mod part_log;
mod parts;
mod parts_columns;
pub(crate) mod postgres;
mod processes;
mod query_log;
mod registry;
mod rocksdb;
mod settings;
mod succinct_columns;
mod succinct_segments;
mod succinct_settings;
mod table_engines;
mod tables;
mod warnings;

pub(crate) use registry::{table, table_names};
