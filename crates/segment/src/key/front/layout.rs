//! Names and sizes in a file.

/// The name in the directory.
pub(in crate::key) const ENCODING: &str = "front";

/// The most keys of a block that is read.
pub(super) const BLOCK_KEYS_MAX: usize = 64;
