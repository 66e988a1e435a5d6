//! Planning and running queries on the catalog.
//!
//! - [`planning_context`]: the catalog, the functions and the settings as the planner of one query sees them.
//! - [`runtime`]: plans as operators, and their blocks; [`join_algorithms`]: which joins are allowed.
//! - [`typed`]: a query whose columns are converted to given types.
//! - [`defaults`], [`fill`]: DEFAULT expressions, and the columns that an INSERT does not give.
//! - [`access_check`]: whether the user may read what a plan reads.
//! - [`sample`]: SAMPLE as a condition; [`partition`]: the parts that a statement selects.

mod access_check;
mod defaults;
mod fill;
mod join_algorithms;
mod partition;
mod planning_context;
mod runtime;
mod sample;
mod typed;

pub(crate) use access_check::check_reads;
pub(crate) use defaults::check_defaults;
pub(crate) use fill::{RowFiller, physical};
pub(crate) use partition::selection;
pub(crate) use planning_context::PlanningContext;
pub(crate) use runtime::{Physical, collect, next_block, run_to_blocks, shared_runtime};
pub(crate) use typed::{plan_typed, run_typed};
