//! Strings as codes of OnPair tokens, which a search reads without decoding them.

use std::fmt;
use std::ops::{ControlFlow, Range};

use basalt_base::Result;
use basalt_codec::Tokens;

use crate::Rank;

/// Strings by rank, each a list of codes. The codes are those of [`basalt_codec::TokenMatcher`] for these tokens, so
/// equal strings have equal codes.
pub trait TokenStrings: Send + Sync + fmt::Debug {
    /// The texts of the codes.
    fn tokens(&self) -> &Tokens;

    /// Visits the codes of the strings of `ranks` in order, until `visit` breaks.
    fn scan_codes(&self, ranks: Range<Rank>, visit: &mut VisitCodes<'_>) -> Result<()>;
}

/// Takes the rank of a string and its codes.
pub type VisitCodes<'v> = dyn FnMut(Rank, &[u16]) -> Result<ControlFlow<()>> + 'v;
