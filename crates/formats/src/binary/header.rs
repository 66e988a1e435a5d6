//! Limits of the names and types in a header.

/// Columns of a block or file, at most.
pub(crate) const COLUMNS_MAX: u64 = 100_000;
/// Bytes of the name or of the type of a column, at most: an Enum16 may have many labels.
pub(crate) const NAME_BYTES_MAX: u64 = 1 << 20;
