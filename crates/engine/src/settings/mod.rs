//! Settings: each a line in a table, typed, with a default and a description.
//!
//! - [`registry`]: those of a session.
//! - [`merge_tree`]: those of a MergeTree table.

mod merge_tree;
mod registry;
mod typed;
mod value;

pub(crate) use merge_tree::MergeTreeSettings;
pub(crate) use registry::Settings;
