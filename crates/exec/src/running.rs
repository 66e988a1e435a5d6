//! An accumulator that is evaluated repeatedly while rows are added, for growing window frames.
//!
//! Our accumulators lose their state on evaluation. [`Running`] first takes the state out and restores it twice: to
//! evaluate, and to continue.

use basalt_base::query::checkpoint;
use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::error::into_datafusion;

#[derive(Debug)]
pub(crate) struct Running {
    inner: Box<dyn Accumulator>,
}

impl Running {
    pub(crate) fn new(inner: Box<dyn Accumulator>) -> Running {
        Running { inner }
    }
}

impl Accumulator for Running {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // A block of a window may take thousands of calls, each with a result as long as the frame.
        checkpoint().map_err(into_datafusion)?;
        let state = self.inner.state()?.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
        self.inner.merge_batch(&state)?;
        let result = self.inner.evaluate()?;
        self.inner.merge_batch(&state)?;
        Ok(result)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }
}
