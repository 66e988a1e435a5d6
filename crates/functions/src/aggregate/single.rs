//! A single group: [`States`] as DataFusion's `Accumulator`.

use arrow::array::{Array, ArrayRef};
use basalt_base::query::check_memory;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo};

use super::groups::external;
use super::{GroupedRows, States};

/// The state of a query without GROUP BY.
pub(super) struct SingleGroup {
    states: Box<dyn States>,
}

impl SingleGroup {
    /// The group exists from the start, so that a query over no rows has one result.
    pub(super) fn new(mut states: Box<dyn States>) -> SingleGroup {
        states.grow(1);
        SingleGroup { states }
    }
}

impl std::fmt::Debug for SingleGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SingleGroup")
    }
}

impl Accumulator for SingleGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        check_memory().map_err(external)?;
        let count = values.first().map_or(0, |array| array.len());
        self.states.update(values, &GroupedRows::of_only_group(count, None)).map_err(external)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        check_memory().map_err(external)?;
        let count = states.first().map_or(0, |array| array.len());
        self.states.merge(states, &GroupedRows::of_only_group(count, None)).map_err(external)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.states.evaluate(EmitTo::All).map_err(external)?;
        self.states.grow(1);
        ScalarValue::try_from_array(&result, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.states.state(EmitTo::All).map_err(external)?;
        self.states.grow(1);
        states.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.states.bytes()
    }
}
