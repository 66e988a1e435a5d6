//! An automaton for the keys within an edit distance of a text.
//!
//! A state is the last row of the table of Wagner and Fischer, "The String-to-String Correction Problem" (1974), with
//! distances above the limit as one: after some characters, the distances between them and each prefix of the text.
//! There are few such rows, and they are made when they are first reached (Schulz and Mihov, "Fast string correction
//! with Levenshtein automata", 2002, prove how few). Insertions, deletions and substitutions count 1 each.
//!
//! Characters are UTF-8: between them, a state is a row and the bits of the character so far. Bytes that are no UTF-8
//! are characters that no text has.

use std::collections::HashMap;

use basalt_base::{Error, ErrorCode, Result};

use super::walk::KeyAutomaton;

/// States before a search is refused; each takes a kilobyte and two copies of its row.
const STATES_MAX: usize = 1 << 14;
/// The greatest distance.
pub const DISTANCE_MAX: u8 = 16;
/// The longest text in characters.
const TEXT_CHARACTERS_MAX: usize = 1 << 10;
/// A transition that was not computed yet.
const UNKNOWN: u32 = u32::MAX;
const DEAD: u32 = 0;
/// A character that the text does not have.
const OTHER: u32 = u32::MAX;

/// Accepts inputs within a distance of a text.
#[derive(Debug)]
pub struct LevenshteinAutomaton {
    text: Vec<u32>,
    distance: u8,
    states: Vec<State>,
    next: Vec<[u32; 256]>,
    known: HashMap<State, u32>,
}

/// A row, and the character that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    row: Vec<u8>,
    begun: Option<Begun>,
}

/// The front of a character in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Begun {
    /// The bits so far; [`OTHER`] if the text has no character that begins with them.
    bits: u32,
    /// The bytes of the character, and those that are missing.
    bytes: u8,
    missing: u8,
}

impl LevenshteinAutomaton {
    /// An error if the text is too long or the distance is too large.
    pub fn new(text: &str, distance: u8) -> Result<LevenshteinAutomaton> {
        let text: Vec<u32> = text.chars().map(u32::from).collect();
        if text.len() > TEXT_CHARACTERS_MAX || distance > DISTANCE_MAX {
            let what = format!("a search for {} characters with a distance of {distance}", text.len());
            let limits = format!("at most {TEXT_CHARACTERS_MAX} and {DISTANCE_MAX} are possible");
            return Err(Error::new(ErrorCode::BadArguments, format!("{what} is too large: {limits}")));
        }
        let dead = State { row: Vec::new(), begun: None };
        let mut automaton = LevenshteinAutomaton {
            text,
            distance,
            states: Vec::new(),
            next: Vec::new(),
            known: HashMap::new(),
        };
        automaton.state(dead)?;
        Ok(automaton)
    }

    /// The number of a state.
    fn state(&mut self, state: State) -> Result<u32> {
        if let Some(&known) = self.known.get(&state) {
            return Ok(known);
        }
        if self.states.len() >= STATES_MAX {
            let what = format!("a search by edit distance needs more than {STATES_MAX} states");
            return Err(Error::new(ErrorCode::MemoryLimitExceeded, what));
        }
        let number = self.states.len() as u32;
        self.states.push(state.clone());
        self.next.push([UNKNOWN; 256]);
        self.known.insert(state, number);
        Ok(number)
    }

    /// The row after a character; an empty one if all distances are above the limit.
    fn step(&self, row: &[u8], character: u32) -> Vec<u8> {
        let above = self.distance + 1;
        let mut out = Vec::with_capacity(row.len());
        let mut left = above;
        for (index, &up) in row.iter().enumerate() {
            let changed = index
                .checked_sub(1)
                .map_or(above, |before| row[before] + u8::from(self.text[before] != character));
            left = (left + 1).min(up + 1).min(changed).min(above);
            out.push(left);
        }
        if out.iter().all(|&distance| distance == above) {
            out.clear();
        }
        out
    }

    fn after(&self, state: &State, byte: u8) -> State {
        match state.begun {
            None => self.begin(&state.row, byte),
            Some(begun) if byte & 0xc0 == 0x80 => self.go_on(&state.row, begun, byte),
            // A character that was cut off, and the next one.
            Some(_) => match self.step(&state.row, OTHER) {
                row if row.is_empty() => State { row, begun: None },
                row => self.begin(&row, byte),
            },
        }
    }

    /// The state after the first byte of a character.
    fn begin(&self, row: &[u8], byte: u8) -> State {
        let (bits, bytes) = match byte {
            0..0x80 => return State { row: self.step(row, byte.into()), begun: None },
            0xc2..0xe0 => (byte & 0x1f, 2),
            0xe0..0xf0 => (byte & 0x0f, 3),
            0xf0..0xf5 => (byte & 0x07, 4),
            _ => return State { row: self.step(row, OTHER), begun: None },
        };
        let begun = Begun { bits: bits.into(), bytes, missing: bytes - 1 };
        State { row: row.to_vec(), begun: Some(self.useful(begun)) }
    }

