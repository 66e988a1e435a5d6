//! How a search was done, for EXPLAIN.

use std::fmt;

/// How records are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The pattern matches every string, or none.
    Constant,
    /// Codes are compared with those of the strings that are looked for.
    Codes,
    /// An automaton reads codes.
    Automaton,
    /// Records are decoded.
    Decoded,
}

/// The way of a search, and the records that it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchReport {
    /// The last way taken. Few records are decoded before a faster way is prepared.
    pub way: Way,
    /// The records that posting lists left to test; `None` without posting lists.
    pub candidates: Option<u64>,
    /// The records that were tested as codes.
    pub on_codes: u64,
    /// The records that were decoded and tested.
    pub decoded: u64,
    /// The records that matched.
    pub found: u64,
    /// Whether an automaton would have needed more memory than its limit.
    pub is_exhausted: bool,
}

impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Constant => "constant",
            Way::Codes => "codes compared",
            Way::Automaton => "automaton over codes",
            Way::Decoded => "decoded",
        };
        write!(f, "{way}")?;
        if let Some(candidates) = self.candidates {
            write!(f, ", {candidates} candidates of posting lists")?;
        }
        write!(f, ", {} tested as codes, {} decoded, {} found", self.on_codes, self.decoded, self.found)?;
        if self.is_exhausted {
            write!(f, ", automaton too large")?;
        }
        Ok(())
    }
}
