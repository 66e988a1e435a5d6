//! Names and sizes in a file.

/// The longest keys of a fixed size.
pub(in crate::key) const FIXED_BYTES_MAX: usize = 32;
/// The longest keys that are integers.
pub(in crate::key) const INTEGER_BYTES_MAX: usize = size_of::<u64>();

/// The names in the directory.
pub(in crate::key) const DENSE: &str = "dense";
pub(in crate::key) const ASCENDING: &str = "ascending";
pub(in crate::key) const ARRAY: &str = "array";
