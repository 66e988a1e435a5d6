//! An automaton for the keys that begin with a prefix.

use basalt_base::Result;

use super::walk::KeyAutomaton;

const DEAD: u32 = u32::MAX;

/// Accepts inputs that begin with a prefix. A state is the number of bytes of it that were read.
#[derive(Clone, Debug)]
pub struct PrefixAutomaton<'a> {
    prefix: &'a [u8],
}

impl<'a> PrefixAutomaton<'a> {
    pub fn new(prefix: &'a [u8]) -> PrefixAutomaton<'a> {
        PrefixAutomaton { prefix }
    }
}

impl KeyAutomaton for PrefixAutomaton<'_> {
    fn start(&mut self) -> Result<u32> {
        Ok(0)
    }

    fn next(&mut self, state: u32, byte: u8) -> Result<u32> {
        match self.prefix.get(state as usize) {
            _ if state == DEAD => Ok(DEAD),
            Some(&wanted) if wanted != byte => Ok(DEAD),
            Some(_) => Ok(state + 1),
            None => Ok(state),
        }
    }

    fn accepts(&mut self, state: u32) -> Result<bool> {
        Ok(self.accepts_all(state))
    }

    fn is_dead(&self, state: u32) -> bool {
        state == DEAD
    }

    fn accepts_all(&self, state: u32) -> bool {
        state as usize == self.prefix.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_the_prefix_is_accepted() {
        let accepts = |prefix: &[u8], input: &[u8]| {
            let mut automaton = PrefixAutomaton::new(prefix);
            let start = automaton.start().expect("a state");
            let state =
                input.iter().fold(start, |state, &byte| automaton.next(state, byte).expect("a state"));
            automaton.accepts(state).expect("an answer")
        };
        assert!(accepts(b"", b"") && accepts(b"", b"a") && accepts(b"ab", b"ab") && accepts(b"ab", b"abb"));
        assert!(!accepts(b"ab", b"a") && !accepts(b"ab", b"aab") && !accepts(b"ab", b""));
    }
}
