//! The types of skip indexes, and the summaries that they keep.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field};

use super::bloom_filter::BloomSummary;
use super::min_max::MinMaxSummary;
use super::ngram_filter::NgramSummary;
use super::predicate::Wanted;
use super::set::SetSummary;
use super::token_filter::TokenSummary;
use crate::column::encoder::fixed_width;
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

/// A Bloom filter of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterSize {
    pub bytes: u32,
    pub hashes: u32,
    pub seed: u64,
}

/// The summary that an index keeps of the values of some granules.
pub(crate) trait Summary: fmt::Debug + Send + Sync {
    /// Adds the values of more rows.
    fn append(&mut self, values: &ArrayRef) -> Result<()>;

    /// Encodes the summary for [`IndexKind::decode`].
    fn encode(&self) -> Result<Vec<u8>>;

    /// Whether a value may pass the test. A test that the type does not [understand](IndexKind::understands) may
    /// pass.
    fn may_match(&self, wanted: &Wanted) -> bool;
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
    pub(crate) fn understands(&self, wanted: &Wanted) -> bool {
        match wanted {
            Wanted::Ranges(_) => matches!(self, IndexKind::MinMax | IndexKind::Set { .. }),
            Wanted::Points(_) => true,
            Wanted::Elements(_) => !matches!(self, IndexKind::MinMax | IndexKind::Set { .. }),
            Wanted::Pieces(_) | Wanted::Token(_) => {
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

/// Calls `each` with the bytes of every value that is not NULL; for an array, with those of its elements. Equal
/// values of one type have equal bytes.
pub(crate) fn for_each_value(array: &dyn Array, each: &mut dyn FnMut(&[u8])) {
    match array.data_type() {
        DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(each),
        DataType::Boolean => array.as_boolean().iter().flatten().for_each(|value| each(&[u8::from(value)])),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().for_each(each),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            for row in (0..list.len()).filter(|&row| list.is_valid(row)) {
                for_each_value(&list.value(row), each);
            }
        }
        DataType::Null | DataType::Struct(_) => {}
        fixed => for_each_fixed(array, fixed, each),
    }
}

fn for_each_fixed(array: &dyn Array, data_type: &DataType, each: &mut dyn FnMut(&[u8])) {
    let data = array.to_data();
    let width = fixed_width(data_type);
    let bytes = &data.buffers()[0].as_slice()[data.offset() * width..(data.offset() + data.len()) * width];
    // -0 and +0 are equal: both are hashed as +0.
    let minus_zero: Option<&[u8]> = match data_type {
        DataType::Float32 => Some(&[0, 0, 0, 0x80]),
        DataType::Float64 => Some(&[0, 0, 0, 0, 0, 0, 0, 0x80]),
        _ => None,
    };
    for (row, value) in bytes.chunks_exact(width).enumerate() {
        if array.is_valid(row) {
            each(if Some(value) == minus_zero { &[0; 8][..width] } else { value });
        }
    }
}

/// Whether `check` accepts the bytes of at least one of `points`.
pub(crate) fn any_point(points: &ArrayRef, mut check: impl FnMut(&[u8]) -> bool) -> bool {
    let mut found = false;
    for_each_value(points, &mut |value| found = found || check(value));
    found
}
