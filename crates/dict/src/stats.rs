//! Figures of a dictionary.

/// Figures for `system.dictionaries`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DictionaryStats {
    pub element_count: u64,
    /// The bytes that the process holds for this dictionary.
    pub bytes_allocated: u64,
    /// Filled slots over all slots; 0 for a layout without slots.
    pub load_factor: f64,
    pub query_count: u64,
    pub found_count: u64,
    /// The keys of `query_count` that a cache did not have, or whose rows had expired.
    pub missed_count: u64,
}
