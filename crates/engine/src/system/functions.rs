//! `system.functions`: every name that a call may use.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_functions::registry;

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, is_aggregate UInt8, case_insensitive UInt8, alias_to String, create_query String, \
         origin Enum8('System' = 0, 'SQLUserDefined' = 1, 'ExecutableUserDefined' = 2, 'WasmUserDefined' = 3), \
         description String, syntax String, arguments String, parameters String, returned_value String, \
         examples String, introduced_in String, categories String, deterministic Nullable(UInt8), \
         higher_order Nullable(UInt8)",
    )
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
