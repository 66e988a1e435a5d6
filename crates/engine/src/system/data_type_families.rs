//! `system.data_type_families`: the names of types.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, case_insensitive UInt8, alias_to String, description String, syntax String, \
         examples String, introduced_in String, related Array(String)",
    )
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let names: Vec<_> = basalt_sql::type_names().collect();
    block::BlockBuilder::default()
        .strings(names.iter().map(|name| name.name))
        .u8s(names.iter().map(|name| u8::from(name.in_any_case)))
        .strings(names.iter().map(|name| name.alias_to))
        .finish(&columns())
}
