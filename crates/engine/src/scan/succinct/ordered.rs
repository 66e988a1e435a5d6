//! Rows in the order of the key, or in its reverse, by one thread.

use std::sync::Arc;

use arrow::compute::SortOptions;
use basalt_base::Result;
use basalt_kv::{ByteRange, Direction};
use basalt_succinct::{Snapshot, TableSpec};

use super::plan::RowsPlan;
use super::rows::Rows;
use crate::scan::source::{BlockIterator, BlockSource};

/// The rows of a range, in key order or its reverse.
pub(super) struct OrderedSource {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) plan: Arc<RowsPlan>,
    pub(super) range: ByteRange,
    pub(super) direction: Direction,
    pub(super) limit: Option<usize>,
}

/// The direction of the key in which rows are in this order of columns of the table; `None` if there is none.
pub(super) fn direction(spec: &TableSpec, order: &[(usize, SortOptions)]) -> Option<Direction> {
    let is_descending = order.first().is_some_and(|(_, options)| options.descending);
    let fits = |(&own, (column, options)): (&usize, &(usize, SortOptions))| {
        // NULL is the last value of a key.
        let nulls_fit = options.nulls_first == is_descending || !spec.rows.columns[*column].ty.accepts_null();
        own == *column && options.descending == is_descending && nulls_fit
    };
    let is_order = order.len() <= spec.rows.key.len() && spec.rows.key.iter().zip(order).all(fits);
    is_order.then_some(if is_descending { Direction::Descending } else { Direction::Ascending })
}

impl BlockSource for OrderedSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let plan = Arc::clone(&self.plan);
        let needed = plan.needed();
        let batches = self.snapshot.ordered(&self.range, &needed, self.direction)?;
        let mut left = self.limit;
        let blocks = batches.map(move |batch| {
            plan.query.check()?;
            let rows = Rows::of_batch(&batch?, &needed).filtered(&plan.filter)?;
            let block = rows.finish(&plan.output, &plan.schema)?;
            Ok(match &mut left {
                Some(left) => {
                    let taken = block.num_rows().min(*left);
                    *left -= taken;
                    (block.slice(0, taken), *left == 0)
                }
                None => (block, false),
            })
        });
        let mut is_done = false;
        Ok(Box::new(blocks.map_while(move |next| {
            if is_done {
                return None;
            }
            Some(next.map(|(block, is_last)| {
                is_done = is_last;
                block
            }))
        })))
    }

    fn with_limit(&self, limit: usize) -> Result<Option<Arc<dyn BlockSource>>> {
        let limit = Some(self.limit.map_or(limit, |own| own.min(limit)));
        let (snapshot, plan, range) =
            (Arc::clone(&self.snapshot), Arc::clone(&self.plan), self.range.clone());
        Ok(Some(Arc::new(OrderedSource { snapshot, plan, range, direction: self.direction, limit })))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.snapshot.rows_at_most())
    }

    fn describe(&self) -> String {
        let reverse = if self.direction == Direction::Descending { "reverse " } else { "" };
        format!("in {reverse}key order{}", self.plan.describe(false))
    }
}
