//! Filters of operators above the scan that become narrower while the query runs: the worst row that a LIMIT still
//! keeps, the keys of a join.
//!
//! A thread takes the newest form before each chunk. Conditions on single columns are compared with the zone maps of
//! each granule first; the granules that are left are filtered row by row.

use std::ops::Range;
use std::sync::Arc;

use basalt_base::Result;
use basalt_exec::error::from_datafusion;
use basalt_parts::{KeyRanges, Part};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};

use super::filter_step::FilterStep;
use super::plan::ScanPlan;
use super::ranges::{Exactness, ranges_of};
use crate::scan::conjunct::Conjunct;

/// A dynamic filter as one thread last saw it.
pub(super) struct DynamicFilter {
    filter: Arc<dyn PhysicalExpr>,
    generation: u64,
    /// Conditions on numbers, which run before those of the query.
    pub(super) first: Vec<FilterStep>,
    /// Conditions on strings, which run after them.
    pub(super) last: Vec<FilterStep>,
    /// Values that a row must have, by position in the parts.
    ranges: Vec<(usize, KeyRanges)>,
}

impl DynamicFilter {
    pub(super) fn new(filter: &Arc<dyn PhysicalExpr>) -> DynamicFilter {
        // No filter has this generation, so the first refresh reads it.
        DynamicFilter {
            filter: Arc::clone(filter),
            generation: 0,
            first: Vec::new(),
            last: Vec::new(),
            ranges: Vec::new(),
        }
    }

    pub(super) fn refresh(&mut self, plan: &ScanPlan) -> Result<()> {
        let generation = snapshot_generation(&self.filter);
        if generation == self.generation {
            return Ok(());
        }
        self.generation = generation;
        self.first.clear();
        self.last.clear();
        self.ranges.clear();
        let now = snapshot_physical_expr(Arc::clone(&self.filter)).map_err(from_datafusion)?;
        for expr in split_conjunction(&now) {
            let conjunct = Conjunct::new(expr, &plan.stored)?;
            let slots: Option<Vec<usize>> =
                conjunct.columns.iter().map(|&column| plan.slot_of[column]).collect();
            // Without a column it is `true`: nothing is known yet.
            let Some(slots) = slots.filter(|slots| !slots.is_empty()) else { continue };
            let is_cheap =
                conjunct.columns.iter().all(|&at| plan.stored.field(at).data_type().is_primitive());
            let steps = if is_cheap { &mut self.first } else { &mut self.last };
            steps.push(FilterStep::dynamic(slots, conjunct));
            if let Some((column, ranges)) = ranges_of(expr, Exactness::Implied)?
                && let Some(place) = plan.slot_of[column].and_then(|slot| plan.slots[slot].stored())
            {
                self.ranges.push((place, ranges));
            }
        }
        Ok(())
    }

    /// Whether a granule may have a row that passes, by its zone maps.
    fn may_match(&self, part: &Part, mark: usize) -> Result<bool> {
        for (column, ranges) in &self.ranges {
            if let Some(zones) = part.zones(*column)?
                && !zones.may_match(mark, ranges)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The granules of `marks` that may have a row that passes all of `filters`.
pub(super) fn matching_marks(
    filters: &[DynamicFilter],
    part: &Part,
    marks: Range<usize>,
) -> Result<Vec<Range<usize>>> {
    if filters.iter().all(|filter| filter.ranges.is_empty()) {
        return Ok(vec![marks]);
    }
    let mut left: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        let mut may_match = true;
        for filter in filters {
            may_match = may_match && filter.may_match(part, mark)?;
        }
        match left.last_mut() {
            _ if !may_match => {}
            Some(last) if last.end == mark => last.end = mark + 1,
            _ => left.push(mark..mark + 1),
        }
    }
    Ok(left)
}
