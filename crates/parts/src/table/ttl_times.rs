//! When each partition may have its next TTL merge.

use std::collections::HashMap;
use std::sync::Arc;

use crate::part::view::Part;

/// The earliest time of the next merge of each kind by partition, in seconds since 1970.
#[derive(Debug, Default)]
pub(super) struct TtlTimes {
    pub(super) delete: HashMap<String, i64>,
    pub(super) recompress: HashMap<String, i64>,
}

/// Delays the next merge of this kind in the partition.
pub(super) fn delay_next(times: &mut HashMap<String, i64>, parts: &[Arc<Part>], now_s: i64, timeout_s: u64) {
    times.retain(|_, time| *time > now_s);
    let next = now_s.saturating_add(i64::try_from(timeout_s).unwrap_or(i64::MAX));
    if let Some(part) = parts.first() {
        times.insert(part.name().partition.clone(), next);
    }
}
