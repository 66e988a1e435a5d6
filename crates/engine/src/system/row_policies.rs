//! `system.row_policies`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_sql::ast::ALL_TABLES;

use super::access::{apply_to, entity_uuid, storage};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, short_name String, database String, table String, id UUID, storage String, \
         select_filter Nullable(String), is_restrictive UInt8, apply_to_all UInt8, apply_to_list Array(String), \
         apply_to_except Array(String)",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let keys = || entities.policies.keys();
    let policies = || entities.policies.values();
    let mut block = BlockBuilder::default();
    block
        .strings(keys().map(ToString::to_string))
        .strings(keys().map(|key| &key.name))
        .strings(keys().map(|key| &key.database))
        .strings(keys().map(|key| if key.table == ALL_TABLES { "" } else { key.table.as_str() }))
        .uuids(keys().map(|key| entity_uuid("row policy", &key.to_string())))
        .strings(keys().map(|_| storage(false)))
        .maybe_strings(policies().map(|policy| Some(policy.filter.as_ref()?.as_ref()?.to_string())))
        .u8s(policies().map(|policy| u8::from(policy.restrictive == Some(true))));
    apply_to(&mut block, policies().map(|policy| policy.to.as_ref()));
    block.finish(&columns())
}
