//! What a dictionary says of itself.

/// Figures for `system.dictionaries`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DictionaryStats {
    pub element_count: u64,
    /// What the process holds for this dictionary, in bytes.
    pub bytes_allocated: u64,
    /// Filled slots over all slots; 0 for a layout without slots.
    pub load_factor: f64,
    pub query_count: u64,
    pub found_count: u64,
    /// Of `query_count`, those that a cache did not have, or had too long.
    pub missed_count: u64,
}
