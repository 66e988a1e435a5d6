//! The parts of a MergeTree table as a source: what is left after pruning, in tasks that threads share.

use std::collections::VecDeque;
use std::ops::{Bound, Range};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result};
use basalt_parts::{
    BlockCache, KeyCondition, KeyRanges, MarkRanges, Part, PartScan, ReadMetrics, TableParts,
};
use parking_lot::Mutex;

use super::{BlockIterator, BlockSource, ColumnCondition, ScanRequest, ValueSet};
use crate::query::ProfileEvents;

/// Granules that a thread takes at a time: enough that opening the files does not count.
const MARKS_A_TASK: usize = 64;

/// Granules of a snapshot, taken by the query's threads task by task.
pub(crate) struct PartsSource {
    tasks: Arc<Mutex<VecDeque<Task>>>,
    partitions: usize,
    columns: Vec<usize>,
    rows_max: usize,
    cache: Arc<BlockCache>,
    metrics: Arc<ReadMetrics>,
    rows: u64,
    description: String,
}

struct Task {
    part: Arc<Part>,
    marks: Range<usize>,
}

impl PartsSource {
    pub(crate) fn new(
        parts: &TableParts,
        cache: &Arc<BlockCache>,
        request: &ScanRequest,
    ) -> Result<PartsSource> {
        let snapshot = parts.snapshot();
        // Positions are those of the query's plan; an ALTER may have come between.
        let spec = snapshot.first().map_or_else(|| parts.spec(), |part| Arc::new(part.spec().clone()));
        let place = |at: usize| {
            let name = &request.stored[at].name;
            spec.columns.position(name).ok_or_else(|| altered(name))
        };
        let columns = request.columns.iter().map(|&at| place(at)).collect::<Result<Vec<_>>>()?;
        let conditions = request
            .conditions
            .iter()
            .map(|condition| key_condition(condition, place(condition.column)?))
            .collect::<Result<Vec<_>>>()?;
        let (mut tasks, mut rows) = (VecDeque::new(), 0);
        let (mut marks_selected, mut marks_total, mut parts_selected) = (0, 0, 0);
        for part in snapshot.iter() {
            let marks = part.prune(&conditions)?;
            marks_selected += marks.selected();
            marks_total += marks.total;
            parts_selected += usize::from(marks.selected() > 0);
            for range in marks.ranges {
                let span = part.mark_rows(&range);
                rows += span.end - span.start;
                for start in range.clone().step_by(MARKS_A_TASK) {
                    let marks = start..range.end.min(start + MARKS_A_TASK);
                    tasks.push_back(Task { part: Arc::clone(part), marks });
                }
            }
        }
        let events = &request.query.events;
        ProfileEvents::add(&events.selected_marks, marks_selected as u64);
        ProfileEvents::add(&events.selected_parts, parts_selected as u64);
        Ok(PartsSource {
            partitions: request.query.threads().clamp(1, tasks.len().max(1)),
            tasks: Arc::new(Mutex::new(tasks)),
            columns,
            rows_max: request.query.settings.max_block_size.clamp(1, 1 << 20) as usize,
            cache: Arc::clone(cache),
            metrics: Arc::clone(&events.reads),
            rows,
            description: format!(
                "parts: {parts_selected}/{}, granules: {marks_selected}/{marks_total}",
                snapshot.len()
            ),
        })
    }
}

fn altered(column: &str) -> Error {
    Error::new(
        ErrorCode::UnknownIdentifier,
        format!("column `{column}` was dropped while the query began; run it again"),
    )
}

/// The condition on the column at `column` of the parts.
fn key_condition(condition: &ColumnCondition, column: usize) -> Result<KeyCondition> {
    let bound = |value: &Option<(ArrayRef, bool)>| match value {
        None => Bound::Unbounded,
        Some((value, true)) => Bound::Included(Arc::clone(value)),
        Some((value, false)) => Bound::Excluded(Arc::clone(value)),
    };
    let ranges = match &condition.values {
        ValueSet::Points(points) => KeyRanges::points(points)?,
        ValueSet::Range { low, high } => KeyRanges::between(bound(low).as_ref(), bound(high).as_ref())?,
    };
    Ok(KeyCondition { column, ranges })
}

impl BlockSource for PartsSource {
    fn partition_count(&self) -> usize {
        self.partitions
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let (tasks, columns) = (Arc::clone(&self.tasks), self.columns.clone());
        let (rows_max, cache) = (self.rows_max, Arc::clone(&self.cache));
        let metrics = Arc::clone(&self.metrics);
        let next = move || {
            let Task { part, marks } = tasks.lock().pop_front()?;
            let total = part.mark_count();
            let ranges = MarkRanges { ranges: vec![marks], total };
            let scan = PartScan::new(part, columns.clone(), ranges, rows_max, Arc::clone(&metrics));
            Some(scan.with_cache(&cache))
        };
        let blocks = std::iter::from_fn(next).flatten();
        Ok(Box::new(blocks.map(|block| block.map_err(Into::into))))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
