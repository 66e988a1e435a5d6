//! Strings as long matches with a dictionary of their segment, and codes of tokens for the rest: for texts with
//! passages that many records share.
//!
//! Relative Lempel-Ziv: Hoobin, Puglisi and Zobel, "Relative Lempel-Ziv Factorization for Efficient Storage and
//! Retrieval of Web Collections" (PVLDB 5, 2011). Only long matches are taken; what is between them is encoded as by
//! [`super::onpair`].
//!
//! # Layout
//!
//! ```text
//! numbers     the bytes of the longest string, and of the dictionary
//! section     the dictionary, see `match_dictionary`
//! section     the tokens, see `Tokens::write`
//! records     see `records`; a record has a block for each BLOCK_BYTES of its string:
//!             2 * count of matches + 1 if a block follows, varint
//!             bytes of the codes, varint, if a block follows
//!             for each match: codes before it, varint | its bytes - MATCH_BYTES_MIN, varint | position u32
//!             the codes between matches, see `Tokens::pack`
//! ```
//!
//! # Invariants
//!
//! Matches lie in the dictionary, and a string is not longer than the longest; both are compared while a record is
//! decoded.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::cell::RefCell;
use std::fmt;

use basalt_base::{Error, Result};
use basalt_codec::{TokenMatcher, Tokens};

use super::encoding::{RecordDecoder, RecordEncoder};
use super::input::STRING_BYTES_MAX;
use super::match_dictionary::{self, DICTIONARY_BYTES_MAX};
use super::match_index::{MATCH_BYTES_MIN, Match, MatchIndex};
use super::onpair::{read_tokens, write_tokens};
use super::varint;
use crate::Place;
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};

pub(super) const ENCODING: &str = "long_match";

/// Bytes of a string whose matches and codes are in memory at once.
const BLOCK_BYTES: usize = 1 << 20;

// The codes of a block are unpacked before they are decoded.
thread_local! {
    static CODES: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
}

/// Calls `take` with each part of `text` that no match covers.
pub(super) fn between<'a>(text: &'a [u8], matches: &[Match], mut take: impl FnMut(&'a [u8])) {
    let mut from = 0;
    for found in matches {
        take(&text[from..found.text.start]);
        from = found.text.end;
    }
    take(&text[from..]);
}

/// Encodes strings with a dictionary and tokens that were chosen before.
pub(super) struct LongMatchEncoder {
    index: MatchIndex,
    tokens: Tokens,
    matcher: TokenMatcher,
    place: SpoolPlace,
    longest: usize,
    matches: Vec<Match>,
    codes: Vec<u16>,
}

impl LongMatchEncoder {
    pub(super) fn new(dictionary: Vec<u8>, tokens: Tokens, place: &SpoolPlace) -> LongMatchEncoder {
        LongMatchEncoder {
            index: MatchIndex::new(dictionary),
            matcher: TokenMatcher::new(&tokens),
            tokens,
            place: place.clone(),
            longest: 0,
            matches: Vec::new(),
            codes: Vec::new(),
        }
    }

    fn encode_block(&mut self, block: &[u8], is_last: bool, record: &mut Vec<u8>) -> Result<()> {
        let LongMatchEncoder { index, matcher, tokens, matches, codes, .. } = self;
        index.matches(block, matches);
        codes.clear();
        let mut ends = Vec::with_capacity(matches.len() + 1);
        between(block, matches, |text| {
            matcher.encode(text, 0..text.len(), |code| codes.push(code));
            ends.push(codes.len());
        });
        varint::put(number(2 * matches.len() + usize::from(!is_last))?, record);
        if !is_last {
            varint::put(number(tokens.packed_bytes(codes.len()))?, record);
        }
        let mut start = 0;
        for (found, end) in matches.iter().zip(ends) {
            varint::put(number(end - start)?, record);
            varint::put(number(found.text.len() - MATCH_BYTES_MIN)?, record);
            record.extend_from_slice(&number(found.position)?.to_le_bytes());
            start = end;
        }
        tokens.pack(codes, record);
        Ok(())
    }
}

fn number(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(Error::logical)
}

