//! `ngrambf_v1`: a filter of the n-grams of strings, which finds substrings.
//!
//! Encoding: number of hash functions u32, the bits.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;

use super::bits::{BloomBits, hash};
use super::bloom_filter::{decode_bits, encode_bits};
use super::predicate::ValueTest;
use super::summary::{FilterSize, Summary, any_point, for_each_value};
use super::text::ngrams;
use crate::error::{Damage, Result};

/// Summary of the n-grams of some granules.
#[derive(Debug)]
pub(crate) struct NgramSummary {
    n: usize,
    seed: u64,
    bits: BloomBits,
}

impl NgramSummary {
    pub(crate) fn new(n: u32, filter: FilterSize) -> NgramSummary {
        let bits = BloomBits::new(filter.bytes as usize, filter.hashes);
        NgramSummary { n: n as usize, seed: filter.seed, bits }
    }

    pub(crate) fn decode(n: u32, filter: FilterSize, bytes: &[u8]) -> Result<NgramSummary, Damage> {
        Ok(NgramSummary { n: n as usize, seed: filter.seed, bits: decode_bits(bytes)? })
    }

    /// Whether a string that contains `text` may be present; always if the text is too short.
    fn has(&self, text: &[u8]) -> bool {
        ngrams(text, self.n).all(|gram| self.bits.contains(hash(gram, self.seed)))
    }
}

impl Summary for NgramSummary {
    fn append(&mut self, values: &ArrayRef) -> Result<()> {
        for_each_value(values, &mut |text| {
            ngrams(text, self.n).for_each(|gram| self.bits.insert(hash(gram, self.seed)));
        });
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        Ok(encode_bits(&self.bits))
    }

    fn may_match(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Points(points) | ValueTest::Elements(points) if is_text(points) => {
                any_point(points, |text| self.has(text))
            }
            ValueTest::Substrings(substrings) => {
                substrings.iter().all(|substring| self.has(&substring.bytes))
            }
            ValueTest::Token(token) => self.has(token),
            _ => true,
        }
    }
}

pub(crate) fn is_text(points: &ArrayRef) -> bool {
    matches!(points.data_type(), DataType::BinaryView | DataType::FixedSizeBinary(_))
}
