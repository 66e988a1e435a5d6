//! How does it run fast? The operators and rules that DataFusion lacks, and the session that runs them.
//!
//! - [`direct_join`]: a join that asks its right side for keys.
//! - [`gather`]: few large blocks of many small ones.
//! - [`limit_by`]: `LIMIT n BY`.
//! - [`one_input`]: the frame of these operators.
//! - [`extremes`]: the least and the greatest value of every result column.
//! - [`in_step`]: arrays that are unfolded side by side.
//! - `once`: random columns.
//! - `outer_join`: what is not known of the rows that an outer join adds.
//! - [`rows_before_limit`]: how many rows a LIMIT took its rows from.
//! - [`row_order`]: ORDER BY below what depends on the order of rows.
//! - [`set_operation`]: INTERSECT and EXCEPT.
//! - [`shared`]: rows that a plan reads in several places.
//! - [`windowed`]: aggregates of window frames, over accumulators for frames that grow and that slide.
//! - [`session`]: which rules rewrite a plan, and the limits under which it runs.
//! - [`tasks`]: DataFusion's tasks work for the query that started them.
//! - [`error`]: DataFusion's errors as ours.
//!
//! # Not here
//!
//! No SQL and no names: `planner` decides what a query means, this crate only runs it.

mod checked;
mod cut_lists;
mod dealt_early;
pub mod direct_join;
pub mod each_operator;
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
