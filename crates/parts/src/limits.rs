//! Sizes and limits of a table's parts, and their defaults.

/// Default rows of a granule.
pub const GRANULE_ROWS_DEFAULT: usize = 8192;

/// Default bytes of a granule's values.
pub const GRANULE_BYTES_DEFAULT: u64 = 10 << 20;

/// Default size below which parts are compact, in bytes of values.
pub const WIDE_BYTES_MIN_DEFAULT: u64 = 10 << 20;

/// The most rows of a granule.
pub(crate) const GRANULE_ROWS_MAX: usize = 1 << 20;

/// How much a merge holds at a time, and when it writes a part column by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeLimits {
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// The target size of a batch: wide rows make batches of fewer rows, at least one.
    pub batch_bytes: u64,
    /// The most bytes on disk of parts that are merged in the background.
    pub bytes_max: u64,
    /// Whether columns outside the key may be written one after the other.
    pub is_vertical_allowed: bool,
    /// The least input rows of a vertical merge.
    pub vertical_rows_min: u64,
    /// The least bytes of input values of a vertical merge.
    pub vertical_bytes_min: u64,
    /// The least number of columns outside the key of a vertical merge.
    pub vertical_columns_min: usize,
}

impl Default for MergeLimits {
    fn default() -> MergeLimits {
        MergeLimits {
            batch_rows: GRANULE_ROWS_DEFAULT,
            batch_bytes: 10 << 20,
            bytes_max: 150 << 30,
            is_vertical_allowed: true,
            vertical_rows_min: 16 * GRANULE_ROWS_DEFAULT as u64,
            vertical_bytes_min: 0,
            vertical_columns_min: 11,
        }
    }
}

/// The most damaged parts that are set aside when a table is opened; with more it stays closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenLimits {
    pub parts_max: u64,
    /// Bytes of all their files.
    pub bytes_max: u64,
}

impl Default for BrokenLimits {
    fn default() -> BrokenLimits {
        BrokenLimits { parts_max: 100, bytes_max: 1 << 30 }
    }
}

/// Bytes of the values of a block, the unit of compression. A block has whole granules, at least one, and at most
/// as many as a scan reads at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBytes {
    /// A block takes granules until it has this many bytes.
    pub least: u64,
    /// A block takes no further granule that would exceed this.
    pub most: u64,
}

impl Default for BlockBytes {
    fn default() -> BlockBytes {
        BlockBytes { least: 64 << 10, most: u64::MAX }
    }
}
