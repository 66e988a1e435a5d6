//! Finds the symbols that make a text short, and writes the text as their codes.
//!
//! # How
//!
//! Symbols are bred as in the paper: the sample is encoded with the symbols so far, what occurs often alone
//! or behind each other are the candidates, and those that cover the most bytes are the next symbols;
//! after [`GENERATIONS`] they are good. Several symbols may begin with the same bytes, which the paper's hash
//! table cannot hold; the longest that fits is taken.

use std::cmp::Reverse;

/// Codes of a byte, less the escape.
pub(super) const SYMBOLS_MAX: usize = 255;

/// Bytes of the longest symbol.
pub(super) const SYMBOL_BYTES_MAX: usize = size_of::<u64>();

const GENERATIONS: usize = 5;

/// The sample is so many runs of the text.
const SAMPLE_RUNS: usize = 32;
const RUN_BYTES: usize = 512;

/// In the breeding, a byte that no symbol covers counts as this code and its value.
const LITERAL: usize = 256;
const CODES: usize = 2 * LITERAL;

/// What a candidate must occur.
const OCCURRENCES_MIN: u32 = 3;

/// A byte alone is worth more than it covers, since without a symbol it takes two.
const SINGLE_BYTE_GAIN: u32 = 8;

/// Up to eight bytes; those behind its length are 0.
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

    /// The bytes, zeroes behind them.
    pub(super) fn bytes(self) -> [u8; SYMBOL_BYTES_MAX] {
        self.word.to_le_bytes()
    }

    /// Both together, or as much as a symbol may have.
    fn followed_by(self, next: Symbol) -> Symbol {
        let len = (self.len() + next.len()).min(SYMBOL_BYTES_MAX);
        let word = self.word | next.word.checked_shl(8 * u32::from(self.len)).unwrap_or(0);
        Symbol { len: len as u8, word }
    }

    /// The bytes that it covers each time.
    fn gain(self) -> u32 {
        if self.len == 1 { SINGLE_BYTE_GAIN } else { u32::from(self.len) }
    }

    /// Which bits of a word belong to it.
    fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - 8 * u32::from(self.len))
    }
}

/// The symbols for texts like `text`, in the order of their lengths.
pub(super) fn train(text: &[u8]) -> Vec<Symbol> {
    let runs = sample(text);
    let mut symbols = Vec::new();
    let mut counts = Counts::new();
    for generation in 1..=GENERATIONS {
        let encoder = Encoder::new(&symbols);
        // The first generations are rough whatever they see.
        for run in &runs[..(runs.len() * generation).div_ceil(GENERATIONS)] {
            counts.add(&encoder, run);
        }
        // The last generation only drops what the one before did not need.
        symbols = best(counts.candidates(&symbols, generation < GENERATIONS));
        counts.clear();
    }
    symbols
}

/// Runs from all over the text, or all of it.
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
    /// Of each code behind each other one.
    pairs: Vec<u16>,
    /// Where in `pairs` there is something.
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

    fn add(&mut self, encoder: &Encoder, run: &[u8]) {
        let mut before = None;
        let mut at = 0;
        while let Some(&first) = run.get(at) {
            let (code, len) = encoder.longest(&run[at..]).unwrap_or((LITERAL + usize::from(first), 1));
            self.singles[code] += 1;
            if let Some(before) = before {
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

    /// What occurs often, of those symbols, bytes and perhaps pairs, with the bytes that each covers; the
    /// same symbol may come several times.
    fn candidates(&self, symbols: &[Symbol], with_pairs: bool) -> Vec<(Symbol, u32)> {
        let symbol = |code: usize| symbols.get(code).copied().unwrap_or(Symbol::byte((code % LITERAL) as u8));
        let singles = self.singles.iter().enumerate().map(|(code, &count)| (symbol(code), count));
        let pairs = self.pairs_seen.iter().filter(|_| with_pairs).map(|&at| {
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
    /// For each slot the first candidate whose first two bytes have it, or none.
    starts: [u16; SLOTS],
    /// Symbols of two bytes and more: those of a slot are together, the longest first.
    candidates: Vec<Candidate>,
    /// The code of each byte alone.
    bytes: [Option<u8>; 256],
}

struct Candidate {
    symbol: Symbol,
    mask: u64,
    code: u8,
    /// No other one behind it has the same slot.
    is_last: bool,
}

/// Slots of the hash of two bytes, many more than there are symbols.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;

/// What `starts` has for bytes that no symbol begins with.
const NO_CANDIDATE: u16 = u16::MAX;

impl Encoder {
    /// `symbols` have their positions as codes.
    pub(super) fn new(symbols: &[Symbol]) -> Encoder {
        assert!(symbols.len() <= SYMBOLS_MAX, "a code is a byte");
        let mut bytes = [None; 256];
        let mut candidates = Vec::with_capacity(symbols.len());
        for (code, &symbol) in symbols.iter().enumerate() {
            let code = code as u8;
            if symbol.len == 1 {
                bytes[symbol.word as usize] = Some(code);
            } else {
                candidates.push(Candidate { symbol, mask: symbol.mask(), code, is_last: true });
            }
        }
        let slot = |candidate: &Candidate| slot(candidate.symbol.word);
        candidates.sort_unstable_by_key(|one| (slot(one), Reverse(one.symbol)));
        let mut starts = [NO_CANDIDATE; SLOTS];
        for at in (0..candidates.len()).rev() {
            starts[slot(&candidates[at])] = at as u16;
            candidates[at].is_last =
                candidates.get(at + 1).is_none_or(|next| slot(next) != slot(&candidates[at]));
        }
        Encoder { starts, candidates, bytes }
    }

    /// The code and the length of the longest symbol that `text`, which is not empty, begins with.
    fn longest(&self, text: &[u8]) -> Option<(usize, usize)> {
        let word = first_word(text);
        let start = usize::from(self.starts[slot(word)]);
        for candidate in self.candidates.get(start..).unwrap_or_default() {
            let Candidate { symbol, mask, code, is_last } = candidate;
            // At the end of the text the zeroes behind it are none of its bytes.
            if (word ^ symbol.word) & mask == 0 && symbol.len() <= text.len() {
                return Some((usize::from(*code), symbol.len()));
            }
            if *is_last {
                break;
            }
        }
        self.bytes[usize::from(word as u8)].map(|code| (usize::from(code), 1))
    }

    /// Appends the codes of `text`.
    pub(super) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len());
        let mut at = 0;
        while let Some(&first) = text.get(at) {
            match self.longest(&text[at..]) {
                Some((code, len)) => {
                    out.push(code as u8);
                    at += len;
                }
                None => {
                    out.extend_from_slice(&[super::ESCAPE, first]);
                    at += 1;
                }
            }
        }
    }
}

/// The slot of the first two bytes.
#[inline]
fn slot(word: u64) -> usize {
    let hash = u32::from(word as u16).wrapping_mul(0x9e37_79b1);
    (hash >> (u32::BITS - SLOT_BITS)) as usize
}

/// The first eight bytes, zeroes behind the end.
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
