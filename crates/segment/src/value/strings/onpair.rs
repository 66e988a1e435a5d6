//! Strings as codes of tokens that all strings share, the default encoding of strings.
//!
//! Gargiulo et al., "OnPair: Short Strings Compression for Fast Random Access" (2025); see the codec. A string is
//! decoded alone, by a copy of sixteen bytes for each code, and can be searched without being decoded.
//!
//! # Layout
//!
//! ```text
//! section     the tokens, see `Tokens::write`
//! records     see `records`; a record is the codes of a string, see `Tokens::pack`
//! ```
//!
//! # Cost
//!
//! Tokens of 16 bits take 1.1 MB of memory, and less than that in the file. A string takes about 1 ns for each code.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_codec::{TokenMatcher, Tokens};

use super::decoded::DecodedStrings;
use super::encoding::{RecordDecoder, RecordEncoder};
use crate::Rank;
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::search::{TokenStrings, VisitCodes};
use crate::value::{ColumnStore, StringStore};

pub(super) const ENCODING: &str = "onpair";

/// The bytes of a string that are encoded before its codes are packed: a multiple of 8 codes stays aligned.
const CODES_AT_ONCE: usize = 1 << 12;

/// Encodes strings with tokens that were trained before.
pub(super) struct OnPairEncoder {
    tokens: Tokens,
    matcher: TokenMatcher,
    place: SpoolPlace,
    codes: Vec<u16>,
}

impl OnPairEncoder {
    pub(super) fn new(tokens: Tokens, place: &SpoolPlace) -> OnPairEncoder {
        let matcher = TokenMatcher::new(&tokens);
        OnPairEncoder { tokens, matcher, place: place.clone(), codes: Vec::with_capacity(CODES_AT_ONCE) }
    }
}

impl RecordEncoder for OnPairEncoder {
    fn name(&self) -> &'static str {
        ENCODING
    }

    fn encode(&mut self, string: &[u8], record: &mut Vec<u8>) -> Result<()> {
        let OnPairEncoder { tokens, matcher, codes, .. } = self;
        codes.clear();
        matcher.encode(string, 0..string.len(), |code| {
            codes.push(code);
            if codes.len() == CODES_AT_ONCE {
                tokens.pack(codes, record);
                codes.clear();
            }
        });
        tokens.pack(codes, record);
        Ok(())
    }

    fn finish(&mut self, component: &mut PendingComponent) -> Result<()> {
        component.section(write_tokens(&self.tokens, &self.place)?);
        Ok(())
    }

    #[cfg(test)]
    fn heap_bytes(&self) -> usize {
        self.tokens.heap_bytes() + self.matcher.heap_bytes() + self.codes.capacity() * size_of::<u16>()
    }
}

/// A section of the tokens.
pub(super) fn write_tokens(tokens: &Tokens, place: &SpoolPlace) -> Result<crate::file::Spool> {
    let mut written = Vec::new();
    tokens.write(&mut written);
    place.spool_of(&written)
}

/// Reads the section of [`write_tokens`], and returns its bytes too.
pub(super) fn read_tokens(component: &mut ComponentReader<'_>) -> Result<(Tokens, u64)> {
    let section = component.resident()?;
    let tokens = Tokens::read(&section).map_err(|error| component.place().corrupt(error.to_string()))?;
    Ok((tokens, section.len() as u64))
}

/// Decodes codes.
#[derive(Debug)]
struct OnPairDecoder {
    tokens: Tokens,
    tokens_bytes: u64,
}

impl RecordDecoder for OnPairDecoder {
    #[inline]
    fn append(&self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.tokens.append_packed(record, out);
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        self.tokens_bytes
    }
}

/// Strings by rank, whose codes can be read too.
#[derive(Debug)]
pub(super) struct OnPairStrings(DecodedStrings<OnPairDecoder>);

impl OnPairStrings {
    pub(super) fn open(mut component: ComponentReader<'_>) -> Result<OnPairStrings> {
        let (tokens, tokens_bytes) = read_tokens(&mut component)?;
        DecodedStrings::open(OnPairDecoder { tokens, tokens_bytes }, component).map(OnPairStrings)
    }

    /// Appends the codes of the string of `rank` to `codes`.
    pub(super) fn codes(&self, rank: Rank, codes: &mut Vec<u16>) -> Result<()> {
        self.tokens().unpack(self.0.records.get(rank, &mut Vec::new())?, codes);
        Ok(())
    }
}

impl ColumnStore for OnPairStrings {
    fn len(&self) -> u32 {
        self.0.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        self.0.take(ranks)
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        self.0.scan(ranks)
    }

    fn as_strings(&self) -> Option<&dyn StringStore> {
        Some(self)
    }

    fn stored_bytes(&self) -> u64 {
        self.0.stored_bytes()
    }
}

impl StringStore for OnPairStrings {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.0.append(rank, out)
    }

    fn as_tokens(&self) -> Option<&dyn TokenStrings> {
        Some(self)
    }
}

impl TokenStrings for OnPairStrings {
    fn tokens(&self) -> &Tokens {
        &self.0.decoder.tokens
    }

    fn scan_codes(&self, ranks: Range<Rank>, visit: &mut VisitCodes<'_>) -> Result<()> {
        let mut codes = Vec::new();
        self.0.records.scan(ranks, |rank, record| {
            codes.clear();
            self.tokens().unpack(record, &mut codes);
            visit(rank, &codes)
        })
    }
}
