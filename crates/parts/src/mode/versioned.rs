//! Versioned collapsing: rows of one key and version with the signs 1 and -1 cancel each other in any order.

use std::ops::Range;

use arrow::array::{AsArray, Int8Array, RecordBatch};
use arrow::datatypes::Int8Type;

use super::collapsing::sign_at;
use super::reducer::{Reducer, RowRef};
use crate::error::Result;

/// The most rows of one key that wait for their opposites; older ones are emitted.
const WAITING_MAX: usize = 8192;

/// A stack of rows of one sign: a row of the other sign cancels the top one.
pub(super) struct Versioned {
    sign: usize,
    signs: Option<Int8Array>,
    waiting: Vec<RowRef>,
    waiting_is_positive: bool,
}

impl Versioned {
    pub(super) fn new(sign: usize) -> Versioned {
        Versioned { sign, signs: None, waiting: Vec::new(), waiting_is_positive: false }
    }
}

impl Reducer for Versioned {
    fn attach(&mut self, batch: &RecordBatch) -> Result<()> {
        self.signs = Some(batch.column(self.sign).as_primitive::<Int8Type>().clone());
        Ok(())
    }

    fn add(&mut self, source: usize, rows: Range<usize>, out: &mut Vec<RowRef>) -> Result<()> {
        for row in rows {
            let is_positive = sign_at(self.signs.as_ref(), row)?;
            if !self.waiting.is_empty() && self.waiting_is_positive != is_positive {
                self.waiting.pop();
                continue;
            }
            self.waiting_is_positive = is_positive;
            self.waiting.push(RowRef { source, row });
        }
        if self.waiting.len() > WAITING_MAX {
            out.extend(self.waiting.drain(..self.waiting.len() - WAITING_MAX));
        }
        Ok(())
    }

    fn end_key(&mut self, out: &mut Vec<RowRef>) {
        out.append(&mut self.waiting);
    }

    fn held(&mut self) -> &mut [RowRef] {
        &mut self.waiting
    }
}
