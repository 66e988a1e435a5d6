//! The contract of skip indexes: the summary that one keeps of some granules, and the values that it is made of.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

use super::predicate::ValueTest;
use crate::column::encoder::fixed_width;
use crate::error::Result;

/// The summary that an index keeps of the values of some granules.
pub(crate) trait Summary: fmt::Debug + Send + Sync {
    /// Adds the values of more rows.
    fn append(&mut self, values: &ArrayRef) -> Result<()>;

    /// Encodes the summary for [`IndexKind::decode`](super::kind::IndexKind::decode).
    fn encode(&self) -> Result<Vec<u8>>;

    /// Whether a value may pass the test. A test that the type does not [understand](super::kind::IndexKind::understands) may
    /// pass.
    fn may_match(&self, test: &ValueTest) -> bool;
}

/// A Bloom filter of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterSize {
    pub bytes: u32,
    pub hashes: u32,
    pub seed: u64,
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
