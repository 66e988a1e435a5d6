//! The registry of reducers: one for each merge mode.

use super::collapsing::Collapsing;
use super::distinct::Distinct;
use super::merge_mode::MergeMode;
use super::reducer::{Purpose, Reducer};
use super::replacing::Replacing;
use super::summing::Summing;
use super::versioned::Versioned;
use crate::spec::PartSpec;

/// The reducer of the table's mode; `None` if all rows stay.
pub(crate) fn reducer(spec: &PartSpec, purpose: Purpose) -> Option<Box<dyn Reducer>> {
    match &spec.mode {
        MergeMode::Ordinary => None,
        MergeMode::Replacing { version, is_deleted } => {
            Some(Box::new(Replacing::new(*version, *is_deleted, purpose)))
        }
        MergeMode::Summing { columns } => Some(Box::new(Summing::new(columns.clone()))),
        MergeMode::Collapsing { sign } => Some(Box::new(Collapsing::new(*sign, purpose))),
        MergeMode::VersionedCollapsing { sign } => Some(Box::new(Versioned::new(*sign))),
    }
}

/// A reducer that keeps the first of the rows that agree in `columns`.
pub(crate) fn distinct(columns: Vec<usize>) -> Box<dyn Reducer> {
    Box::new(Distinct::new(columns))
}
