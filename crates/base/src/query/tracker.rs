//! The memory of one query: counted by allocations, compared with its limit by checks.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::{Error, ErrorCode, Result};

/// Bytes that a thread allocates or frees before they are charged to its query.
pub const UNTRACKED_BYTES_MAX: u64 = 256 << 10;

/// Memory of one query.
#[derive(Debug, Default)]
pub struct MemoryTracker {
    amount: AtomicI64,
    peak: AtomicI64,
    /// 0 for no limit.
    limit: u64,
}

impl MemoryTracker {
    /// `limit` in bytes; 0 for none.
    pub fn new(limit: u64) -> MemoryTracker {
        MemoryTracker { limit, ..MemoryTracker::default() }
    }

    /// Bytes held now. Memory that another query allocated and this one freed is missing, so the result is at least
    /// 0.
    pub fn amount(&self) -> u64 {
        self.amount.load(Ordering::Relaxed).max(0) as u64
    }

    /// The peak of the bytes held.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed).max(0) as u64
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Charges what `other` holds to this tracker, which will see it freed.
    pub fn take_over(&self, other: &MemoryTracker) {
        self.add(other.amount.load(Ordering::Relaxed));
    }

    pub(super) fn add(&self, bytes: i64) {
        let amount = self.amount.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if amount > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(amount, Ordering::Relaxed);
        }
    }

    /// MEMORY_LIMIT_EXCEEDED if `additional` bytes more would be over the limit.
    pub fn check(&self, additional: u64) -> Result<()> {
        self.check_held(self.amount(), additional)
    }

    /// Like [`MemoryTracker::check`], for a caller that knows the held bytes better.
    pub fn check_held(&self, held: u64, additional: u64) -> Result<()> {
        let would_use = held.saturating_add(additional);
        if self.limit == 0 || would_use <= self.limit {
            return Ok(());
        }
        Err(exceeded(would_use, additional, self.limit))
    }
}

#[cold]
fn exceeded(would_use: u64, additional: u64, limit: u64) -> Error {
    let what = format!(
        "Query memory limit exceeded: would use {} (attempt to allocate chunk of {}), maximum: {}",
        Size(would_use),
        chunk(additional),
        Size(limit),
    );
    Error::new(ErrorCode::MemoryLimitExceeded, what)
}

/// The size of the allocation that did not fit; the last charge if all of it was allocated already.
pub(super) fn chunk(additional: u64) -> Size {
    Size(if additional == 0 { UNTRACKED_BYTES_MAX } else { additional })
}

/// A number of bytes in ClickHouse's form: `9.54 MiB`.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.2} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_in_the_words_of_clickhouse() {
        let tracker = MemoryTracker::new(10_000_000);
        tracker.add(9_000_000);
        tracker.check(1_000_000).expect("just fits");
        let error = tracker.check(4 << 20).expect_err("too much");
        assert_eq!(error.code(), ErrorCode::MemoryLimitExceeded);
        assert_eq!(
            error.message(),
            "Query memory limit exceeded: would use 12.58 MiB (attempt to allocate chunk of 4.00 MiB), maximum: 9.54 MiB"
        );
        tracker.add(-9_000_000);
        tracker.check(4 << 20).expect("room again");
        assert_eq!((tracker.amount(), tracker.peak()), (0, 9_000_000));
    }
}
