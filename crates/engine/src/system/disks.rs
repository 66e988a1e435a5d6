//! `system.disks`: one row, the disk of the data directory.

use arrow::record_batch::RecordBatch;
use basalt_base::fs::disk_space;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, path String, free_space UInt64, total_space UInt64, unreserved_space UInt64, \
         keep_free_space UInt64, type String, object_storage_type String, metadata_type String, \
         is_encrypted UInt8, is_read_only UInt8, is_write_once UInt8, is_remote UInt8, is_broken UInt8, \
         cache_path String",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let dir = query.instance.data_dir();
    let space = disk_space(dir)?;
    block::BlockBuilder::default()
        .strings(["default"])
        .strings([format!("{}/", dir.display())])
        .u64s([space.free])
        .u64s([space.total])
        .u64s([space.free])
        .skip(1)
        .strings(["Local"])
        .strings(["None"])
        .strings(["None"])
        .finish(&columns())
}
