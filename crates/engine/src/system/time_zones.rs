//! `system.time_zones`: the names of the zones that DateTime and `session_timezone` take.

use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([("time_zone", SqlType::String)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block::BlockBuilder::default().strings(Zone::names()).finish(&columns())
}
