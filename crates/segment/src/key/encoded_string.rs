//! An automaton over strings lifted to keys that begin with an encoded string.
//!
//! The key of several columns begins with its first column. A string there is encoded so that keys are in the order of
//! their columns: its bytes with 00 as 00 FF, then 00 00. If it is the only column, its bytes are not changed. If it may
//! be NULL, a byte is before it: 0, or 1 for NULL, after which it has no bytes. What follows the string does not
//! matter.

use basalt_base::{Error, Result};

use super::walk::KeyAutomaton;

/// How keys begin with a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedString {
    pub is_nullable: bool,
    /// Whether the key has more columns.
    pub is_followed: bool,
}

const IS_VALUE: u8 = 0;
const ZERO: u8 = 0;
/// What makes a zero byte of two bytes.
const ESCAPED: u8 = 0xff;

/// No continuation is accepted.
const DEAD: u32 = 0;
/// Every continuation is accepted.
const ALL: u32 = 1;
/// The byte that tells NULL was not read.
const BEFORE: u32 = 2;
/// The smallest number of a state inside a string. It has two for each state of the inner automaton: the second is
/// after the first byte of a zero byte or of the end.
const INSIDE: u32 = 3;

/// Accepts keys whose string another automaton accepts. A NULL is not accepted, and bytes that are no encoding of a
/// string are not either.
pub struct EncodedStringAutomaton<'a> {
    strings: &'a mut dyn KeyAutomaton,
    form: EncodedString,
}

impl EncodedString {
    /// Replaces `string` by the string that `key` begins with. `false` if it is NULL, or if there is none.
    pub fn decode(self, key: &[u8], string: &mut Vec<u8>) -> bool {
        string.clear();
        let rest = match (self.is_nullable, key) {
            (false, key) => key,
            (true, [IS_VALUE, rest @ ..]) => rest,
            (true, _) => return false,
        };
        if !self.is_followed {
            string.extend_from_slice(rest);
            return true;
        }
        let mut bytes = rest.iter().copied();
        while let Some(byte) = bytes.next() {
            match (byte, if byte == ZERO { bytes.next() } else { None }) {
                (ZERO, Some(ZERO)) => return true,
                (ZERO, Some(ESCAPED)) => string.push(ZERO),
                (ZERO, _) => return false,
                (byte, _) => string.push(byte),
            }
        }
        false
    }
}

impl<'a> EncodedStringAutomaton<'a> {
    pub fn new(strings: &'a mut dyn KeyAutomaton, form: EncodedString) -> EncodedStringAutomaton<'a> {
        EncodedStringAutomaton { strings, form }
    }

    /// The number of the state inside a string whose bytes led to `state`.
    fn inside(&self, state: u32, is_after_zero: bool) -> Result<u32> {
        if self.strings.is_dead(state) {
            return Ok(DEAD);
        }
        if self.strings.accepts_all(state) {
            return Ok(ALL);
        }
        let number =
            state.checked_mul(2).and_then(|twice| twice.checked_add(INSIDE + u32::from(is_after_zero)));
        number.ok_or_else(|| Error::logical(format!("an automaton has a state with the number {state}")))
    }
}

/// The state of the inner automaton, and whether the first byte of a zero byte was read.
fn parts(state: u32) -> (u32, bool) {
    ((state - INSIDE) / 2, (state - INSIDE) % 2 == 1)
}

impl KeyAutomaton for EncodedStringAutomaton<'_> {
    fn start(&mut self) -> Result<u32> {
        if self.form.is_nullable {
            return Ok(BEFORE);
        }
        let start = self.strings.start()?;
        self.inside(start, false)
    }

    fn next(&mut self, state: u32, byte: u8) -> Result<u32> {
        if state == DEAD || state == ALL {
            return Ok(state);
        }
        if state == BEFORE {
            let start = self.strings.start()?;
            return if byte == IS_VALUE { self.inside(start, false) } else { Ok(DEAD) };
        }
        let (inner, is_after_zero) = parts(state);
        match (is_after_zero, byte) {
            (false, ZERO) if self.form.is_followed => self.inside(inner, true),
            (false, byte) => {
                let next = self.strings.next(inner, byte)?;
                self.inside(next, false)
            }
            (true, ESCAPED) => {
                let next = self.strings.next(inner, ZERO)?;
                self.inside(next, false)
            }
            (true, ZERO) => Ok(if self.strings.accepts(inner)? { ALL } else { DEAD }),
            (true, _) => Ok(DEAD),
        }
    }

    fn accepts(&mut self, state: u32) -> Result<bool> {
        match state {
            ALL => Ok(true),
            DEAD | BEFORE => Ok(false),
            // A string that is followed ends with its end.
            _ if self.form.is_followed => Ok(false),
            state => self.strings.accepts(parts(state).0),
        }
    }

    fn is_dead(&self, state: u32) -> bool {
        state == DEAD
    }

    fn accepts_all(&self, state: u32) -> bool {
        state == ALL
    }
}

#[cfg(test)]
mod tests;
