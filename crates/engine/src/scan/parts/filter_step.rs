//! One condition of a filter, with the columns that it reads.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Schema, UInt32Type};
use basalt_base::Result;
use basalt_parts::{KeyRanges, Part, plain};
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};

use super::coded::CodedAnswers;
use super::counted::Counted;
use super::ranges::{Exactness, ranges_of};
use super::slots::Slot;
use crate::scan::conjunct::Conjunct;

/// One condition, with the slots of its columns.
pub(super) struct FilterStep {
    pub(super) conjunct: Conjunct,
    pub(super) slots: Vec<usize>,
    /// Its results for the values of dictionaries.
    pub(super) coded: Option<CodedAnswers>,
    /// A column of the parts, and the values for which the condition does not hold, if it is about a
    /// number alone.
    excluded: Option<(usize, KeyRanges)>,
    /// A column of the parts, and which of its values the condition holds for, if zones count them.
    pub(super) counted: Option<(usize, Counted)>,
    /// Whether its result for the same part may differ in the next query.
    pub(super) is_of_snapshot: bool,
}

impl FilterStep {
    pub(super) fn new(slots: Vec<usize>, conjunct: Conjunct) -> FilterStep {
        FilterStep {
            conjunct,
            slots,
            coded: Some(CodedAnswers::default()),
            excluded: None,
            counted: None,
            is_of_snapshot: false,
        }
    }

    /// A condition of a dynamic filter: it changes soon, so its results are not worth caching.
    pub(super) fn dynamic(slots: Vec<usize>, conjunct: Conjunct) -> FilterStep {
        FilterStep { coded: None, ..FilterStep::new(slots, conjunct) }
    }

    /// Finds out for which values the condition does not hold, and whether zones count those for which it does.
    pub(super) fn bounded(mut self, slots: &[Slot], stored: &Schema) -> Result<FilterStep> {
        self.is_of_snapshot = self.slots.iter().any(|slot| slots[*slot].is_of_snapshot());
        let [column] = self.conjunct.columns[..] else { return Ok(self) };
        let Some(place) = slots[self.slots[0]].stored() else { return Ok(self) };
        self.counted = Counted::of(self.conjunct.expr())?.map(|counted| (place, counted));
        let ty = stored.field(column).data_type();
        // NaN is in no range and breaks no zone.
        if ty.is_primitive() && !ty.is_floating() {
            let found = ranges_of(self.conjunct.expr(), Exactness::Exact)?;
            self.excluded = found.map(|(_, ranges)| (place, ranges.complement()));
        }
        Ok(self)
    }

    /// The rows for which the condition holds.
    pub(super) fn evaluate(&self, arrays: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        if let (Some(answers), [array]) = (&self.coded, arrays)
            && let Some(coded) = array.as_dictionary_opt::<UInt32Type>()
            && coded.null_count() == 0
            && !self.conjunct.is_fallible()
            && let Some(found) = answers.evaluate(&self.conjunct, coded)?
        {
            return Ok(found);
        }
        self.conjunct.evaluate(arrays.iter().map(plain).collect(), rows)
    }

    /// Whether zone maps may know how many rows meet the condition.
    pub(super) fn may_be_counted(&self) -> bool {
        self.excluded.is_some() || self.counted.is_some()
    }

    /// Whether the zone maps of `marks` show that every row meets the condition.
    pub(super) fn holds_for_all(&self, part: &Part, marks: &Range<usize>) -> Result<bool> {
        let Some((column, excluded)) = &self.excluded else { return Ok(false) };
        let Some(zones) = part.zones(*column)? else { return Ok(false) };
        let is_sure = |mark| zones.null_counts().value(mark) == 0 && !zones.may_match(mark, excluded);
        Ok(marks.clone().all(is_sure))
    }
}

impl fmt::Display for FilterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.conjunct.fmt(f)
    }
}

/// Whether an operator above makes the filter narrower while the query runs.
pub(super) fn is_dynamic(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}
