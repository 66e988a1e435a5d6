//! The registry of skip index types.

use std::fmt;

use arrow::datatypes::Field;

use super::bloom_filter::BloomSummary;
use super::min_max::MinMaxSummary;
use super::ngram_filter::NgramSummary;
use super::predicate::ValueTest;
use super::set::SetSummary;
use super::summary::{FilterSize, Summary};
use super::token_filter::TokenSummary;
use crate::error::{Damage, Result};

/// A type of skip index with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexKind {
    /// The smallest and the largest value.
    MinMax,
    /// The distinct values, if there are no more than this; 0 is no limit.
    Set { values_max: u64 },
    /// A Bloom filter of the values, or of the elements of arrays.
    BloomFilter { false_positive: f64 },
    /// A Bloom filter of the n-grams of strings.
    NgramFilter { n: u32, filter: FilterSize },
    /// A Bloom filter of the tokens of strings.
    TokenFilter { filter: FilterSize },
}

impl IndexKind {
    /// The SQL name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            IndexKind::MinMax => "minmax",
            IndexKind::Set { .. } => "set",
            IndexKind::BloomFilter { .. } => "bloom_filter",
            IndexKind::NgramFilter { .. } => "ngrambf_v1",
            IndexKind::TokenFilter { .. } => "tokenbf_v1",
        }
    }

    /// An empty summary for arrays of `field`.
    pub(crate) fn summary(&self, field: &Field) -> Box<dyn Summary> {
        match *self {
            IndexKind::MinMax => Box::new(MinMaxSummary::new(field)),
            IndexKind::Set { values_max } => Box::new(SetSummary::new(field, values_max)),
            IndexKind::BloomFilter { false_positive } => Box::new(BloomSummary::new(false_positive)),
            IndexKind::NgramFilter { n, filter } => Box::new(NgramSummary::new(n, filter)),
            IndexKind::TokenFilter { filter } => Box::new(TokenSummary::new(filter)),
        }
    }

    pub(crate) fn decode(&self, field: &Field, bytes: &[u8]) -> Result<Box<dyn Summary>, Damage> {
        Ok(match *self {
            IndexKind::MinMax => Box::new(MinMaxSummary::decode(field, bytes)?),
            IndexKind::Set { values_max } => Box::new(SetSummary::decode(field, values_max, bytes)?),
            IndexKind::BloomFilter { false_positive } => {
                Box::new(BloomSummary::decode(false_positive, bytes)?)
            }
            IndexKind::NgramFilter { n, filter } => Box::new(NgramSummary::decode(n, filter, bytes)?),
            IndexKind::TokenFilter { filter } => Box::new(TokenSummary::decode(filter, bytes)?),
        })
    }

    /// Whether the type can skip granules with this test.
    pub(crate) fn understands(&self, test: &ValueTest) -> bool {
        match test {
            ValueTest::Ranges(_) => matches!(self, IndexKind::MinMax | IndexKind::Set { .. }),
            ValueTest::Points(_) => true,
            ValueTest::Elements(_) => !matches!(self, IndexKind::MinMax | IndexKind::Set { .. }),
            ValueTest::Substrings(_) | ValueTest::Token(_) => {
                matches!(self, IndexKind::NgramFilter { .. } | IndexKind::TokenFilter { .. })
            }
        }
    }
}

/// The type as SQL writes it, with its parameters.
impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexKind::MinMax => f.write_str("minmax"),
            IndexKind::Set { values_max } => write!(f, "set({values_max})"),
            IndexKind::BloomFilter { false_positive } => write!(f, "bloom_filter({false_positive})"),
            IndexKind::NgramFilter { n, filter } => {
                write!(f, "ngrambf_v1({n}, {}, {}, {})", filter.bytes, filter.hashes, filter.seed)
            }
            IndexKind::TokenFilter { filter } => {
                write!(f, "tokenbf_v1({}, {}, {})", filter.bytes, filter.hashes, filter.seed)
            }
        }
    }
}
