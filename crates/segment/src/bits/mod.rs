//! Integers in as few bits as they need, read one at a time.
//!
//! - [`packed`]: integers that all have the same number of bits.
//! - [`line`]: integers as distances from a straight line.
//! - [`blocks`]: blocks of integers, a line for each.
//! - [`offsets`]: where each of many strings or lists begins and ends.

pub(crate) mod blocks;
mod line;
mod offsets;
pub(crate) mod packed;

pub use offsets::{Offsets, OffsetsBuilder};
