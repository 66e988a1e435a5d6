//! An accumulator over a window frame that slides: rows leave at one end and enter at the other.
//!
//! Functions need not support the removal of a value. The rows of the frame are in two stacks: the older rows as
//! states of their suffixes, so that removing a row drops the top state, and the newer rows as one running state.
//! When the first stack is empty, the second is moved into it. The result merges the top of the first with the
//! second.
//!
//! # Cost
//!
//! Two updates and two merges per row, whatever the width of the frame; a state for each row of the first stack.

use std::collections::VecDeque;

use basalt_base::query::checkpoint;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::error::into_datafusion;

#[derive(Debug)]
pub(crate) struct TwoStacks {
    /// The state of the rows in `coming`.
    inner: Box<dyn Accumulator>,
    /// The states of the suffixes of the older rows; the last one covers all of them.
    leaving: Vec<Vec<ArrayRef>>,
    leaving_bytes: usize,
    /// The newer rows, in blocks.
    coming: VecDeque<Vec<ArrayRef>>,
}

impl TwoStacks {
    pub(crate) fn new(inner: Box<dyn Accumulator>) -> TwoStacks {
        TwoStacks { inner, leaving: Vec::new(), leaving_bytes: 0, coming: VecDeque::new() }
    }

    /// Takes the state of `inner`, which is empty afterwards.
    fn take_state(&mut self) -> Result<Vec<ArrayRef>> {
        self.inner.state()?.iter().map(ScalarValue::to_array).collect()
    }

    /// Moves the rows of `coming`, without the first `gone`, to the first stack.
    fn turn_over(&mut self, gone: usize) -> Result<()> {
        self.take_state()?;
        let blocks = std::mem::take(&mut self.coming);
        let mut start: usize = blocks.iter().map(|block| row_count(block)).sum();
        self.leaving_bytes = 0;
        for block in blocks.iter().rev() {
            start -= row_count(block);
            for row in (0..row_count(block)).rev().take_while(|row| start + row >= gone) {
                let row: Vec<ArrayRef> = block.iter().map(|column| column.slice(row, 1)).collect();
                checkpoint().map_err(into_datafusion)?;
                self.inner.update_batch(&row)?;
                if let Some(suffix) = self.leaving.last() {
                    self.inner.merge_batch(suffix)?;
                }
                let state = self.take_state()?;
                self.leaving_bytes += state.iter().map(|array| array.get_array_memory_size()).sum::<usize>();
                self.leaving.push(state);
            }
        }
        Ok(())
    }
}

fn row_count(block: &[ArrayRef]) -> usize {
    block.first().map_or(0, |column| column.len())
}

impl Accumulator for TwoStacks {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)?;
        self.coming.push_back(values.to_vec());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = row_count(values);
        let from_first = rows.min(self.leaving.len());
        self.leaving.truncate(self.leaving.len() - from_first);
        match rows - from_first {
            0 => Ok(()),
            gone => self.turn_over(gone),
        }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        checkpoint().map_err(into_datafusion)?;
        let later = self.take_state()?;
        if let Some(first) = self.leaving.last() {
            self.inner.merge_batch(first)?;
        }
        self.inner.merge_batch(&later)?;
        let result = self.inner.evaluate()?;
        self.inner.merge_batch(&later)?;
        Ok(result)
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        Err(DataFusionError::Internal("a window has no partial states".into()))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(DataFusionError::Internal("a window has no partial states".into()))
    }

    fn size(&self) -> usize {
        let rows = self.coming.iter().flatten().map(|column| column.get_array_memory_size());
        size_of_val(self) + self.inner.size() + self.leaving_bytes + rows.sum::<usize>()
    }
}
