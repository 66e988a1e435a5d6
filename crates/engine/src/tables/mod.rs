//! Tables.
//!
//! - [`table`]: the contract of all engines; [`capability`]: what only some of them can do.
//! - [`registry`]: opens a table by the name of its engine; [`opener`]: what the tables of a database share.
//! - [`merge_tree`], [`embedded_rocksdb`], [`raw_rocksdb`], [`memory`], [`dictionary`]: one file an engine, [`succinct`] a folder; [`virtual_table`]: tables that
//!   live for one query.
//! - [`rows_by_key`]: what the engines share that find rows by key.
//! - [`change_lock`]: keeps INSERTs away from a table while its rows are changed in place.
//! - [`definition`], [`create`]: a table's columns and clauses, from the CREATE statement.
//! - [`type_converter`]: the columns of a file of other types.
//! - [`key`], [`skip_index`], [`ttl`], [`fill`], [`codecs`], [`conversion`]: what a clause means for the storage.

mod capability;
mod change_lock;
mod codecs;
mod conversion;
mod create;
mod definition;
mod dictionary;
mod dictionary_rows;
mod embedded_rocksdb;
mod fill;
mod final_table;
mod index_clause;
mod key;
mod memory;
mod merge_mode;
mod merge_tree;
mod merge_tree_version;
mod opener;
mod part_log;
mod planning;
mod raw_rocksdb;
mod registry;
mod rows_by_key;
mod skip_index;
mod succinct;
mod suspicious;
mod table;
mod ttl;
mod ttl_group;
mod type_converter;
mod virtual_table;

pub(crate) use basalt_kv::Found;
pub(crate) use capability::{
    ChangeableTable, CheckedPart, DerivedTable, OptimizeRequest, PartsTable, PlacesTable, RowsChange,
    parts_of,
};
pub(crate) use conversion::is_same_stored;
pub(crate) use create::{column_of, definition_of};
pub(crate) use definition::{
    ColumnDefault, ColumnDefinition, KeyClause, TableDefinition, default_kind_name, names_column,
};
pub(crate) use dictionary::{DictionaryLink, DictionaryResolver};
pub(crate) use dictionary_rows::DictionaryRows;
pub(crate) use index_clause::{gone, has_index, index_in};
pub(crate) use opener::TableOpener;
pub(crate) use part_log::PartLogEntry;
#[cfg(test)]
pub(crate) use planning::plan_alone;
pub(crate) use registry::ENGINES;
pub(crate) use succinct::StepWatch;
pub(crate) use table::{ColumnChange, InsertSettings, InsertSink, Table};
pub(crate) use type_converter::CastConverter;
pub(crate) use virtual_table::{FindsRows, VirtualTable, virtual_definition};
