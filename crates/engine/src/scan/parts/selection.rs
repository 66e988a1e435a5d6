//! The granules of a snapshot that pruning leaves, and how they become tasks.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_parts::{KeyCondition, KeyRanges, MarkRanges, Part, PartSpec, TableParts};

use super::misses::QueryMisses;
use super::plan::{ScanPlan, place};
use super::tasks::Task;
use super::{CHUNK_MARKS, TASK_BYTES};
use crate::scan::{ColumnCondition, ScanRequest, ValueSet};

/// What is to be read.
pub(super) struct Selection {
    /// Of the notes on missed granules, before the parts were looked at.
    pub(super) epoch: u64,
    pub(super) spec: Arc<PartSpec>,
    /// Every part, also those without a granule left.
    pub(super) parts: Vec<(Arc<Part>, MarkRanges)>,
}

impl Selection {
    pub(super) fn new(parts: &TableParts, epoch: u64, request: &ScanRequest) -> Result<Selection> {
        let snapshot = parts.snapshot();
        // Positions are those of the query's plan; an ALTER may have come between.
        let spec = snapshot.first().map_or_else(|| parts.spec(), |part| Arc::new(part.spec().clone()));
        let conditions = conditions_of(request, &spec)?;
        let parts = snapshot
            .iter()
            .map(|part| Ok((Arc::clone(part), part.prune(&conditions)?)))
            .collect::<Result<_>>()?;
        Ok(Selection { epoch, spec, parts })
    }

    /// The selection without granules that earlier queries found to have no row for this one; and how
    /// many parts have notes of them.
    pub(super) fn without(&self, misses: &QueryMisses) -> (Selection, u64) {
        let mut noted = 0;
        let parts = self.parts.iter().map(|(part, marks)| {
            let (left, found) = misses.left(part, marks.clone());
            noted += u64::from(found);
            (Arc::clone(part), left)
        });
        let parts = parts.collect();
        (Selection { epoch: self.epoch, spec: Arc::clone(&self.spec), parts }, noted)
    }

    /// Granules that are read, of how many.
    pub(super) fn marks(&self) -> (usize, usize) {
        let (selected, total) = (|marks: &MarkRanges| marks.selected(), |marks: &MarkRanges| marks.total);
        let sum = |count: fn(&MarkRanges) -> usize| self.parts.iter().map(|(_, marks)| count(marks)).sum();
        (sum(selected), sum(total))
    }

    /// Parts of which something is read.
    pub(super) fn part_count(&self) -> usize {
        self.parts.iter().filter(|(_, marks)| marks.selected() > 0).count()
    }

    pub(super) fn row_count(&self) -> u64 {
        let rows = |(part, marks): &(Arc<Part>, MarkRanges)| -> u64 {
            let spans = marks.ranges.iter().map(|range| part.mark_rows(range));
            spans.map(|span| span.end - span.start).sum()
        };
        self.parts.iter().map(rows).sum()
    }

    /// Whether rows of the files are deleted: what the metadata says of values is not exact then.
    pub(super) fn has_deleted_rows(&self) -> bool {
        self.parts.iter().any(|(part, _)| part.deleted_count() > 0)
    }

    /// Rows that a query without conditions sees; `None` if that takes reading.
    pub(super) fn live_row_count(&self) -> Option<u64> {
        let rows = |(part, marks): &(Arc<Part>, MarkRanges)| {
            let is_whole = marks.selected() == marks.total;
            let spans = marks.ranges.iter().map(|range| part.mark_rows(range));
            match part.deleted_count() {
                0 => Some(spans.map(|span| span.end - span.start).sum()),
                _ => is_whole.then(|| part.live_row_count()),
            }
        };
        self.parts.iter().map(rows).sum()
    }

    /// Bytes that a value of the column takes on average, decoded.
    pub(super) fn value_bytes(&self, column: usize) -> f64 {
        let rows: u64 = self.parts.iter().map(|(part, _)| part.row_count()).sum();
        let bytes: u64 = self.parts.iter().map(|(part, _)| part.column_bytes(column)).sum();
        bytes as f64 / rows.max(1) as f64
    }

    /// Pieces that cost about [`TASK_BYTES`] each. They end where blocks may end.
    pub(super) fn tasks(&self, plan: &ScanPlan) -> Vec<Task> {
        let mut tasks = Vec::new();
        for (index, (part, marks)) in self.parts.iter().enumerate() {
            let mark_bytes = plan.mark_bytes(part);
            let chunks = (TASK_BYTES / mark_bytes) as usize / CHUNK_MARKS;
            let task_marks = chunks.max(1) * CHUNK_MARKS;
            for range in &marks.ranges {
                let mut start = range.start;
                while start < range.end {
                    let end = ((start + task_marks) / CHUNK_MARKS * CHUNK_MARKS).min(range.end);
                    let bytes = mark_bytes * (end - start) as u64;
                    tasks.push(Task { part: Arc::clone(part), index, marks: start..end, bytes });
                    start = end;
                }
            }
        }
        tasks
    }
}

/// The request's conditions on columns of the parts.
pub(super) fn conditions_of(request: &ScanRequest, spec: &PartSpec) -> Result<Vec<KeyCondition>> {
    let conditions = request.conditions.iter();
    conditions.map(|condition| key_condition(condition, place(request, spec, condition.column)?)).collect()
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
