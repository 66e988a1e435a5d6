//! Finds the symbols that make a text short, and writes the text as their codes.
//!
//! # How
//!
//! Training follows the paper. Each generation encodes the sample with the current symbols. The candidates
//! are the symbols and pairs of symbols that occur often; those that cover the most bytes are the next symbols. There
//! are [`GENERATIONS`] generations. The paper's hash table holds one symbol for each prefix of three bytes. Here all
//! symbols with a prefix are stored next to each other, and the longest match wins.

use std::cell::RefCell;
use std::cmp::Reverse;

use super::ESCAPE;

/// Codes of a byte, less the escape.
pub(super) const SYMBOLS_MAX: usize = 255;

/// Bytes of the longest symbol.
pub(super) const SYMBOL_BYTES_MAX: usize = size_of::<u64>();

const GENERATIONS: usize = 5;

/// The number of runs of the text in the sample.
const SAMPLE_RUNS: usize = 32;
const RUN_BYTES: usize = 512;

/// In training, a byte that no symbol covers has the code `LITERAL` plus its value.
const LITERAL: usize = 256;
const CODES: usize = 2 * LITERAL;

/// The occurrences that a candidate needs.
const OCCURRENCES_MIN: u32 = 3;

/// A single byte gains more than it covers: without a symbol it takes two bytes.
const SINGLE_BYTE_GAIN: u32 = 8;

/// Up to eight bytes, padded with zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Symbol {
    len: u8,
    word: u64,
}

impl Symbol {
    fn byte(byte: u8) -> Symbol {
        Symbol { len: 1, word: u64::from(byte) }
    }

    pub(super) fn len(self) -> usize {
        usize::from(self.len)
    }

    /// The bytes, padded with zeroes.
    pub(super) fn bytes(self) -> [u8; SYMBOL_BYTES_MAX] {
        self.word.to_le_bytes()
    }

    /// The concatenation, cut to the longest symbol.
    fn followed_by(self, next: Symbol) -> Symbol {
        let len = (self.len() + next.len()).min(SYMBOL_BYTES_MAX);
        let word = self.word | next.word.checked_shl(8 * u32::from(self.len)).unwrap_or(0);
        Symbol { len: len as u8, word }
    }

    /// The bytes that an occurrence saves.
    fn gain(self) -> u32 {
        if self.len == 1 { SINGLE_BYTE_GAIN } else { u32::from(self.len) }
    }

    /// The bits of a word that belong to the symbol.
    fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - 8 * u32::from(self.len))
    }
}

/// The symbols for texts like `text`, in the order of their lengths.
pub(super) fn train(text: &[u8]) -> Vec<Symbol> {
    COUNTS.with_borrow_mut(|counts| train_on(&sample(text), counts))
}

thread_local! {
    /// Half a megabyte that each block reuses.
    static COUNTS: RefCell<Counts> = RefCell::new(Counts::new());
}

/// Trains on `runs`. `counts` is zero before and after.
fn train_on(runs: &[&[u8]], counts: &mut Counts) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for generation in 1..=GENERATIONS {
        let encoder = Encoder::new(&symbols);
        // The last generation only drops symbols that the one before did not use.
        let with_pairs = generation < GENERATIONS;
        // Early generations are rough, so they see less of the sample.
        let seen = (runs.len() * generation * generation).div_ceil(GENERATIONS * GENERATIONS);
        for run in &runs[..seen] {
            if with_pairs { counts.add::<true>(&encoder, run) } else { counts.add::<false>(&encoder, run) }
        }
        symbols = best(counts.candidates(&symbols));
        counts.clear();
    }
    symbols
}

/// Evenly spaced runs of the text, or all of a short text.
fn sample(text: &[u8]) -> Vec<&[u8]> {
    if text.len() <= SAMPLE_RUNS * RUN_BYTES {
        return text.chunks(RUN_BYTES).collect();
    }
    let distance = (text.len() - RUN_BYTES) / (SAMPLE_RUNS - 1);
    (0..SAMPLE_RUNS).map(|run| &text[run * distance..][..RUN_BYTES]).collect()
}

/// How often codes occur in the sample.
struct Counts {
    singles: [u32; CODES],
    /// The count of each pair of codes, one directly after the other.
    pairs: Vec<u16>,
    /// The positions of `pairs` that are not 0.
    pairs_seen: Vec<u32>,
}

impl Counts {
    fn new() -> Counts {
        Counts { singles: [0; CODES], pairs: vec![0; CODES * CODES], pairs_seen: Vec::new() }
    }

    fn clear(&mut self) {
        self.singles.fill(0);
        for at in self.pairs_seen.drain(..) {
            self.pairs[at as usize] = 0;
        }
    }

    fn add<const WITH_PAIRS: bool>(&mut self, encoder: &Encoder, run: &[u8]) {
        let mut before = None;
        let mut at = 0;
        while let Some(&first) = run.get(at) {
            let rest = &run[at..];
            let Match { code, len } = encoder.longest(first_word(rest), rest.len());
            let code = if code == ESCAPE { LITERAL + usize::from(first) } else { usize::from(code) };
            self.singles[code] += 1;
            if let Some(before) = before.filter(|_| WITH_PAIRS) {
                self.add_pair(before, code);
            }
            // Its first byte alone is a candidate too: another way to cut the text.
            if len > 1 {
                self.singles[LITERAL + usize::from(first)] += 1;
            }
            before = Some(code);
            at += len;
        }
    }

    fn add_pair(&mut self, before: usize, code: usize) {
        let at = before * CODES + code;
        let pair = &mut self.pairs[at];
        if *pair == 0 {
            self.pairs_seen.push(at as u32);
        }
        *pair = pair.saturating_add(1);
    }

