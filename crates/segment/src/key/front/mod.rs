//! Sorted keys of any length in front-coded blocks, compressed with OnPair, under a tree of separators.
//!
//! A key of a block is stored as the length of its common prefix with the key before it, and the OnPair codes of its
//! other bytes (Witten, Moffat, Bell, "Managing Gigabytes", section 4.1; codes: [`basalt_codec::Tokens`]). The shortest
//! prefix of a block's first key that is greater than the last key of the block before separates the two. Separators
//! are sorted keys themselves: they are stored in blocks of the same form. The first separators of these blocks are the
//! next level, up to a level of one block. A block has a fixed number of keys, so ranks and the children of separators are implied.
//!
//! # Layout
//!
//! ```text
//! numbers    keys | keys of a block | levels | for each level: numbers of `Offsets`
//! sections   tokens | for each level, keys first: blocks, 16 zeroes; sections of `Offsets`: the ends of blocks
//! ```
//! See [`block`] for the bytes of a block.
//!
//! # Cost
//!
//! A lookup visits a block of each level, four for a million keys. It decodes only keys that share with the key as
//! many bytes as the greatest one before them; the others are passed over by the lengths of their prefixes (Martinez-
//! Prieto, Brisaboa et al., "Practical compressed string dictionaries", 2016). The key of a rank is decoded from the
//! few keys of its block whose bytes it has. All sections are resident.
//!
//! - [`build`]: writes levels; [`codes`]: the sample that tokens are trained on.
//! - [`block`], [`level`], [`tree`]: what is read, from a block up to the whole.
//! - [`index`], [`search`]: the contract of a key index; its search by an automaton.
//! - [`layout`]: names and sizes.

mod block;
mod build;
mod codes;
mod index;
mod layout;
mod level;
mod search;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use build::FrontBuilder;
pub(super) use codes::CodesSample;
pub(super) use layout::ENCODING;
pub(super) use tree::FrontIndex;