    /// The state after another byte of a character.
    fn go_on(&self, row: &[u8], begun: Begun, byte: u8) -> State {
        let bits = match begun.bits {
            OTHER => OTHER,
            bits => bits << 6 | u32::from(byte & 0x3f),
        };
        let begun = self.useful(Begun { bits, missing: begun.missing - 1, ..begun });
        match begun.missing {
            0 => State { row: self.step(row, begun.bits), begun: None },
            _ => State { row: row.to_vec(), begun: Some(begun) },
        }
    }

    /// The same, without bits if no character of the text has them.
    fn useful(&self, begun: Begun) -> Begun {
        let has = |&character: &u32| {
            let bytes = char::from_u32(character).map_or(0, char::len_utf8);
            bytes == usize::from(begun.bytes) && character >> (6 * begun.missing) == begun.bits
        };
        match self.text.iter().any(has) {
            true => begun,
            false => Begun { bits: OTHER, ..begun },
        }
    }
}

impl KeyAutomaton for LevenshteinAutomaton {
    fn start(&mut self) -> Result<u32> {
        let above = usize::from(self.distance) + 1;
        let row = (0..=self.text.len()).map(|distance| distance.min(above) as u8).collect();
        self.state(State { row, begun: None })
    }

    fn next(&mut self, state: u32, byte: u8) -> Result<u32> {
        let known = self.next[state as usize][usize::from(byte)];
        if known != UNKNOWN {
            return Ok(known);
        }
        let after = match state {
            DEAD => DEAD,
            state => {
                let after = self.after(&self.states[state as usize], byte);
                self.state(after)?
            }
        };
        self.next[state as usize][usize::from(byte)] = after;
        Ok(after)
    }

    fn accepts(&mut self, state: u32) -> Result<bool> {
        let State { row, begun } = &self.states[state as usize];
        let last = match begun {
            None => row.last().copied(),
            Some(_) => self.step(row, OTHER).last().copied(),
        };
        Ok(last.is_some_and(|last| last <= self.distance))
    }

    fn is_dead(&self, state: u32) -> bool {
        state == DEAD
    }

    fn accepts_all(&self, _state: u32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The whole table.
    fn distance(one: &[char], other: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=other.len()).collect();
        for (line, a) in one.iter().enumerate() {
            let before = std::mem::replace(&mut row, vec![line + 1]);
            for (at, b) in other.iter().enumerate() {
                let next = (row[at] + 1).min(before[at + 1] + 1).min(before[at] + usize::from(a != b));
                row.push(next);
            }
        }
        row[other.len()]
    }

    fn accepts(automaton: &mut LevenshteinAutomaton, input: &[u8]) -> bool {
        let mut state = automaton.start().expect("a state");
        for &byte in input {
            state = automaton.next(state, byte).expect("a state");
        }
        automaton.accepts(state).expect("an answer")
    }

    proptest! {
        #[test]
        fn the_distance_decides(
            text in "[ab\u{e4}\u{e5}\u{4e2d}\u{1f600}]{0,8}",
            inputs in prop::collection::vec("[ab\u{e4}\u{e5}\u{e6}\u{4e2d}\u{4e2e}\u{1f600}]{0,9}", 0..40),
            limit in 0..4_u8,
        ) {
            let mut automaton = LevenshteinAutomaton::new(&text, limit).expect("a small one");
            let text: Vec<char> = text.chars().collect();
            for input in inputs {
                let expected = distance(&text, &input.chars().collect::<Vec<_>>()) <= usize::from(limit);
                prop_assert_eq!(accepts(&mut automaton, input.as_bytes()), expected, "{}", input);
            }
        }

        #[test]
        fn any_bytes_have_an_answer(inputs in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..10), 0..40)) {
            let mut automaton = LevenshteinAutomaton::new("\u{e4}b\u{4e2d}", 2).expect("a small one");
            let _ = inputs.iter().filter(|input| accepts(&mut automaton, input)).count();
        }
    }

    #[test]
    fn bytes_that_are_no_characters_count_as_one_each() {
        let mut automaton = LevenshteinAutomaton::new("ab", 1).expect("a small one");
        assert!(accepts(&mut automaton, b"a\xffb"));
        assert!(!accepts(&mut automaton, b"a\xff\xffb"));
        // A character of three bytes without its last one.
        assert!(accepts(&mut automaton, b"ab\xe4\xb8"));
        assert!(accepts(&mut automaton, b"a\xe4\xb8b"));
        // A long form of `b` is not `b`.
        assert!(!accepts(&mut LevenshteinAutomaton::new("b", 0).expect("a small one"), b"\xe0\x81\xa2"));
    }

    #[test]
    fn too_large_searches_are_refused() {
        assert!(LevenshteinAutomaton::new("a", DISTANCE_MAX + 1).is_err());
        assert!(LevenshteinAutomaton::new(&"a".repeat(TEXT_CHARACTERS_MAX + 1), 1).is_err());
    }
}
