//! Memory of one query and of the process: counted by allocations, compared with a limit by checks.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, ErrorCode, Result};

/// Bytes that a thread takes or gives back before its query hears of them.
pub const UNTRACKED_BYTES_MAX: u64 = 256 << 10;

/// How old a measurement of the process may be, and how many bytes may have been taken since.
const SAMPLE_AGE_MAX: Duration = Duration::from_millis(50);
const SAMPLE_BYTES_MAX: i64 = 16 << 20;

/// What all threads took less what they gave back.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);

/// What one query holds.
#[derive(Debug, Default)]
pub struct MemoryTracker {
    amount: AtomicI64,
    peak: AtomicI64,
    /// 0 is none.
    limit: u64,
}

impl MemoryTracker {
    /// Up to `limit` bytes; 0 is no limit.
    pub fn new(limit: u64) -> MemoryTracker {
        MemoryTracker { limit, ..MemoryTracker::default() }
    }

    /// Bytes held now; what was taken elsewhere and given back here is missed, so that it is never below 0.
    pub fn amount(&self) -> u64 {
        self.amount.load(Ordering::Relaxed).max(0) as u64
    }

    /// The most that was held at once.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed).max(0) as u64
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn add(&self, bytes: i64) {
        let amount = self.amount.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if amount > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(amount, Ordering::Relaxed);
        }
    }

    /// MEMORY_LIMIT_EXCEEDED if `additional` bytes more would be over the limit.
    pub fn check(&self, additional: u64) -> Result<()> {
        let would_use = self.amount().saturating_add(additional);
        if self.limit == 0 || would_use <= self.limit {
            return Ok(());
        }
        Err(self.exceeded(additional))
    }

    #[cold]
    fn exceeded(&self, additional: u64) -> Error {
        // What was taken already is over the limit: then the last that was taken is what did not fit.
        let chunk = additional.max(UNTRACKED_BYTES_MAX);
        let would_use = Size(self.amount().saturating_add(additional));
        let what = format!(
            "Query memory limit exceeded: would use {would_use} (attempt to allocate chunk of {}), maximum: {}",
            Size(chunk),
            Size(self.limit),
        );
        Error::new(ErrorCode::MemoryLimitExceeded, what)
    }
}

/// What the process holds, measured now and then, and its limit.
pub struct ServerTracker {
    limit: u64,
    sample: Mutex<Sample>,
    make_room: Box<dyn Fn(u64) + Send + Sync>,
}

/// Anonymous memory of the process at one time, and what was allocated at that time.
#[derive(Clone, Copy)]
struct Sample {
    resident: u64,
    allocated: i64,
    at: Instant,
}

impl ServerTracker {
    /// Up to `limit` bytes, 0 is no limit. `make_room` is called when the limit is broken, with the bytes that are too
    /// many: caches shrink, and free memory goes back to the system.
    pub fn new(limit: u64, make_room: impl Fn(u64) + Send + Sync + 'static) -> ServerTracker {
        ServerTracker { limit, sample: Mutex::new(Sample::now()), make_room: Box::new(make_room) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that the process holds about now.
    pub fn total(&self) -> u64 {
        self.estimate(false)
    }

    /// Whether `additional` bytes more have room in the end.
    pub fn has_room(&self, additional: u64) -> bool {
        let fits = |total: u64| total.saturating_add(additional) <= self.limit;
        if self.limit == 0 || fits(self.estimate(false)) {
            return true;
        }
        let total = self.estimate(true);
        if fits(total) {
            return true;
        }
        (self.make_room)(total.saturating_add(additional) - self.limit);
        fits(self.estimate(true))
    }

    /// MEMORY_LIMIT_EXCEEDED if `additional` bytes more have no room.
    pub(super) fn check(&self, additional: u64) -> Result<()> {
        match self.has_room(additional) {
            true => Ok(()),
            false => Err(self.exceeded(additional)),
        }
    }

    #[cold]
    fn exceeded(&self, additional: u64) -> Error {
        let total = self.total();
        let what = format!(
            "(total) memory limit exceeded: would use {} (attempt to allocate chunk of {}), current RSS: {}, maximum: {}",
            Size(total.saturating_add(additional)),
            Size(additional.max(UNTRACKED_BYTES_MAX)),
            Size(total),
            Size(self.limit),
        );
        Error::new(ErrorCode::MemoryLimitExceeded, what)
    }

    fn estimate(&self, anew: bool) -> u64 {
        let allocated = ALLOCATED.load(Ordering::Relaxed);
        // A thread that panicked with it left a sample all the same.
        let mut sample = self.sample.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let since = allocated - sample.allocated;
        if anew || since.abs() > SAMPLE_BYTES_MAX || sample.at.elapsed() > SAMPLE_AGE_MAX {
            *sample = Sample::now();
            return sample.resident;
        }
        sample.resident.saturating_add_signed(since)
    }
}

impl fmt::Debug for ServerTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTracker").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Sample {
    fn now() -> Sample {
        let allocated = ALLOCATED.load(Ordering::Relaxed);
        Sample { resident: resident_bytes().unwrap_or(0), allocated, at: Instant::now() }
    }
}

/// Memory of the process that is of no file, if the system tells.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// Counts for the process: `bytes` were taken, or given back if negative.
pub(super) fn add_to_process(bytes: i64) {
    ALLOCATED.fetch_add(bytes, Ordering::Relaxed);
}

/// A number of bytes as ClickHouse prints it in such errors: `9.54 MiB`.
struct Size(u64);

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

    #[test]
    fn process_over_its_limit_makes_room_first() {
        use std::sync::Arc;
        use std::sync::atomic::AtomicU64;
        let asked = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&asked);
        let server = ServerTracker::new(1, move |bytes| seen.store(bytes, Ordering::Relaxed));
        assert!(!server.has_room(1));
        assert!(asked.load(Ordering::Relaxed) > 0);
        assert!(server.check(1).expect_err("no room").message().starts_with("(total) memory limit exceeded"));
        assert!(ServerTracker::new(0, |_| ()).has_room(u64::MAX));
    }
}
