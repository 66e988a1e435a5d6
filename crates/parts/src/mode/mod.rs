//! Merge modes: what is left of rows with an equal key when parts are merged.
//!
//! - [`MergeMode`]: the mode of a table, as its engine states it.
//! - [`reduced`]: runs of equal keys in a sorted stream, and the rows that a reducer leaves of them.
//! - [`replacing`], [`summing`], [`collapsing`], [`versioned`], [`distinct`]: one reducer each.
//!
//! A mode is used at three places that agree: at a merge, in the block of an insert, and by a query that
//! asks for FINAL. A reducer whose rows are aggregate states would be one more file here.

mod collapsing;
mod distinct;
pub(crate) mod reduced;
mod replacing;
mod summing;
mod versioned;

use std::ops::Range;

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::spec::PartSpec;

/// What a merge makes of rows with an equal key. Numbers are positions of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// All rows stay.
    #[default]
    Ordinary,
    /// The row with the highest version, of equal ones the last, stays.
    Replacing { version: Option<usize>, is_deleted: Option<usize> },
    /// One row stays, with the sums of these columns; none if all sums are zero.
    Summing { columns: Vec<usize> },
    /// Rows with the signs 1 and -1 remove each other.
    Collapsing { sign: usize },
    /// As collapsing; the version is the last column of the sort key, so that order of insertion does
    /// not matter.
    VersionedCollapsing { sign: usize },
}

/// Why rows are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The result is stored and will be merged again.
    Merge,
    /// The result is what a query sees: rows that say "deleted" go too.
    Final,
}

/// A row of one of the batches that the reducer has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRef {
    pub(crate) source: usize,
    pub(crate) row: usize,
}

/// Sees the rows of one key after the other, in the order of insertion, and says which remain.
pub(crate) trait Reducer: Send {
    /// The rows of the next calls are of `batch`.
    fn attach(&mut self, batch: &RecordBatch) -> Result<()>;

    /// More rows of the current key: those at `rows` in the attached batch, which is number `source`.
    fn add(&mut self, source: usize, rows: Range<usize>, out: &mut Vec<RowRef>) -> Result<()>;

    /// The current key has no more rows.
    fn end_key(&mut self, out: &mut Vec<RowRef>);

    /// Rows that may still be put out: their batches are kept, under other numbers.
    fn held(&mut self) -> &mut [RowRef];

    /// Gives the rows that were put out since the last call their values.
    fn finish(&mut self, picked: RecordBatch) -> Result<RecordBatch> {
        Ok(picked)
    }
}

impl MergeMode {
    /// Columns that decide what is left, or that are summed.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            MergeMode::Ordinary => Vec::new(),
            MergeMode::Replacing { version, is_deleted } => {
                version.iter().chain(is_deleted).copied().collect()
            }
            MergeMode::Summing { columns } => columns.clone(),
            MergeMode::Collapsing { sign } | MergeMode::VersionedCollapsing { sign } => vec![*sign],
        }
    }

    /// The same mode where the column at `n` is at `place(n)`.
    pub(crate) fn moved(&self, place: impl Fn(usize) -> usize) -> MergeMode {
        match self {
            MergeMode::Ordinary => MergeMode::Ordinary,
            MergeMode::Replacing { version, is_deleted } => {
                MergeMode::Replacing { version: version.map(&place), is_deleted: is_deleted.map(&place) }
            }
            MergeMode::Summing { columns } => {
                MergeMode::Summing { columns: columns.iter().map(|&column| place(column)).collect() }
            }
            MergeMode::Collapsing { sign } => MergeMode::Collapsing { sign: place(*sign) },
            MergeMode::VersionedCollapsing { sign } => MergeMode::VersionedCollapsing { sign: place(*sign) },
        }
    }
}

/// The reducer of the table's mode; `None` where all rows stay.
pub(crate) fn reducer(spec: &PartSpec, purpose: Purpose) -> Option<Box<dyn Reducer>> {
    match &spec.mode {
        MergeMode::Ordinary => None,
        MergeMode::Replacing { version, is_deleted } => {
            Some(Box::new(replacing::Replacing::new(*version, *is_deleted, purpose)))
        }
        MergeMode::Summing { columns } => Some(Box::new(summing::Summing::new(columns.clone()))),
        MergeMode::Collapsing { sign } => Some(Box::new(collapsing::Collapsing::new(*sign, purpose))),
        MergeMode::VersionedCollapsing { sign } => Some(Box::new(versioned::Versioned::new(*sign))),
    }
}

/// A reducer that leaves the first of the rows that agree in `columns`.
pub(crate) fn distinct(columns: Vec<usize>) -> Box<dyn Reducer> {
    Box::new(distinct::Distinct::new(columns))
}
