//! Many groups: [`States`] as DataFusion's `GroupsAccumulator`.

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use basalt_base::Error;
use basalt_base::query::checkpoint;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::{GroupedRows, States};

/// The state of a query with GROUP BY.
pub(super) struct Groups {
    states: Box<dyn States>,
}

impl Groups {
    pub(super) fn new(states: Box<dyn States>) -> Groups {
        Groups { states }
    }
}

/// Wraps our error in DataFusion's; the engine unwraps it.
pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The rows where a filter is true, and not NULL.
fn truth(filter: Option<&BooleanArray>) -> Option<BooleanBuffer> {
    filter.map(|filter| match filter.nulls() {
        None => filter.values().clone(),
        Some(nulls) => filter.values() & nulls.inner(),
    })
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        checkpoint().map_err(external)?;
        self.states.grow(total_num_groups);
        let keeps = truth(opt_filter);
        self.states.update(values, &GroupedRows::of_groups(group_indices, keeps.as_ref())).map_err(external)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        checkpoint().map_err(external)?;
        self.states.grow(total_num_groups);
        self.states.merge(values, &GroupedRows::of_groups(group_indices, None)).map_err(external)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.states.evaluate(emit_to).map_err(external)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.states.state(emit_to).map_err(external)
    }

    /// Each row as its own group.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |value| value.len());
        let each: Vec<usize> = (0..rows).collect();
        let keeps = truth(opt_filter);
        let mut states = self.states.fresh();
        states.grow(rows);
        states.update(values, &GroupedRows::of_groups(&each, keeps.as_ref())).map_err(external)?;
        states.state(EmitTo::All).map_err(external)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.states.bytes()
    }
}
