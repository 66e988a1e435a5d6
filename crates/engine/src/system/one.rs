//! `system.one`: one row; what a SELECT without FROM reads.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([("dummy", SqlType::UInt8)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default().u8s([0]).finish(&columns())
}
