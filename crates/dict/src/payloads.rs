//! What a table has for each key: the packed values of its row, or the row's number.

use std::ops::Range;

/// The payload of each row of a block.
#[derive(Debug)]
pub(crate) enum Payloads {
    Each(Vec<u64>),
    /// Rows whose values are in columns are numbered one after the other.
    Numbers(Range<u64>),
}

impl Payloads {
    /// One after the other.
    pub(crate) fn into_vec(self) -> Vec<u64> {
        match self {
            Payloads::Each(payloads) => payloads,
            Payloads::Numbers(numbers) => numbers.collect(),
        }
    }
}
