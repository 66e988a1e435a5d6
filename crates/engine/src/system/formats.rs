//! `system.formats`: what can be read and written.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, is_input UInt8, is_output UInt8, supports_parallel_parsing UInt8, \
         supports_parallel_formatting UInt8, is_tty_friendly UInt8, content_type String, \
         supports_random_access UInt8, has_schema_inference UInt8, has_external_schema UInt8, \
         prefers_large_blocks UInt8, supports_append UInt8, supports_subsets_of_columns UInt8, description String, \
         examples String, introduced_in String, related Array(String)",
    )
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let formats: Vec<_> = basalt_formats::formats().collect();
    block::BlockBuilder::default()
        .strings(formats.iter().map(|format| format.name))
        .u8s(formats.iter().map(|format| u8::from(format.can_read)))
        .u8s(formats.iter().map(|format| u8::from(format.can_write)))
        .finish(&columns())
}
