//! Stores of strings. Each string is a record that is decoded alone.
//!
//! - [`choose()`]: tries the encodings on a sample, and plans the store of a column.
//! - [`StringPlan`]: makes the builder. [`open()`]: opens what it built.
//!
//! | encoding | file | for |
//! |---|---|---|
//! | `onpair` | `onpair` | the default; read at gigabytes a second, searched without being decoded |
//! | `long_match` | `long_match` | texts with passages that many records share |
//! | `archive` | `archive` | the smallest for short records of rigid structure; slower to read |
//! | `folded` | `folding` | columns with equal strings; one of the others has the distinct ones |
//!
//! Strings that do not compress are in the store of plain strings. `records` has what these stores share: records of any lengths by rank. `encoding` is the contract of an encoding of
//! records, `builder` and `decoded` make a store of it.

mod archive;
mod array;
mod builder;
mod choose;
mod decoded;
mod encoding;
mod folded_indexes;
mod folding;
pub(super) mod input;
mod long_match;
mod match_dictionary;
mod match_index;
mod onpair;
mod open;
mod plan;
mod records;
mod trial;
mod varint;

#[cfg(test)]
mod tests;

pub use choose::{StringEncoding, StringSample, choose};
pub use open::{is_encoding, open};
pub use plan::StringPlan;
