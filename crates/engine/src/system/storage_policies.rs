//! `system.storage_policies`: one row, the only policy.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "policy_name String, volume_name String, volume_priority UInt64, disks Array(String), \
         volume_type Enum8('JBOD' = 0, 'SINGLE_DISK' = 1, 'UNKNOWN' = 2), max_data_part_size UInt64, \
         move_factor Float32, prefer_not_to_merge UInt8, perform_ttl_move_on_insert UInt8, \
         load_balancing Enum8('ROUND_ROBIN' = 0, 'LEAST_USED' = 1)",
    )
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default()
        .strings(["default"])
        .strings(["default"])
        .u64s([1])
        .string_lists([vec!["default"]])
        .finish(&columns())
}
