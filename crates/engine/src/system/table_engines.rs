//! `system.table_engines`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use crate::execution::Execution;
use crate::tables::ENGINES;

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, supports_settings UInt8, supports_skipping_indices UInt8, supports_projections UInt8, \
         supports_sort_order UInt8, supports_ttl UInt8, supports_replication UInt8, supports_deduplication UInt8, \
         supports_parallel_insert UInt8, description String, syntax String, examples String, introduced_in String, \
         related Array(String)",
    )
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    let of_parts = |name: &&str| u8::from(name.ends_with("MergeTree"));
    let by_key = |name: &&str| u8::from(matches!(*name, "EmbeddedRocksDB" | "Succinct"));
    let flags = |flag: fn(&&str) -> u8| ENGINES.iter().map(flag);
    block::BlockBuilder::default()
        .strings(ENGINES)
        .u8s(ENGINES.iter().map(|name| of_parts(name) | u8::from(*name == "Succinct")))
        .u8s(flags(of_parts))
        .skip(1)
        .u8s(flags(of_parts))
        .u8s(ENGINES.iter().map(|name| of_parts(name) | by_key(name)))
        .skip(1)
        .u8s(flags(of_parts))
        .u8s(ENGINES.iter().map(|name| of_parts(name) | by_key(name)))
        .finish(&columns())
}
