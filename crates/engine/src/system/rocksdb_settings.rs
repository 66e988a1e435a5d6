//! `system.rocksdb_settings`: what a SETTINGS clause of an EmbeddedRocksDB table takes, and the defaults.

use arrow::record_batch::RecordBatch;
use basalt_base::Result;

use super::merge_tree_settings::block_of;
use crate::execution::Execution;
use crate::settings::EmbeddedRocksDbSettings;

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block_of(&EmbeddedRocksDbSettings::default().own_lines())
}
