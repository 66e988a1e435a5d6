//! Strictly ascending integers: by index, and the index by integer.
//!
//! A block of [`layout::BLOCK_NUMBERS`] integers is coded alone with Elias-Fano, as in Ottaviano and Venturini, "Partitioned
//! Elias-Fano Indexes" (SIGIR 2014), with blocks of equal counts. The integers of a block less the first one and less
//! their index in it do not descend; of each, the low bits are packed, and the high bits are a unary code: a zero for
//! each step of the high part, a one for each integer. Consecutive integers take no bits.
//!
//! # Layout
//!
//! One number and two sections:
//!
//! ```text
//! count      the number of integers
//! headers    for each block: first u64 | place u64: byte of `payload` << 16 | words of high bits << 8 | low bits
//! payload    for each block: words of high bits, the low bits packed; then padding
//! ```
//!
//! # Cost
//!
//! `2 + log2(d)` bits an integer for a mean distance `d`, and an eighth of a byte for its block. A random read counts
//! the bits of up to six words. A search is a binary one in the headers and one in a block.
//!
//! - [`layout`]: the sizes of blocks.
//! - [`builder`]: writes blocks.
//! - [`shape`]: the bits of a block, and their estimate.
//! - [`numbers`]: reads and searches.
//! - [`block`]: a block to read.

mod block;
mod builder;
mod layout;
mod numbers;
mod shape;
#[cfg(test)]
mod tests;

pub(crate) use builder::AscendingBuilder;
pub(crate) use numbers::Ascending;
pub(crate) use shape::SizeEstimate;
