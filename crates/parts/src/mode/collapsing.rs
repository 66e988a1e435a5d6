//! Collapsing: a row with the sign -1 cancels a row with the sign 1 before it.
//!
//! For each key the first negative and the last positive one stay: the negative one if there are at least
//! as many negative as positive rows, the positive one if there are at least as many positive rows. None stays if
//! the counts are equal and the last row is negative.

use std::ops::Range;

use arrow::array::{AsArray, Int8Array, RecordBatch};
use arrow::datatypes::Int8Type;

use super::reducer::{Purpose, Reducer, RowRef};
use crate::error::{Error, Result};

/// Counts the signs of one key.
pub(super) struct Collapsing {
    sign: usize,
    purpose: Purpose,
    signs: Option<Int8Array>,
    positive: u64,
    negative: u64,
    last_is_positive: bool,
    /// The first negative and the last positive row, each if its count is not 0.
    held: Vec<RowRef>,
}

impl Collapsing {
    pub(super) fn new(sign: usize, purpose: Purpose) -> Collapsing {
        Collapsing {
            sign,
            purpose,
            signs: None,
            positive: 0,
            negative: 0,
            last_is_positive: false,
            held: Vec::new(),
        }
    }

    fn add_row(&mut self, row: RowRef, is_positive: bool) {
        self.last_is_positive = is_positive;
        if !is_positive {
            if self.negative == 0 {
                self.held.insert(0, row);
            }
            self.negative += 1;
        } else {
            if self.positive > 0 {
                self.held.pop();
            }
            self.held.push(row);
            self.positive += 1;
        }
    }
}

impl Reducer for Collapsing {
    fn attach(&mut self, batch: &RecordBatch) -> Result<()> {
        self.signs = Some(batch.column(self.sign).as_primitive::<Int8Type>().clone());
        Ok(())
    }

    fn add(&mut self, source: usize, rows: Range<usize>, _out: &mut Vec<RowRef>) -> Result<()> {
        for row in rows {
            let sign = sign_at(self.signs.as_ref(), row)?;
            self.add_row(RowRef { source, row }, sign);
        }
        Ok(())
    }

    fn end_key(&mut self, out: &mut Vec<RowRef>) {
        if self.last_is_positive || self.positive != self.negative {
            if self.negative > 0 && self.positive <= self.negative && self.purpose == Purpose::Merge {
                out.push(self.held[0]);
            }
            if self.positive > 0 && self.positive >= self.negative {
                out.extend(self.held.last());
            }
        }
        self.held.clear();
        (self.positive, self.negative, self.last_is_positive) = (0, 0, false);
    }

    fn held(&mut self) -> &mut [RowRef] {
        &mut self.held
    }
}

/// Whether the sign of the row is 1; a value other than 1 and -1 is an error.
pub(super) fn sign_at(signs: Option<&Int8Array>, row: usize) -> Result<bool> {
    match signs.map_or(0, |signs| signs.value(row)) {
        1 => Ok(true),
        -1 => Ok(false),
        other => Err(Error::IncorrectData { what: format!("Sign = {other} (must be 1 or -1)") }),
    }
}
