//! Rows by key: blocks of keys are looked up, and their rows filtered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::Result;
use basalt_succinct::Snapshot;

use super::plan::RowsPlan;
use super::rows::Rows;
use crate::context::ProfileEvents;
use crate::scan::source::{BlockIterator, BlockSource};

/// Keys of one look-up, and about the bytes of the rows that are found.
const KEYS_A_BLOCK: u64 = 65_536;
const BYTES_A_BLOCK: u64 = 64 << 20;

/// The rows of some keys.
pub(super) struct LookupSource {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) plan: Arc<RowsPlan>,
    /// One array for each key column.
    pub(super) keys: Vec<ArrayRef>,
}

impl BlockSource for LookupSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let (snapshot, plan, keys) = (Arc::clone(&self.snapshot), Arc::clone(&self.plan), self.keys.clone());
        let needed = plan.needed();
        let block = (BYTES_A_BLOCK / snapshot.row_bytes(&needed).max(1)).clamp(1, KEYS_A_BLOCK) as usize;
        let starts = (0..keys[0].len()).step_by(block);
        Ok(Box::new(starts.map(move |start| {
            plan.query.check()?;
            let count = block.min(keys[0].len() - start);
            let asked: Vec<ArrayRef> = keys.iter().map(|key| key.slice(start, count)).collect();
            ProfileEvents::add(&plan.query.events.key_lookups, count as u64);
            let found = snapshot.get(&asked, &needed, plan.query.threads())?.rows;
            Rows::of_batch(&found, &needed).filtered(&plan.filter)?.finish(&plan.output, &plan.schema)
        })))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.keys[0].len() as u64)
    }

    fn describe(&self) -> String {
        format!("{} keys looked up", self.keys[0].len())
    }
}
