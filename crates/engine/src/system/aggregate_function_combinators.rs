//! `system.aggregate_function_combinators`: the suffixes of aggregate functions.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_planner::COMBINATORS;

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, is_internal UInt8, description String, syntax String, examples String, \
         introduced_in String, related Array(String)",
    )
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default().strings(COMBINATORS).finish(&columns())
}
