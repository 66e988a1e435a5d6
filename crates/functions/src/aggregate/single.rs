//! One group only: a `GroupsAccumulator` behind DataFusion's `Accumulator`.

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// The state of a query without GROUP BY.
pub(super) struct SingleGroup {
    inner: Box<dyn GroupsAccumulator>,
    /// As many zeroes as the largest block had rows.
    zeroes: Vec<usize>,
}

impl SingleGroup {
    /// The one group exists from the start, so that a query over no rows has its one result: an
    /// update of no rows of `arg_carriers` makes it.
    pub(super) fn new(mut inner: Box<dyn GroupsAccumulator>, arg_carriers: &[DataType]) -> Result<SingleGroup> {
        let no_rows: Vec<ArrayRef> = arg_carriers.iter().map(new_empty_array).collect();
        inner.update_batch(&no_rows, &[], None, 1)?;
        Ok(SingleGroup { inner, zeroes: Vec::new() })
    }

    fn grow(&mut self, rows: usize) {
        if self.zeroes.len() < rows {
            self.zeroes.resize(rows, 0);
        }
    }
}

impl std::fmt::Debug for SingleGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SingleGroup")
    }
}

impl Accumulator for SingleGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.grow(rows);
        self.inner.update_batch(values, &self.zeroes[..rows], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |array| array.len());
        self.grow(rows);
        self.inner.merge_batch(states, &self.zeroes[..rows], 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.inner.evaluate(EmitTo::All)?;
        ScalarValue::try_from_array(&result, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.inner.state(EmitTo::All)?;
        states.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size() + self.zeroes.capacity() * size_of::<usize>()
    }
}
