//! Merge modes: how merges combine rows with equal keys.
//!
//! - [`MergeMode`]: the mode of a table, set by its engine.
//! - [`reduced`]: runs of equal keys in a sorted stream, and the rows that a reducer keeps.
//! - [`replacing`], [`summing`], [`collapsing`], [`versioned`], [`distinct`]: one reducer each.
//!
//! A mode applies in three places, with the same result: in a merge, in the block of an insert, and in a query with
//! FINAL.

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

/// How a merge combines rows with equal keys. Numbers are positions of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// All rows stay.
    #[default]
    Ordinary,
    /// The row with the highest version stays, the last of equal ones.
    Replacing { version: Option<usize>, is_deleted: Option<usize> },
    /// One row stays, with the sums of these columns; none if all sums are zero.
    Summing { columns: Vec<usize> },
    /// Rows with the signs 1 and -1 cancel each other.
    Collapsing { sign: usize },
    /// Like collapsing, with the version as the last column of the sorting key, so that the order of insertion does
    /// not matter.
    VersionedCollapsing { sign: usize },
}

/// The purpose of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The result is stored and will be merged again.
    Merge,
    /// The result is what a query sees: deletion markers are removed too.
    Final,
}

/// A row of one of the batches that the reducer has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRef {
    pub(crate) source: usize,
    pub(crate) row: usize,
}

/// Receives the rows of one key after the other, in the order of insertion, and decides which stay.
pub(crate) trait Reducer: Send {
    /// Sets the batch of the rows in the next calls.
    fn attach(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Adds rows of the current key: those at `rows` in the attached batch, which has the number `source`.
    fn add(&mut self, source: usize, rows: Range<usize>, out: &mut Vec<RowRef>) -> Result<()>;

    /// Ends the current key.
    fn end_key(&mut self, out: &mut Vec<RowRef>);

    /// The rows that may still be emitted; the caller keeps their batches and renumbers them.
    fn held(&mut self) -> &mut [RowRef];

    /// Sets the values of the rows that were emitted since the last call.
    fn finish(&mut self, picked: RecordBatch) -> Result<RecordBatch> {
        Ok(picked)
    }
}

impl MergeMode {
    /// Columns that decide which rows stay, or that are summed.
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

    /// The mode with the column at `n` moved to `place(n)`.
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

/// The reducer of the table's mode; `None` if all rows stay.
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

/// A reducer that keeps the first of the rows that agree in `columns`.
pub(crate) fn distinct(columns: Vec<usize>) -> Box<dyn Reducer> {
    Box::new(distinct::Distinct::new(columns))
}