    /// The symbols, bytes and pairs that occur often, with the bytes that each covers; the same symbol may come several
    /// times.
    fn candidates(&self, symbols: &[Symbol]) -> Vec<(Symbol, u32)> {
        let symbol = |code: usize| symbols.get(code).copied().unwrap_or(Symbol::byte((code % LITERAL) as u8));
        let singles = self.singles.iter().enumerate().map(|(code, &count)| (symbol(code), count));
        let pairs = self.pairs_seen.iter().map(|&at| {
            let (before, code) = (at as usize / CODES, at as usize % CODES);
            (symbol(before).followed_by(symbol(code)), u32::from(self.pairs[at as usize]))
        });
        let frequent = singles.chain(pairs).filter(|(_, count)| *count >= OCCURRENCES_MIN);
        frequent.map(|(symbol, count)| (symbol, count * symbol.gain())).collect()
    }
}

/// The symbols that cover the most bytes.
fn best(mut candidates: Vec<(Symbol, u32)>) -> Vec<Symbol> {
    candidates.sort_unstable();
    candidates.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    // By the symbol where the gain is the same: the same text is always encoded the same.
    let order = |&(symbol, gain): &(Symbol, u32)| (Reverse(gain), symbol);
    if candidates.len() > SYMBOLS_MAX {
        candidates.select_nth_unstable_by_key(SYMBOLS_MAX, order);
        candidates.truncate(SYMBOLS_MAX);
    }
    let mut best: Vec<Symbol> = candidates.into_iter().map(|(symbol, _)| symbol).collect();
    best.sort_unstable();
    best
}

/// Finds the symbols at the front of a text.
pub(super) struct Encoder {
    /// For each slot the first candidate whose first three bytes have it, or none.
    starts: [u16; SLOTS],
    /// Symbols of three bytes and more: those of a slot are together, the longest first.
    candidates: Vec<Candidate>,
    /// The code of each two bytes, or the escape.
    pairs: Vec<u8>,
    /// The code of each byte alone, or the escape.
    bytes: [u8; 256],
}

#[derive(Clone, Copy)]
struct Candidate {
    symbol: Symbol,
    mask: u64,
    code: u8,
    /// Whether the next candidate has another slot.
    is_last: bool,
}

/// Slots of the hash of three bytes, many more than there are symbols.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;

/// The value of `starts` for a prefix without symbols.
const NO_CANDIDATE: u16 = u16::MAX;

/// The longest match at the start of a text; the code may be the escape.
struct Match {
    code: u8,
    len: usize,
}

impl Encoder {
    /// The code of a symbol is its position in `symbols`.
    pub(super) fn new(symbols: &[Symbol]) -> Encoder {
        assert!(symbols.len() <= SYMBOLS_MAX, "a code is a byte");
        let mut encoder = Encoder {
            starts: [NO_CANDIDATE; SLOTS],
            candidates: Vec::with_capacity(symbols.len()),
            pairs: vec![ESCAPE; 1 << 16],
            bytes: [ESCAPE; 256],
        };
        for (code, &symbol) in symbols.iter().enumerate() {
            let code = code as u8;
            match symbol.len {
                1 => encoder.bytes[symbol.word as usize] = code,
                2 => encoder.pairs[symbol.word as usize] = code,
                _ => encoder.candidates.push(Candidate { symbol, mask: symbol.mask(), code, is_last: true }),
            }
        }
        encoder.order();
        encoder
    }

    /// Groups the candidates by slot and sets `starts`.
    fn order(&mut self) {
        let slot = |candidate: &Candidate| slot_of_three(candidate.symbol.word);
        self.candidates.sort_unstable_by_key(|one| (slot(one), Reverse(one.symbol)));
        for at in (0..self.candidates.len()).rev() {
            let next = self.candidates.get(at + 1).map(slot);
            let candidate = &mut self.candidates[at];
            candidate.is_last = next.is_none_or(|next| next != slot(candidate));
            self.starts[slot(candidate)] = at as u16;
        }
    }

    /// The longest symbol at the start of a text of `text_bytes` bytes. `word` holds its first eight bytes.
    #[inline]
    fn longest(&self, word: u64, text_bytes: usize) -> Match {
        let mut start = usize::from(self.starts[slot_of_three(word)]);
        while let Some(Candidate { symbol, mask, code, is_last }) = self.candidates.get(start) {
            // The padding of a short text is no match.
            if (word ^ symbol.word) & mask == 0 && symbol.len() <= text_bytes {
                return Match { code: *code, len: symbol.len() };
            }
            if *is_last {
                break;
            }
            start += 1;
        }
        let code = self.pairs[usize::from(word as u16)];
        if code != ESCAPE && text_bytes > 1 {
            return Match { code, len: 2 };
        }
        Match { code: self.bytes[usize::from(word as u8)], len: 1 }
    }

    /// Appends the codes of `text`.
    pub(super) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        // Every step writes two bytes. The second one is kept only after an escape.
        out.resize(start + 2 * text.len(), 0);
        let codes = &mut out[start..];
        let (mut at, mut to) = (0, 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let word = first_word(rest);
            let found = self.longest(word, rest.len());
            codes[to..to + 2].copy_from_slice(&[found.code, word as u8]);
            to += 1 + usize::from(found.code == ESCAPE);
            at += found.len;
        }
        out.truncate(start + to);
    }
}

/// The slot of the first three bytes.
#[inline]
fn slot_of_three(word: u64) -> usize {
    let bytes = word as u32 & 0x00ff_ffff;
    (bytes.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SLOT_BITS)) as usize
}

/// The first eight bytes, padded with zeroes.
#[inline]
fn first_word(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; SYMBOL_BYTES_MAX];
            word[..text.len()].copy_from_slice(text);
            u64::from_le_bytes(word)
        }
    }
}
