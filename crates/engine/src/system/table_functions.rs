//! `system.table_functions`: the functions that a FROM clause may name.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;
use crate::table_functions::NAMES;

pub(super) fn columns() -> Columns {
    block::declared("name String, description String, allow_readonly UInt8")
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default()
        .strings(NAMES)
        .strings(NAMES.iter().map(|_| ""))
        .u8s(NAMES.iter().map(|_| 1))
        .finish(&columns())
}
