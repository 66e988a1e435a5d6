//! The numbers of the file format.

/// The version that is written, and the only one that is read: a dictionary can be loaded again.
pub(super) const VERSION: u32 = 12;
pub(super) const MAGIC: [u8; 4] = *b"BDIC";
pub(super) const TRAILER_BYTES: usize = 32;
/// Enough for tables whose buckets are cache lines.
pub(super) const SECTION_ALIGNMENT: u64 = 128;
