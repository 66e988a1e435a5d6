//! `system.table_engines`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::tables::ENGINES;

pub(super) fn columns() -> Columns {
    block::columns([("name", SqlType::String)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default().strings(ENGINES).finish(&columns())
}
