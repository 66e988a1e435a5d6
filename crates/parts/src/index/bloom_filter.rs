//! `bloom_filter`: a filter of the values, or of the elements of arrays, sized by their number.
//!
//! Encoding: number of hash functions u32, the bits.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;

use super::bits::{BloomBits, hash};
use super::predicate::ValueTest;
use super::summary::{Summary, any_point, for_each_value};
use crate::error::{Damage, Result};
use crate::fields::FieldReader;

const SEED: u64 = 0;

/// Summary of the values of some granules.
#[derive(Debug)]
pub(crate) struct BloomSummary {
    false_positive: f64,
    /// The hashes so far; their number decides the size of the filter.
    hashes: HashSet<u64>,
    /// The filter of a decoded summary.
    bits: Option<BloomBits>,
}

impl BloomSummary {
    pub(crate) fn new(false_positive: f64) -> BloomSummary {
        BloomSummary { false_positive, hashes: HashSet::new(), bits: None }
    }

    pub(crate) fn decode(false_positive: f64, bytes: &[u8]) -> Result<BloomSummary, Damage> {
        let bits = decode_bits(bytes)?;
        Ok(BloomSummary { false_positive, hashes: HashSet::new(), bits: Some(bits) })
    }

    fn has(&self, value: &[u8]) -> bool {
        let hash = hash(value, SEED);
        self.bits.as_ref().map_or_else(|| self.hashes.contains(&hash), |bits| bits.contains(hash))
    }
}

impl Summary for BloomSummary {
    fn append(&mut self, values: &ArrayRef) -> Result<()> {
        for_each_value(values, &mut |value| {
            self.hashes.insert(hash(value, SEED));
        });
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let mut bits = BloomBits::sized(self.hashes.len(), self.false_positive);
        self.hashes.iter().for_each(|&hash| bits.insert(hash));
        Ok(encode_bits(&bits))
    }

    fn may_match(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Points(points) if !is_nested(points) => any_point(points, |value| self.has(value)),
            ValueTest::Elements(points) if !is_nested(points) => any_point(points, |value| self.has(value)),
            _ => true,
        }
    }
}

/// Whether the values are arrays, or of a type without values: the filter has only the elements of arrays.
fn is_nested(points: &ArrayRef) -> bool {
    points.data_type().is_nested() || *points.data_type() == DataType::Null
}

pub(crate) fn encode_bits(bits: &BloomBits) -> Vec<u8> {
    let mut out = bits.hashes().to_le_bytes().to_vec();
    out.extend_from_slice(&bits.to_bytes());
    out
}

pub(crate) fn decode_bits(bytes: &[u8]) -> Result<BloomBits, Damage> {
    let mut fields = FieldReader::new(bytes);
    let hashes = fields.u32()?;
    BloomBits::from_bytes(&bytes[4..], hashes).ok_or_else(|| Damage::new(0, "this is not a Bloom filter"))
}
