//! `tokenbf_v1`: a filter of the tokens of strings, which finds whole words.
//!
//! Encoding: number of hash functions u32, the bits.

use arrow::array::ArrayRef;

use super::bits::{BloomBits, hash};
use super::bloom_filter::{decode_bits, encode_bits};
use super::ngram_filter::is_text;
use super::predicate::{Substring, ValueTest};
use super::summary::{FilterSize, Summary, any_point, for_each_value};
use super::text::tokens;
use crate::error::{Damage, Result};

/// Summary of the tokens of some granules.
#[derive(Debug)]
pub(crate) struct TokenSummary {
    seed: u64,
    bits: BloomBits,
}

impl TokenSummary {
    pub(crate) fn new(filter: FilterSize) -> TokenSummary {
        TokenSummary { seed: filter.seed, bits: BloomBits::new(filter.bytes as usize, filter.hashes) }
    }

    pub(crate) fn decode(filter: FilterSize, bytes: &[u8]) -> Result<TokenSummary, Damage> {
        Ok(TokenSummary { seed: filter.seed, bits: decode_bits(bytes)? })
    }

    fn has(&self, token: &[u8]) -> bool {
        self.bits.contains(hash(token, self.seed))
    }

    fn has_all_tokens(&self, text: &[u8]) -> bool {
        tokens(text).all(|at| self.has(&text[at]))
    }

    /// Checks the complete tokens only: one at the edge of a substring may continue outside of it.
    fn has_inner_tokens(&self, substring: &Substring) -> bool {
        tokens(&substring.bytes).all(|at| {
            let is_whole =
                (at.start > 0 || substring.is_start) && (at.end < substring.bytes.len() || substring.is_end);
            !is_whole || self.has(&substring.bytes[at])
        })
    }
}

impl Summary for TokenSummary {
    fn append(&mut self, values: &ArrayRef) -> Result<()> {
        for_each_value(values, &mut |text| {
            tokens(text).for_each(|at| self.bits.insert(hash(&text[at], self.seed)));
        });
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        Ok(encode_bits(&self.bits))
    }

    fn may_match(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Points(points) | ValueTest::Elements(points) if is_text(points) => {
                any_point(points, |text| self.has_all_tokens(text))
            }
            ValueTest::Substrings(substrings) => {
                substrings.iter().all(|substring| self.has_inner_tokens(substring))
            }
            ValueTest::Token(token) => self.has_all_tokens(token),
            _ => true,
        }
    }
}
