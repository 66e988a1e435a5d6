//! Strings within an edit distance of a text: a test of one string, and a nondeterministic automaton.
//!
//! Insertions, deletions and substitutions of a unit count 1 each. A unit is a byte, or a character of UTF-8; there, a
//! byte that is no part of a character is a character that no text has.
//!
//! The automaton has a state for each number of units of the text that were read and each number of edits (Wu and
//! Manber, "Fast text searching allowing errors", 1992). An edit may be given away, so that the numbers of edits that
//! are reached at a place are all from some least one on: this makes sets of states few.

use basalt_base::{Error, ErrorCode, Result};
use regex_automata::nfa::thompson::{BuildError, Builder, NFA, Transition};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use crate::key::DISTANCE_MAX;

/// The longest text, in units.
const TEXT_UNITS_MAX: usize = 1 << 10;
/// A character that no text has.
const OTHER: u32 = u32::MAX;

/// The bytes of characters of several bytes, by their first byte: the ranges of the first and the second byte, and how
/// many bytes follow them.
const CHARACTERS: [(u8, u8, u8, u8, usize); 8] = [
    (0xc2, 0xdf, 0x80, 0xbf, 0),
    (0xe0, 0xe0, 0xa0, 0xbf, 1),
    (0xe1, 0xec, 0x80, 0xbf, 1),
    (0xed, 0xed, 0x80, 0x9f, 1),
    (0xee, 0xef, 0x80, 0xbf, 1),
    (0xf0, 0xf0, 0x90, 0xbf, 2),
    (0xf1, 0xf3, 0x80, 0xbf, 2),
    (0xf4, 0xf4, 0x80, 0x8f, 2),
];

/// The strings within a distance of a text.
#[derive(Clone, Debug)]
pub(super) struct Distance {
    text: Vec<u32>,
    unit: Unit,
    most: u8,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Byte,
    Character,
}

impl Distance {
    /// An error if the text is too long or the distance is too large.
    pub(super) fn of_bytes(text: &[u8], most: u8) -> Result<Distance> {
        Distance::new(text.iter().copied().map(u32::from).collect(), Unit::Byte, most)
    }

    /// The same for characters.
    pub(super) fn of_characters(text: &str, most: u8) -> Result<Distance> {
        Distance::new(text.chars().map(u32::from).collect(), Unit::Character, most)
    }

    fn new(text: Vec<u32>, unit: Unit, most: u8) -> Result<Distance> {
        if text.len() > TEXT_UNITS_MAX || most > DISTANCE_MAX {
            let what = format!("a search within a distance of {most} of a text of {}", text.len());
            let limits = format!("at most {DISTANCE_MAX} and {TEXT_UNITS_MAX} are possible");
            return Err(Error::new(ErrorCode::BadArguments, format!("{what} is too large: {limits}")));
        }
        Ok(Distance { text, unit, most })
    }

    pub(super) fn matches(&self, string: &[u8]) -> bool {
        match self.unit {
            Unit::Byte => is_within(&self.text, string.iter().copied().map(u32::from), self.most),
            Unit::Character => is_within(&self.text, characters(string), self.most),
        }
    }

    /// An automaton that matches whole strings and takes at most `bytes_max`.
    pub(super) fn nfa(&self, bytes_max: usize) -> Result<NFA, BuildError> {
        let mut builder = Builder::new();
        builder.set_utf8(false);
        builder.set_size_limit(Some(bytes_max))?;
        builder.start_pattern()?;
        let matched = builder.add_match()?;
        let end = builder.add_look(matched, Look::End)?;
        // The states after the rest of the text, by the number of edits.
        let mut after: Vec<StateID> = Vec::new();
        for at in (0..=self.text.len()).rev() {
            let mut here: Vec<StateID> = Vec::new();
            // From the greatest number of edits down: an edit leads to a state that is there.
            for edits in (0..=usize::from(self.most)).rev() {
                let mut ways = Vec::new();
                match self.text.get(at) {
                    Some(&unit) => ways.push(self.add_unit(&mut builder, unit, after[edits])?),
                    None => ways.push(end),
                }
                if let Some(&edited) = here.last() {
                    let replaced = after.get(edits + 1).copied();
                    let taken = builder.add_union(std::iter::once(edited).chain(replaced).collect())?;
                    self.add_any(&mut builder, taken, &mut ways)?;
                    ways.extend(replaced);
                    ways.push(edited);
                }
                here.push(builder.add_union(ways)?);
            }
            here.reverse();
            after = here;
        }
        builder.finish_pattern(after[0])?;
        builder.build(after[0], after[0])
    }

    /// A state from which a unit of the text leads to `next`.
    fn add_unit(&self, builder: &mut Builder, unit: u32, next: StateID) -> Result<StateID, BuildError> {
        let mut bytes = [0; 4];
        let encoded = match (self.unit, char::from_u32(unit)) {
            (Unit::Character, Some(character)) => character.encode_utf8(&mut bytes).as_bytes(),
            _ => {
                bytes[0] = unit as u8;
                &bytes[..1]
            }
        };
        encoded.iter().rev().try_fold(next, |next, &byte| add_range(builder, byte, byte, next))
    }

