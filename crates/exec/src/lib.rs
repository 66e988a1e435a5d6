//! How does it run fast? Operators and rules that DataFusion lacks, and the session that runs them.
//!
//! - [`direct_join`]: a join that looks up keys in its right side.
//! - [`gather`]: coalesces small blocks.
//! - [`limit_by`]: `LIMIT n BY`.
//! - [`one_input`]: the frame of operators with one input.
//! - [`extremes`]: the minimum and maximum of every result column.
//! - [`in_step`]: a length check for arrays that are unfolded together.
//! - `once`: random columns.
//! - `outer_join`: properties that do not hold for the rows that an outer join adds.
//! - [`rows_before_limit`]: how many rows a LIMIT took its rows from.
//! - [`row_order`]: ORDER BY below operators that depend on the order of rows.
//! - [`set_operation`]: INTERSECT and EXCEPT.
//! - [`shared`]: rows that a plan reads in several places.
//! - [`windowed`]: aggregates over window frames that grow or slide.
//! - [`session`]: the optimizer rules and the limits of a query.
//! - [`tasks`]: DataFusion's tasks belong to the query that started them.
//! - [`error`]: conversion of DataFusion's errors to ours.
//!
//! # Not here
//!
//! No SQL and no names: `planner` gives queries their meaning, this crate only runs them.

mod checked;
mod cut_lists;
pub mod direct_join;
pub mod each_operator;
mod early_repartition;
pub mod error;
mod extension;
pub mod extremes;
pub mod gather;
pub mod in_step;
pub mod lambda;
mod large_limit;
pub mod limit_by;
mod once;
pub mod one_input;
mod outer_join;
mod pause;
pub mod row_order;
pub mod rows_before_limit;
mod running;
pub mod session;
pub mod set_operation;
pub mod shared;
mod sliding;
pub mod tasks;
mod wide_constants;
pub mod windowed;
