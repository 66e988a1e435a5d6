//! The granules of a snapshot that pruning leaves, and how they become tasks.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use basalt_base::Result;
use basalt_parts::{
    KeyCondition, KeyRanges, MarkRanges, Part, PartSpec, PartsVersion, Predicate, SkipIndex, Snapshot,
};
use datafusion::physical_expr::PhysicalExpr;

use super::condition_cache::CachedConditions;
use super::slots::place;
use super::{index_choice, part_columns};
use crate::scan::source::ScanRequest;
use crate::scan::{ColumnCondition, ValueSet};

/// The parts and granules to read.
#[derive(Clone)]
pub(super) struct Selection {
    /// The epoch of the condition cache, read before the parts were.
    pub(super) epoch: u64,
    pub(super) spec: Arc<PartSpec>,
    /// The conditions on the key, zones and bounds.
    pub(super) conditions: Arc<Vec<KeyCondition>>,
    /// The condition on the skip indexes.
    pub(super) predicate: Arc<Predicate>,
    /// The skip indexes that can use it.
    pub(super) indexes: Arc<Vec<SkipIndex>>,
    /// Every part of the table.
    pub(super) snapshot: Snapshot,
    /// The parts that conditions on virtual columns leave; `None` for all of them.
    pub(super) kept: Option<BooleanBuffer>,
    /// Every part, also those without a granule left.
    pub(super) parts: Vec<(Arc<Part>, MarkRanges)>,
}

impl Selection {
    /// The selection, and the filters of the request that it does not settle.
    pub(super) fn new(
        version: &PartsVersion,
        epoch: u64,
        request: &ScanRequest,
    ) -> Result<(Selection, Vec<Arc<dyn PhysicalExpr>>)> {
        // The columns of the query's plan: an ALTER may have changed them since.
        let PartsVersion { spec, parts: snapshot } = version.clone();
        let conditions = conditions_of(request, &spec)?;
        let indexes = index_choice::choose(request, &spec, &conditions)?;
        let (kept, filters) = match part_columns::decided(request, &snapshot, |_| true)? {
            Some(decided) => (Some(decided.kept), decided.others),
            None => (None, request.filters.clone()),
        };
        let left = |(at, part): (usize, &Arc<Part>)| {
            if kept.as_ref().is_some_and(|kept| !kept.value(at)) {
                return Ok((Arc::clone(part), MarkRanges::none(part.mark_count())));
            }
            let marks = part.prune(&conditions, &request.predicate)?;
            let marks = part.prune_by_indexes(&indexes, marks, &request.predicate)?;
            Ok((Arc::clone(part), marks))
        };
        let parts = snapshot.iter().enumerate().map(left).collect::<Result<_>>()?;
        let (conditions, predicate) = (Arc::new(conditions), Arc::new(request.predicate.clone()));
        let indexes = Arc::new(indexes);
        let selection = Selection { epoch, spec, conditions, predicate, indexes, snapshot, kept, parts };
        Ok((selection, filters))
    }

    /// The selection without granules that the condition cache knows to have no row for this query, and how many parts
    /// it has entries for.
    pub(super) fn without(&self, cached: &CachedConditions) -> (Selection, u64) {
        let mut noted = 0;
        let parts = self.parts.iter().map(|(part, marks)| {
            let (left, found) = cached.left(part, marks.clone());
            noted += u64::from(found);
            (Arc::clone(part), left)
        });
        (Selection { parts: parts.collect(), ..self.clone() }, noted)
    }

    /// Whether the conditions leave one value of the column at `column` of the parts.
    pub(super) fn is_fixed(&self, column: usize) -> bool {
        self.conditions.iter().any(|condition| condition.column == column && condition.ranges.is_point())
    }

    /// The parts that are read, at least in part.
    pub(super) fn selected_parts(&self) -> impl Iterator<Item = &Arc<Part>> {
        self.parts.iter().filter(|(_, marks)| marks.selected() > 0).map(|(part, _)| part)
    }

    /// Granules that are read, of how many.
    pub(super) fn marks(&self) -> (usize, usize) {
        let (selected, total) = (|marks: &MarkRanges| marks.selected(), |marks: &MarkRanges| marks.total);
        let sum = |count: fn(&MarkRanges) -> usize| self.parts.iter().map(|(_, marks)| count(marks)).sum();
        (sum(selected), sum(total))
    }

    /// The number of parts that are read, at least in part.
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

    /// Whether rows of the files are deleted: then the metadata about values are not exact.
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