impl RecordEncoder for LongMatchEncoder {
    fn name(&self) -> &'static str {
        ENCODING
    }

    fn encode(&mut self, string: &[u8], record: &mut Vec<u8>) -> Result<()> {
        self.longest = self.longest.max(string.len());
        let mut blocks = string.chunks(BLOCK_BYTES).peekable();
        while let Some(block) = blocks.next() {
            self.encode_block(block, blocks.peek().is_none(), record)?;
        }
        Ok(())
    }

    fn finish(&mut self, component: &mut PendingComponent) -> Result<()> {
        let dictionary = self.index.dictionary();
        component.number(self.longest as u64);
        component.number(dictionary.len() as u64);
        component.section(self.place.spool_of(&match_dictionary::encode(dictionary)?)?);
        component.section(write_tokens(&self.tokens, &self.place)?);
        Ok(())
    }

    #[cfg(test)]
    fn heap_bytes(&self) -> usize {
        self.index.heap_bytes()
            + self.tokens.heap_bytes()
            + self.matcher.heap_bytes()
            + self.codes.capacity() * size_of::<u16>()
            + self.matches.capacity() * size_of::<Match>()
    }
}

/// Decodes matches and codes.
pub(super) struct LongMatchDecoder {
    dictionary: Vec<u8>,
    tokens: Tokens,
    longest: usize,
    stored_bytes: u64,
    place: Place,
}

impl LongMatchDecoder {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<LongMatchDecoder> {
        let place = component.place().clone();
        let longest =
            usize::try_from(component.number_to(STRING_BYTES_MAX as u64)?).map_err(Error::logical)?;
        let bytes = component.number_to(DICTIONARY_BYTES_MAX as u64)?;
        let written = component.resident()?;
        let bytes = usize::try_from(bytes).map_err(Error::logical)?;
        let dictionary = match_dictionary::decode(&written, bytes, &place)?;
        let (tokens, tokens_bytes) = read_tokens(component)?;
        let stored_bytes = written.len() as u64 + tokens_bytes;
        Ok(LongMatchDecoder { dictionary, tokens, longest, stored_bytes, place })
    }

    /// Appends the first block of `record`, and returns what follows it. `None` if it is damaged.
    fn append_block<'a>(
        &self,
        mut record: &'a [u8],
        start: usize,
        codes: &mut Vec<u16>,
        out: &mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let head = varint::take(&mut record)?;
        let (count, is_last) = (head / 2, head.is_multiple_of(2));
        let codes_bytes = match is_last {
            true => None,
            false => Some(usize::try_from(varint::take(&mut record)?).ok()?),
        };
        let mut matches = record;
        (0..count).try_for_each(|_| self.take_match(&mut record).map(drop))?;
        let (packed, rest) = record.split_at_checked(codes_bytes.unwrap_or(record.len()))?;
        codes.clear();
        self.tokens.unpack(packed, codes);
        let mut left = codes.as_slice();
        for _ in 0..count {
            let (before, text) = self.take_match(&mut matches)?;
            let (front, after) = left.split_at_checked(before)?;
            self.tokens.append(front, out);
            if out.len() - start + text.len() > self.longest {
                return None;
            }
            out.extend_from_slice(text);
            left = after;
        }
        self.tokens.append(left, out);
        Some(rest).filter(|_| out.len() - start <= self.longest)
    }

    /// The codes before a match, and its text.
    #[inline]
    fn take_match(&self, input: &mut &[u8]) -> Option<(usize, &[u8])> {
        let before = usize::try_from(varint::take(input)?).ok()?;
        let bytes = usize::try_from(varint::take(input)?).ok()?.checked_add(MATCH_BYTES_MIN)?;
        let (position, rest) = input.split_first_chunk()?;
        *input = rest;
        let position = usize::try_from(u32::from_le_bytes(*position)).ok()?;
        Some((before, self.dictionary.get(position..position.checked_add(bytes)?)?))
    }
}

impl RecordDecoder for LongMatchDecoder {
    fn append(&self, mut record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        CODES.with_borrow_mut(|codes| {
            while !record.is_empty() {
                let rest = self.append_block(record, start, codes, out);
                record = rest.ok_or_else(|| self.place.corrupt("a string cannot be decoded"))?;
            }
            Ok(())
        })
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }
}

impl fmt::Debug for LongMatchDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongMatchDecoder").field("dictionary", &self.dictionary.len()).finish_non_exhaustive()
    }
}
