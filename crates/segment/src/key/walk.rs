//! Automata that walk over bytes.

use basalt_base::Result;

/// A deterministic automaton over bytes, whose states are made when they are first reached. One search owns it.
pub trait KeyAutomaton {
    fn start(&mut self) -> Result<u32>;

    /// The state after `byte`. An error: the automaton would need more memory than its limit.
    fn next(&mut self, state: u32, byte: u8) -> Result<u32>;

    /// Whether an input that ends in `state` is accepted.
    fn accepts(&mut self, state: u32) -> Result<bool>;

    /// Whether no input that continues from `state` is accepted.
    fn is_dead(&self, state: u32) -> bool;

    /// Whether every input that continues from `state` is accepted.
    fn accepts_all(&self, state: u32) -> bool;
}
