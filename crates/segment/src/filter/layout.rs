//! Names and sizes in a file.

/// The name in the directory.
pub(super) const ENCODING: &str = "binary fuse 8";

/// Bytes of the entry of a shard.
pub(super) const ENTRY_BYTES: usize = 24;
