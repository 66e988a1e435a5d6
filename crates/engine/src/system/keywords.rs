//! `system.keywords`: the words of the grammar that clients complete.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::keywords::KEYWORDS;

pub(super) fn columns() -> Columns {
    block::columns([("keyword", SqlType::String)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default().strings(KEYWORDS).finish(&columns())
}
