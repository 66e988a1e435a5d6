//! Strings as codes of OnPair tokens, which a search reads without decoding them.

use std::fmt;
use std::ops::Range;

use basalt_base::Result;
use basalt_codec::Tokens;

use crate::Rank;

/// Strings by rank, each a list of codes.
pub trait TokenStrings: Send + Sync + fmt::Debug {
    /// The texts of the codes.
    fn tokens(&self) -> &Tokens;

    /// Replaces `codes` by the codes of the strings of `ranks`, and `ends` by the end of each string there.
    fn codes(&self, ranks: Range<Rank>, codes: &mut Vec<u16>, ends: &mut Vec<usize>) -> Result<()>;

    /// Whether all codes were made by [`basalt_codec::TokenMatcher`] from these tokens. Equal strings then have equal
    /// codes.
    fn is_greedy(&self) -> bool;
}
