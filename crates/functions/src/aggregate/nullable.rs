//! NULL arguments skipped: any accumulator over `Nullable` columns.
//!
//! Rows in which an argument is NULL are filtered out before the inner accumulator sees them; a
//! group that saw no other row has the result NULL. The state is the inner one plus one Boolean
//! array: whether the group saw a row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

/// The inner accumulator, and which groups have a value.
pub(super) struct NullableGroups {
    inner: Box<dyn GroupsAccumulator>,
    seen: Vec<bool>,
}

impl NullableGroups {
    pub(super) fn new(inner: Box<dyn GroupsAccumulator>) -> NullableGroups {
        NullableGroups { inner, seen: Vec::new() }
    }

    fn mark_seen(&mut self, groups: &[usize], keeps: Option<&BooleanArray>, group_count: usize) {
        self.seen.resize(group_count, false);
        match keeps {
            None => groups.iter().for_each(|&group| self.seen[group] = true),
            Some(keeps) => {
                for (&group, keep) in groups.iter().zip(keeps.values().iter()) {
                    self.seen[group] |= keep;
                }
            }
        }
    }

    fn take_seen(&mut self, emit_to: EmitTo) -> BooleanBuffer {
        BooleanBuffer::from(emit_to.take_needed(&mut self.seen))
    }
}

/// The rows that count: no argument is NULL and the filter, if any, is true. `None`: all of them.
fn rows_that_count(values: &[ArrayRef], filter: Option<&BooleanArray>) -> Option<BooleanArray> {
    let mut keeps: Option<NullBuffer> = None;
    for value in values {
        keeps = NullBuffer::union(keeps.as_ref(), value.logical_nulls().as_ref());
    }
    if let Some(filter) = filter {
        let truth = match filter.nulls() {
            None => filter.values().clone(),
            Some(nulls) => filter.values() & nulls.inner(),
        };
        keeps = NullBuffer::union(keeps.as_ref(), Some(&NullBuffer::new(truth)));
    }
    keeps.map(|keeps| BooleanArray::new(keeps.into_inner(), None))
}

/// The arrays without their null masks: what lies under a mask is never read, because the filter
/// excludes it.
fn without_nulls(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values
        .iter()
        .map(|value| {
            if value.nulls().is_none() {
                return Ok(ArrayRef::clone(value));
            }
            Ok(make_array(value.to_data().into_builder().nulls(None).build()?))
        })
        .collect()
}

impl GroupsAccumulator for NullableGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let keeps = rows_that_count(values, opt_filter);
        self.mark_seen(group_indices, keeps.as_ref(), total_num_groups);
        self.inner.update_batch(&without_nulls(values)?, group_indices, keeps.as_ref(), total_num_groups)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let Some((seen, inner)) = values.split_last() else {
            return Err(DataFusionError::Internal("a nullable state has a last column".into()));
        };
        self.mark_seen(group_indices, Some(seen.as_boolean()), total_num_groups);
        self.inner.merge_batch(inner, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let nulls = NullBuffer::new(self.take_seen(emit_to));
        let result = self.inner.evaluate(emit_to)?;
        let nulls = NullBuffer::union(result.nulls(), Some(&nulls));
        Ok(make_array(result.to_data().into_builder().nulls(nulls).build()?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let seen = self.take_seen(emit_to);
        let mut states = self.inner.state(emit_to)?;
        states.push(Arc::new(BooleanArray::new(seen, None)));
        Ok(states)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |value| value.len());
        let keeps = rows_that_count(values, opt_filter);
        let mut states = self.inner.convert_to_state(&without_nulls(values)?, keeps.as_ref())?;
        let seen = keeps.unwrap_or_else(|| BooleanArray::new(BooleanBuffer::new_set(rows), None));
        states.push(Arc::new(seen));
        Ok(states)
    }

    fn size(&self) -> usize {
        self.inner.size() + self.seen.capacity()
    }
}
