//! Keeps the first and the last rows of a result of any length.

use std::collections::VecDeque;

use arrow::array::RecordBatch;

/// Keeps all rows up to a limit; of longer results the first and the last half of that number.
pub(super) struct KeptRows {
    /// At least the first `limit` rows.
    first: Vec<RecordBatch>,
    /// At least the last `limit / 2` of the others.
    last: VecDeque<RecordBatch>,
    first_rows: usize,
    last_rows: usize,
    total: u64,
    limit: usize,
}

impl KeptRows {
    pub(super) fn new(limit: usize) -> KeptRows {
        KeptRows { first: Vec::new(), last: VecDeque::new(), first_rows: 0, last_rows: 0, total: 0, limit }
    }

    /// Number of all rows.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn push(&mut self, batch: &RecordBatch) {
        self.total += batch.num_rows() as u64;
        let missing = (self.limit - self.first_rows).min(batch.num_rows());
        if missing > 0 {
            self.first.push(batch.slice(0, missing));
            self.first_rows += missing;
        }
        if missing < batch.num_rows() {
            let rest = batch.slice(missing, batch.num_rows() - missing);
            self.last_rows += rest.num_rows();
            self.last.push_back(rest);
        }
        while let Some(oldest) = self.last.front()
            && self.last_rows - oldest.num_rows() >= self.limit / 2
        {
            self.last_rows -= oldest.num_rows();
            self.last.pop_front();
        }
    }

    /// The rows to show: batches, each with the number of its first row, from 1.
    pub(super) fn take(&mut self) -> Vec<(RecordBatch, u64)> {
        let kept = self.first.drain(..).chain(self.last.drain(..)).collect::<Vec<_>>();
        let all_kept = self.first_rows + self.last_rows;
        // If all rows are kept, both ranges cover everything.
        let (head, tail) = match self.total <= self.limit as u64 {
            true => (self.first_rows, 0),
            false => (self.limit - self.limit / 2, self.limit / 2),
        };
        let mut shown = Vec::new();
        let mut at = 0;
        for batch in kept {
            let rows = batch.num_rows();
            let in_head = head.saturating_sub(at).min(rows);
            if in_head > 0 {
                shown.push((batch.slice(0, in_head), at as u64 + 1));
            }
            let tail_from = (all_kept - tail).saturating_sub(at).max(in_head).min(rows);
            if tail > 0 && tail_from < rows {
                let number = self.total - (all_kept - at - tail_from) as u64 + 1;
                shown.push((batch.slice(tail_from, rows - tail_from), number));
            }
            at += rows;
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, AsArray, UInt64Array};
    use arrow::datatypes::UInt64Type;

    use super::*;

    /// Checks which row numbers are shown of `total` rows in batches of `step`.
    fn check(total: u64, step: usize, limit: usize, expected: &[u64]) {
        let mut kept = KeptRows::new(limit);
        let all: Vec<u64> = (1..=total).collect();
        for values in all.chunks(step) {
            let column: ArrayRef = Arc::new(UInt64Array::from(values.to_vec()));
            kept.push(&RecordBatch::try_from_iter([("n", column)]).unwrap());
        }
        let mut shown: Vec<u64> = Vec::new();
        for (batch, first) in kept.take() {
            let values = batch.column(0).as_primitive::<UInt64Type>().values();
            assert_eq!(values.to_vec(), (first..first + values.len() as u64).collect::<Vec<_>>());
            shown.extend(values);
        }
        assert_eq!(shown, expected, "{total} by {step} up to {limit}");
    }

    #[test]
    fn the_first_and_the_last_rows_are_kept() {
        for step in 1..12 {
            check(10, step, 3, &[1, 2, 10]);
            check(12, step, 4, &[1, 2, 11, 12]);
            check(4, step, 4, &[1, 2, 3, 4]);
            check(5, step, 4, &[1, 2, 4, 5]);
            check(9, step, 1, &[1]);
            check(0, step, 4, &[]);
        }
    }
}
