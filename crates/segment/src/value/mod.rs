//! Column stores: the values of a column by rank.
//!
//! - [`store`]: the contracts of a store and of its builder.
//! - [`registry`]: the list of the stores, and which one a column gets.
//! - [`sample`]: what the choice needs; [`number_stats`], [`byte_stats`], [`distinct`] and [`share`] are its parts, and
//!   [`choice`] decides for numbers.
//! - [`zones`]: the least and the greatest value of each block of ranks, as [`bound`]s.
//!
//! | encoding | file | for |
//! |---|---|---|
//! | `constant`, `codes` | `codes` | few distinct values |
//! | `packed` | `packed` | integers: blocks with a base, a slope and packed distances |
//! | `decimal` | `decimals` | floats that were decimals |
//! | `plain` | `plain` | other values of a fixed width |
//! | `strings` | `plain_strings` | strings as they are |
//! | `onpair`, `long_match`, `archive`, `folded` | [`strings`] | compressed strings |
//! | `list`, `struct`, `nothing` | of the same name | nested types |
//!
//! [`numbers`] turns encodings of [images](image) into stores of numbers; [`array_value`] has the bytes of one value. [`nulls`] adds NULLs to any store.

mod array_value;
mod bound;
mod byte_stats;
mod choice;
mod codes;
mod decimals;
mod distinct;
mod image;
mod list;
mod nothing;
mod nulls;
mod number_stats;
mod numbers;
mod packed;
mod plain;
mod plain_strings;
mod registry;
mod sample;
mod share;
mod store;
pub mod strings;
mod structs;
mod zones;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;

pub use bound::ZoneBound;
pub use registry::{choose, open};
pub use sample::ColumnSample;
pub use store::{ColumnStore, StoreBuilder, StringStore};
pub use strings::StringEncoding;
pub use zones::{Zones, ZonesBuilder};
