//! An automaton over bytes lifted to the codes of OnPair tokens: a string is searched without decoding it.
//!
//! The state after a token depends on the state before it and on the code alone, so it is kept in a table: one row
//! for each state, filled when a code is first met in that state. A match costs one lookup a code and stops where the
//! answer is known. Each row has a bit for each code that is known to leave the state as it is. Most codes of a text
//! leave an unanchored search at its beginning; their bits are tested without waiting for each other.
//!
//! # Cost
//!
//! A row takes at most 136 KiB, of which only touched pages are memory. After [`ROWS_BYTES_MAX`] of rows, the tokens
//! of further states are walked byte by byte.

use basalt_base::Result;
use basalt_codec::Tokens;

use super::automaton::{Automaton, STEPPING};

const ROWS_BYTES_MAX: usize = 16 << 20;
/// A state without a row.
const NO_ROW: u16 = u16::MAX;
/// A code that was not met in the state of a row.
const UNKNOWN: u16 = 0;
/// The codes whose bits are tested together.
const TOGETHER: usize = 8;

/// The automaton of a search over the codes of one dictionary, which every call takes.
pub(super) struct TokenAutomaton {
    bytes: Automaton,
    rows: Vec<Row>,
    /// The row of each state.
    row_of: Vec<u16>,
    rows_max: usize,
}

/// The steps of one state.
struct Row {
    /// The state after each code.
    next: Box<[u16]>,
    /// The codes that are known to lead back to the state, a bit each.
    stays: Box<[u64]>,
}

impl TokenAutomaton {
    pub(super) fn new(bytes: Automaton, tokens: &Tokens) -> TokenAutomaton {
        TokenAutomaton::within(bytes, tokens, ROWS_BYTES_MAX)
    }

    /// An automaton whose rows take at most `rows_bytes_max`.
    pub(super) fn within(bytes: Automaton, tokens: &Tokens, rows_bytes_max: usize) -> TokenAutomaton {
        let rows_max = rows_bytes_max / Row::bytes(tokens.bits());
        TokenAutomaton { bytes, rows: Vec::new(), row_of: Vec::new(), rows_max }
    }

    /// Whether the string of `codes` matches. An error: the automaton would need more memory than its limit.
    #[inline]
    pub(super) fn matches(&mut self, tokens: &Tokens, codes: &[u16]) -> Result<bool> {
        let mut state = self.bytes.start_state();
        let mut at = 0;
        while state >= STEPPING && at < codes.len() {
            let Some(row) = self.row(tokens, state) else {
                state = self.walk(tokens, state, codes[at])?;
                at += 1;
                continue;
            };
            let row = &self.rows[row];
            at += row.staying(&codes[at..]);
            let Some(&code) = codes.get(at) else { break };
            state = match row.next[usize::from(code) & (row.next.len() - 1)] {
                UNKNOWN => self.fill(tokens, state, code)?,
                next => next,
            };
            at += 1;
        }
        Ok(self.bytes.accepts_end(state))
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.bytes.is_exhausted()
    }

    /// The index of the row of `state`, unless there are too many.
    #[inline]
    fn row(&mut self, tokens: &Tokens, state: u16) -> Option<usize> {
        match self.row_of.get(usize::from(state)) {
            Some(&row) if row != NO_ROW => Some(usize::from(row)),
            _ => self.add_row(tokens, state),
        }
    }

    #[cold]
    fn add_row(&mut self, tokens: &Tokens, state: u16) -> Option<usize> {
        if self.rows.len() >= self.rows_max.min(usize::from(NO_ROW)) {
            return None;
        }
        let (row, place) = (self.rows.len(), usize::from(state));
        self.rows.push(Row::new(tokens.bits()));
        if self.row_of.len() <= place {
            self.row_of.resize(place + 1, NO_ROW);
        }
        self.row_of[place] = row as u16;
        Some(row)
    }

    #[cold]
    fn fill(&mut self, tokens: &Tokens, state: u16, code: u16) -> Result<u16> {
        let next = self.walk(tokens, state, code)?;
        let row = &mut self.rows[usize::from(self.row_of[usize::from(state)])];
        let place = usize::from(code) & (row.next.len() - 1);
        row.next[place] = next;
        if next == state {
            row.stays[place / u64::BITS as usize] |= 1 << (place % u64::BITS as usize);
        }
        Ok(next)
    }

    fn walk(&mut self, tokens: &Tokens, state: u16, code: u16) -> Result<u16> {
        tokens.text_of(code).iter().try_fold(state, |state, &byte| self.bytes.step(state, byte))
    }
}

impl Row {
    fn new(bits: u32) -> Row {
        let codes = 1_usize << bits;
        Row {
            next: vec![UNKNOWN; codes].into_boxed_slice(),
            stays: vec![0; codes / u64::BITS as usize].into_boxed_slice(),
        }
    }

    fn bytes(bits: u32) -> usize {
        (size_of::<u16>() << bits) + (1 << bits) / u8::BITS as usize
    }

    /// The number of codes at the beginning of `codes` that are known to stay.
    #[inline]
    fn staying(&self, codes: &[u16]) -> usize {
        let stays = &self.stays[..];
        let mask = stays.len() - 1;
        let bit = |code: u16| {
            let word = stays[(usize::from(code) / u64::BITS as usize) & mask];
            word >> (u32::from(code) % u64::BITS) & 1
        };
        let (groups, _) = codes.as_chunks::<TOGETHER>();
        let all_stay = |group: &[u16; TOGETHER]| group.iter().fold(1, |all, &code| all & bit(code)) == 1;
        let skipped = groups.iter().position(|group| !all_stay(group)).unwrap_or(groups.len()) * TOGETHER;
        let rest = &codes[skipped..];
        skipped + rest.iter().position(|&code| bit(code) == 0).unwrap_or(rest.len())
    }
}
