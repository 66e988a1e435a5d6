//! Caches that the queries of a table share.

use std::sync::Arc;

use basalt_parts::BlockCache;

use super::condition_cache::ConditionCache;

/// The caches of one table.
#[derive(Clone, Debug)]
pub(crate) struct TableCaches {
    /// Decoded blocks, of all tables.
    pub(crate) blocks: Arc<BlockCache>,
    /// Granules of this table without a row for a condition.
    pub(crate) conditions: Arc<ConditionCache>,
}
