//! Skips NULL arguments: any aggregation over `Nullable` columns.
//!
//! Rows with a NULL argument are removed before the inner aggregation sees them. Under
//! [`NullRule::SkipOrNull`](super::NullRule) a group without any other row is NULL. The state is then the state of
//! the inner aggregation and a Boolean array: whether the group has a row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use basalt_base::{Error, Result};

use super::{EmitTo, GroupedRows, States};

/// The inner aggregation, and which groups have a value.
pub(super) struct NullableStates {
    inner: Box<dyn States>,
    /// `None` if an empty group is not NULL.
    seen: Option<Vec<bool>>,
}

impl NullableStates {
    /// With `null_if_empty`, a group without a row that counts is NULL.
    pub(super) fn new(inner: Box<dyn States>, null_if_empty: bool) -> NullableStates {
        NullableStates { inner, seen: null_if_empty.then(Vec::new) }
    }

    fn mark_seen(&mut self, rows: &GroupedRows<'_>) {
        let Some(seen) = &mut self.seen else { return };
        if rows.has_only_group() {
            seen[0] |= rows.kept() > 0;
        } else {
            rows.for_each(|_, group| seen[group] = true);
        }
    }

    fn take_seen(&mut self, emit: EmitTo) -> Option<BooleanBuffer> {
        self.seen.as_mut().map(|seen| BooleanBuffer::from(emit.take_needed(seen)))
    }
}

/// The rows without NULL arguments among those that counted before.
fn rows_that_count(args: &[ArrayRef], rows: &GroupedRows<'_>) -> Option<BooleanBuffer> {
    let mut keeps: Option<BooleanBuffer> = rows.keeps().cloned();
    for nulls in args.iter().filter_map(|arg| arg.logical_nulls()) {
        keeps = Some(match keeps {
            None => nulls.into_inner(),
            Some(keeps) => &keeps & nulls.inner(),
        });
    }
    keeps
}

impl States for NullableStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(NullableStates::new(self.inner.fresh(), self.seen.is_some()))
    }

    fn grow(&mut self, groups: usize) {
        self.inner.grow(groups);
        if let Some(seen) = &mut self.seen {
            seen.resize(groups, false);
        }
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let keeps = rows_that_count(args, rows);
        let rows = rows.with_keeps(keeps.as_ref());
        self.mark_seen(&rows);
        self.inner.update(args, &rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        if self.seen.is_none() {
            return self.inner.merge(states, rows);
        }
        let Some((seen, inner)) = states.split_last() else {
            return Err(Error::logical("the state of a nullable aggregate lacks its last column"));
        };
        self.mark_seen(&rows.with_keeps(Some(seen.as_boolean().values())));
        self.inner.merge(inner, rows)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let seen = self.take_seen(emit);
        let result = self.inner.evaluate(emit)?;
        let Some(seen) = seen else { return Ok(result) };
        let nulls = NullBuffer::union(result.nulls(), Some(&NullBuffer::new(seen)));
        let masked = result.to_data().into_builder().nulls(nulls).build().map_err(Error::logical)?;
        Ok(make_array(masked))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let seen = self.take_seen(emit);
        let mut states = self.inner.state(emit)?;
        if let Some(seen) = seen {
            states.push(Arc::new(BooleanArray::new(seen, None)));
        }
        Ok(states)
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.inner.bytes() + self.seen.as_ref().map_or(0, Vec::capacity)
    }
}
