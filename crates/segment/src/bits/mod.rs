//! Integers in as few bits as they need, read one at a time.
//!
//! - [`packed`]: integers that all have the same number of bits.
//! - [`line`]: integers as distances from a straight line.
//! - [`blocks`]: blocks of integers, a line for each.
//! - [`array`]: an array of packed integers.
//! - [`ranks`]: a sparse set of ranks.
//! - [`ascending`]: ascending integers, by index and the other way.
//! - [`select`]: positions of bits in words.
//! - [`offsets`]: where each of many strings or lists begins and ends.

pub(crate) mod array;
pub(crate) mod ascending;
pub(crate) mod blocks;
mod line;
mod offsets;
pub(crate) mod packed;
pub(crate) mod ranks;
mod select;

pub use offsets::{Offsets, OffsetsBuilder};
