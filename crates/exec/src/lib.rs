//! How does it run fast? The operators and rules that DataFusion lacks, and the session that runs them.
//!
//! - [`direct_join`]: a join that asks its right side for keys.
//! - [`gather`]: few large blocks of many small ones.
//! - [`limit_by`]: `LIMIT n BY`.
//! - [`one_input`]: the frame of these operators.
//! - [`extremes`]: the least and the greatest value of every result column.
//! - [`in_step`]: arrays that are unfolded side by side.
//! - [`windowed`]: aggregates of window frames, over accumulators for frames that grow and that slide.
//! - [`session`]: which rules rewrite a plan, and the limits under which it runs.
//! - [`error`]: DataFusion's errors as ours.
//!
//! # Not here
//!
//! No SQL and no names: `planner` decides what a query means, this crate only runs it.

pub mod direct_join;
pub mod error;
mod extension;
pub mod extremes;
pub mod gather;
pub mod in_step;
pub mod lambda;
pub mod limit_by;
pub mod one_input;
mod running;
pub mod session;
mod sliding;
pub mod windowed;
