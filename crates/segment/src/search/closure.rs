//! Sets of states of a nondeterministic automaton, and what reaches them without a byte.
//!
//! An assertion about what follows is kept in a set until the next byte, or the end, is known.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

/// The byte after a position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    Unknown,
    Byte(u8),
    End,
}

/// Collects the states that are reached at one position. Its memory is used again.
pub(super) struct Closure {
    /// A state was reached if its number here is that of the current position.
    seen: Vec<u32>,
    position: u32,
    stack: Vec<StateID>,
    /// The states that take a byte, and the assertions that are not decided.
    pub(super) reached: Vec<StateID>,
    /// Whether a match ends here.
    pub(super) matched: bool,
}

impl Closure {
    pub(super) fn new(nfa: &NFA) -> Closure {
        let seen = vec![0; nfa.states().len()];
        Closure { seen, position: 0, stack: Vec::new(), reached: Vec::new(), matched: false }
    }

    /// Begins with the set that is empty.
    pub(super) fn clear(&mut self) {
        self.reached.clear();
        self.matched = false;
        self.position = self.position.wrapping_add(1);
        if self.position == 0 {
            self.seen.fill(0);
            self.position = 1;
        }
    }

    /// Adds `from`, and all states that it reaches after the byte `before` and before `ahead`.
    pub(super) fn add(&mut self, nfa: &NFA, from: StateID, before: Option<u8>, ahead: Ahead) {
        self.stack.push(from);
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id.as_usize()], self.position) == self.position {
                continue;
            }
            match nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => self.reached.push(id),
                State::Look { look, next } => match holds(nfa, *look, before, ahead) {
                    Some(true) => self.stack.push(*next),
                    Some(false) => {}
                    None => self.reached.push(id),
                },
                State::Union { alternates } => self.stack.extend_from_slice(alternates),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt1, *alt2]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::Fail => {}
                State::Match { .. } => self.matched = true,
            }
        }
    }
}

/// Whether an assertion holds; `None` if that depends on a byte that is not known.
fn holds(nfa: &NFA, look: Look, before: Option<u8>, ahead: Ahead) -> Option<bool> {
    let is_behind = matches!(look, Look::Start | Look::StartLF | Look::WordStartHalfAscii);
    if ahead == Ahead::Unknown && !is_behind {
        return None;
    }
    // No assertion depends on more than the two bytes around a position.
    let mut around = [0; 2];
    let mut bytes = 0;
    if let Some(byte) = before {
        around[0] = byte;
        bytes = 1;
    }
    let at = bytes;
    if let Ahead::Byte(byte) = ahead {
        around[bytes] = byte;
        bytes += 1;
    }
    Some(nfa.look_matcher().matches(look, &around[..bytes], at))
}
