//! Vectors of values, and samples of them.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

/// Values that share a frame of reference.
pub(super) const VECTOR_VALUES: usize = 1024;

/// Vectors in a sample.
const SAMPLE_VECTORS: usize = 8;
const SAMPLE_VALUES: usize = 32;

/// Some values of some vectors, evenly spaced.
pub(super) fn sample<const WIDTH: usize>(values: &[[u8; WIDTH]]) -> Vec<Vec<u64>> {
    let vectors: Vec<_> = values.chunks(VECTOR_VALUES).collect();
    let vectors = vectors.iter().step_by(vectors.len().div_ceil(SAMPLE_VECTORS));
    vectors.map(|vector| sample_vector(vector)).collect()
}

pub(super) fn sample_vector<const WIDTH: usize>(vector: &[[u8; WIDTH]]) -> Vec<u64> {
    vector.iter().step_by(vector.len().div_ceil(SAMPLE_VALUES)).map(crate::value::load).collect()
}

/// A number of bits or entries, stored in a byte.
pub(super) fn byte(number: u32) -> u8 {
    u8::try_from(number).expect("a value has at most 64 bits")
}

/// A count of values of a vector or a position in it, stored in two bytes.
pub(super) fn field(count: usize) -> u16 {
    u16::try_from(count).expect("a vector has at most VECTOR_VALUES values")
}
