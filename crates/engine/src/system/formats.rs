//! `system.formats`: what can be read and written.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([("name", SqlType::String), ("is_input", SqlType::UInt8), ("is_output", SqlType::UInt8)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let formats: Vec<_> = basalt_formats::formats().collect();
    block::BlockBuilder::default()
        .strings(formats.iter().map(|format| format.name))
        .u8s(formats.iter().map(|format| u8::from(format.can_read)))
        .u8s(formats.iter().map(|format| u8::from(format.can_write)))
        .finish(&columns())
}
