//! `system.functions`: every name that a call may use.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_functions::registry;

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("is_aggregate", SqlType::UInt8),
        ("case_insensitive", SqlType::UInt8),
        ("alias_to", SqlType::String),
    ])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let listed = registry::list();
    block::BlockBuilder::default()
        .strings(listed.iter().map(|function| function.name))
        .u8s(listed.iter().map(|function| u8::from(function.is_aggregate)))
        .u8s(listed.iter().map(|function| u8::from(function.case_insensitive)))
        .strings(listed.iter().map(|function| function.alias_to))
        .finish(&columns())
}
