//! The payload that a table stores for each key: the packed values of its row, or the row's number.

use std::ops::Range;

/// The payloads of a block's rows.
#[derive(Debug)]
pub(crate) enum Payloads {
    /// Any payloads, such as values.
    Each(Vec<u64>),
    /// Consecutive numbers: those of rows whose values are in columns.
    Numbers(Range<u64>),
}

impl Payloads {
    pub(crate) fn len(&self) -> usize {
        match self {
            Payloads::Each(payloads) => payloads.len(),
            Payloads::Numbers(numbers) => (numbers.end - numbers.start) as usize,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u64> {
        match self {
            Payloads::Each(payloads) => payloads,
            Payloads::Numbers(numbers) => numbers.collect(),
        }
    }
}
