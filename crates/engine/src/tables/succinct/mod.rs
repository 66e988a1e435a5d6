//! `Succinct`: one row a key; new rows in RocksDB, old ones compressed into segments that are read and searched as they
//! are.
//!
//! - [`table`]: the engine.
//! - [`spec`]: the clauses of CREATE as columns, groups and indexes of the storage.
//! - [`alter`]: what ALTER may change.
//! - [`change`]: INSERTs and changes in place; [`watch`]: builds and merges as background work.

mod alter;
mod change;
mod spec;
mod table;
mod watch;

pub(super) use table::SuccinctTable;
pub(crate) use watch::{ListStep, StepWatch};
