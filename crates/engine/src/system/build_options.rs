//! `system.build_options`: the version of Basalt and of its dialect.

use arrow::record_batch::RecordBatch;
use basalt_base::dialect::{DIALECT_REVISION, DIALECT_VERSION};
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::VERSION;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([("name", SqlType::String), ("value", SqlType::String)])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let rows = [
        ("VERSION_FULL", format!("Basalt {VERSION}")),
        ("VERSION_DESCRIBE", format!("v{VERSION}")),
        ("VERSION_INTEGER", DIALECT_REVISION.to_string()),
        ("VERSION_REVISION", DIALECT_REVISION.to_string()),
        ("BASALT_VERSION", VERSION.to_owned()),
        ("DIALECT_VERSION", DIALECT_VERSION.to_owned()),
        ("SYSTEM", std::env::consts::OS.to_owned()),
        ("SYSTEM_PROCESSOR", std::env::consts::ARCH.to_owned()),
    ];
    block::BlockBuilder::default()
        .strings(rows.iter().map(|(name, _)| name))
        .strings(rows.iter().map(|(_, value)| value))
        .finish(&columns())
}