    /// Adds states from which any unit leads to `next`.
    fn add_any(
        &self,
        builder: &mut Builder,
        next: StateID,
        ways: &mut Vec<StateID>,
    ) -> Result<(), BuildError> {
        // A byte that begins a character leads to `next` too. That costs more edits than its character does, so
        // it changes nothing.
        ways.push(add_range(builder, 0, u8::MAX, next)?);
        if matches!(self.unit, Unit::Byte) {
            return Ok(());
        }
        let mut rest = [next; 3];
        for missing in 1..rest.len() {
            rest[missing] = add_range(builder, 0x80, 0xbf, rest[missing - 1])?;
        }
        for (first, last, low, high, missing) in CHARACTERS {
            let second = add_range(builder, low, high, rest[missing])?;
            ways.push(add_range(builder, first, last, second)?);
        }
        Ok(())
    }
}

fn add_range(builder: &mut Builder, start: u8, end: u8, next: StateID) -> Result<StateID, BuildError> {
    builder.add_range(Transition { start, end, next })
}

fn characters(string: &[u8]) -> impl Iterator<Item = u32> {
    string.utf8_chunks().flat_map(|chunk| {
        let others = std::iter::repeat_n(OTHER, chunk.invalid().len());
        chunk.valid().chars().map(u32::from).chain(others)
    })
}

/// Whether at most `most` edits lead from `text` to `units`. Computes the cells of the table of Wagner and Fischer that
/// are near its diagonal.
fn is_within(text: &[u32], units: impl Iterator<Item = u32>, most: u8) -> bool {
    let (above, band) = (most + 1, usize::from(most));
    let mut row: Vec<u8> = (0..=text.len()).map(|at| at.min(above.into()) as u8).collect();
    for (line, unit) in (1..).zip(units) {
        let (first, last) = (usize::saturating_sub(line, band), text.len().min(line + band));
        if first > last {
            return false;
        }
        let mut corner = if first == 0 { above } else { row[first - 1] };
        let (mut left, mut least) = (above, above);
        for (at, cell) in row.iter_mut().enumerate().take(last + 1).skip(first) {
            let up = *cell;
            let changed = match at.checked_sub(1) {
                Some(before) => corner + u8::from(text[before] != unit),
                None => above,
            };
            left = changed.min(up + 1).min(left + 1).min(above);
            least = least.min(left);
            *cell = left;
            corner = up;
        }
        if least == above {
            return false;
        }
    }
    row[text.len()] <= most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::Pattern;
    use crate::search::tests::{check, texts_of};

    /// The whole table.
    fn distance<T: PartialEq>(one: &[T], other: &[T]) -> usize {
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

    /// Texts over few characters, some of them cut off.
    fn some_texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let bytes = ["a", "b", "\u{e4}", "\u{e5}", "\u{4e2d}", "\u{1f600}"].map(str::as_bytes);
        let cut = [b"\xe4".as_slice(), b"\xe4\xb8", b"\xf0\x9f", b"\x80", b"\xff", b"\0"];
        let character = prop_oneof![
            6 => prop::sample::select(bytes.as_slice().to_vec()),
            1 => prop::sample::select(cut.as_slice().to_vec()),
        ];
        let text = prop::collection::vec(character, 0..9).prop_map(|parts| parts.concat());
        prop::collection::vec(text, 0..200)
    }

    proptest! {
        #[test]
        fn the_distance_in_bytes_decides(
            texts in some_texts(), text in prop::collection::vec(prop::sample::select(b"ab\0\xc3\xa4\xff".to_vec()), 0..7),
            most in 0..4_u8,
        ) {
            let pattern = Pattern::byte_distance(&text, most).unwrap();
            check(&texts_of(texts), &pattern, &|other| distance(&text, other) <= usize::from(most));
        }

        #[test]
        fn the_distance_in_characters_decides(
            texts in some_texts(), text in "[ab\u{e4}\u{e5}\u{4e2d}\u{1f600}]{0,7}", most in 0..4_u8,
        ) {
            let pattern = Pattern::character_distance(&text, most).unwrap();
            let units: Vec<u32> = text.chars().map(u32::from).collect();
            check(&texts_of(texts), &pattern, &|other| {
                distance(&units, &characters(other).collect::<Vec<_>>()) <= usize::from(most)
            });
        }
    }

    #[test]
    fn every_character_is_one_and_every_other_byte() {
        let pattern = |most| Pattern::character_distance("", most).unwrap();
        let check = |string: &[u8], expected: u8| {
            assert!(pattern(expected).matches(string), "{string:?}");
            assert!(expected == 0 || !pattern(expected - 1).matches(string), "{string:?}");
            let keys = texts_of(vec![string.to_vec()]);
            check(&keys, &pattern(expected), &|_| true);
        };
        for character in ["\0", "\x7f", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}"] {
            check(character.as_bytes(), 1);
        }
        check("\u{10000}\u{10ffff}".as_bytes(), 2);
        check(b"\xed\xa0\x80", 3);
        check(b"\xf4\x90\x80\x80", 4);
        check(b"\xc0\x80\xe4\xb8", 4);
    }

    #[test]
    fn too_large_searches_are_refused() {
        assert!(Pattern::byte_distance(b"a", DISTANCE_MAX + 1).is_err());
        assert!(Pattern::byte_distance(&[b'a'; TEXT_UNITS_MAX + 1], 1).is_err());
        assert!(Pattern::byte_distance(&[b'a'; TEXT_UNITS_MAX], DISTANCE_MAX).is_ok());
        let text = "a".repeat(TEXT_UNITS_MAX);
        let longest = Pattern::character_distance(&text, DISTANCE_MAX).unwrap();
        assert!(longest.matches(&[b'a'; TEXT_UNITS_MAX + DISTANCE_MAX as usize]));
        assert!(!longest.matches(&[b'a'; TEXT_UNITS_MAX + DISTANCE_MAX as usize + 1]));
    }
}
