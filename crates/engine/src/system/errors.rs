//! `system.errors`: the errors of statements since the data directory was opened, by code.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, code Int32, value UInt64, last_error_time DateTime, last_error_message String, \
         last_error_format_string String, last_error_trace Array(UInt64), remote UInt8, query_id String",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let errors = query.instance.counters().errors();
    block::BlockBuilder::default()
        .strings(errors.iter().map(|error| error.code.name()))
        .i32s(errors.iter().map(|error| i32::from(error.code.number())))
        .u64s(errors.iter().map(|error| error.count))
        .u32s(errors.iter().map(|error| (error.last_us / 1_000_000) as u32))
        .strings(errors.iter().map(|error| &error.last_message))
        .skip(3)
        .strings(errors.iter().map(|error| &error.last_query_id))
        .finish(&columns())
}
