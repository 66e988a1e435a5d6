//! The memory of the process: sampled now and then, compared with its limit by checks.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::status::QueryStatus;
use super::tracker::{Size, chunk};
use crate::{Error, ErrorCode, Result};

/// A sample is renewed after this time, or after this many bytes.
const SAMPLE_AGE_MAX: Duration = Duration::from_millis(50);
const SAMPLE_BYTES_MAX: u64 = 16 << 20;

/// While the process exceeds its limit by less than this share, other queries than the largest continue: the
/// largest one has been cancelled.
const PATIENCE_SHARE: u64 = 16;

/// Free pages that the allocator keeps, and memory outside the allocator, count up to this share of the limit.
const KEPT_SHARE: u64 = 4;

/// Bytes that all threads allocated less those that they freed.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);

/// The sampled memory of the process and its limit.
pub struct ServerTracker {
    limit: u64,
    sample: Mutex<Sample>,
    make_room: Box<dyn Fn(u64) + Send + Sync>,
    queries: Mutex<Vec<Weak<QueryStatus>>>,
}

/// Anonymous memory of the process at one time, and the allocated bytes at that time.
#[derive(Clone, Copy)]
struct Sample {
    resident: u64,
    allocated: i64,
    at: Instant,
}

impl ServerTracker {
    /// `limit` in bytes, 0 for none. When it is exceeded, `make_room` is called with the excess: caches shrink, and
    /// free pages go back to the system.
    pub fn new(limit: u64, make_room: impl Fn(u64) + Send + Sync + 'static) -> ServerTracker {
        let (sample, queries) = (Mutex::new(Sample::now()), Mutex::default());
        ServerTracker { limit, sample, make_room: Box::new(make_room), queries }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Approximate bytes that the process holds.
    pub fn total(&self) -> u64 {
        self.estimate(false)
    }

    /// Approximate bytes of free pages that the allocator keeps, and of memory outside it.
    pub fn kept(&self) -> u64 {
        let sample = Sample::now();
        sample.resident.saturating_sub(u64::try_from(sample.allocated).unwrap_or(0))
    }

    /// Registers `query` as a candidate for eviction.
    pub(super) fn watch(&self, query: &Arc<QueryStatus>) {
        let mut queries = lock(&self.queries);
        queries.retain(|query| query.strong_count() > 0);
        queries.push(Arc::downgrade(query));
    }

    /// Whether `additional` bytes fit, after caches made room.
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

    /// MEMORY_LIMIT_EXCEEDED if `additional` bytes do not fit. The largest query is cancelled; another gets the
    /// error only if the process exceeds its limit by too much meanwhile.
    pub(super) fn check(&self, query: &QueryStatus, additional: u64) -> Result<()> {
        if self.has_room(additional) {
            return Ok(());
        }
        let largest = self.largest();
        let held = query.memory().amount();
        if let Some(largest) = largest.filter(|largest| largest.memory().amount() > held) {
            largest.evict();
            if self.total().saturating_add(additional) <= self.limit + self.limit / PATIENCE_SHARE {
                return Ok(());
            }
        }
        Err(self.exceeded(additional))
    }

    fn largest(&self) -> Option<Arc<QueryStatus>> {
        let queries = lock(&self.queries);
        queries.iter().filter_map(Weak::upgrade).max_by_key(|query| query.memory().amount())
    }

    /// MEMORY_LIMIT_EXCEEDED for `additional` bytes that do not fit.
    #[cold]
    pub fn exceeded(&self, additional: u64) -> Error {
        let total = self.total();
        let what = format!(
            "(total) memory limit exceeded: would use {} (attempt to allocate chunk of {}), current RSS: {}, maximum: {}",
            Size(total.saturating_add(additional)),
            chunk(additional),
            Size(total),
            Size(self.limit),
        );
        Error::new(ErrorCode::MemoryLimitExceeded, what)
    }

    fn estimate(&self, anew: bool) -> u64 {
        let allocated = ALLOCATED.load(Ordering::Relaxed);
        let mut sample = lock(&self.sample);
        let since = allocated - sample.allocated;
        if anew || since.unsigned_abs() > SAMPLE_BYTES_MAX || sample.at.elapsed() > SAMPLE_AGE_MAX {
            *sample = Sample::now();
            return self.held(sample.resident, sample.allocated);
        }
        self.held(sample.resident.saturating_add_signed(since), allocated)
    }

    /// The part of `resident` bytes that counts: allocated ones, and others up to a share of the limit. Free pages
    /// that the allocator keeps are reused before it takes new ones, so they are no reason to cancel a query.
    fn held(&self, resident: u64, allocated: i64) -> u64 {
        let allocated = u64::try_from(allocated).unwrap_or(0);
        if allocated == 0 {
            // The process has another allocator, which counts nothing.
            return resident;
        }
        resident.min(allocated.saturating_add(self.limit / KEPT_SHARE))
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

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under the lock is one assignment, so a panic leaves it consistent.
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Anonymous resident memory of the process, if the system reports it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// Charges `bytes` to the process; negative bytes were freed.
pub(super) fn add_to_process(bytes: i64) {
    ALLOCATED.fetch_add(bytes, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::super::{MemoryTracker, TimeLimit};
    use super::*;

    #[test]
    fn process_over_its_limit_makes_room_first() {
        let asked = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&asked);
        let server = ServerTracker::new(1, move |bytes| seen.store(bytes, Ordering::Relaxed));
        assert!(!server.has_room(1));
        assert!(asked.load(Ordering::Relaxed) > 0);
        assert!(server.exceeded(1).message().starts_with("(total) memory limit exceeded: would use "));
        assert!(ServerTracker::new(0, |_| ()).has_room(u64::MAX));
    }

    #[test]
    fn pages_that_are_kept_count_up_to_a_share() {
        let server = ServerTracker::new(1000, |_| ());
        assert_eq!(server.held(900, 0), 900);
        assert_eq!(server.held(900, 800), 900);
        assert_eq!(server.held(1400, 500), 750);
    }

    #[test]
    fn largest_query_is_the_one_to_end() {
        let limit = 1 << 40;
        let server = Arc::new(ServerTracker::new(limit, |_| ()));
        let query = |bytes: i64| {
            let status =
                QueryStatus::new("q", Arc::default(), TimeLimit::default(), MemoryTracker::default());
            let status = status.on_server(&server);
            status.memory().add(bytes);
            status
        };
        let (small, large) = (query(10), query(1000));
        small.check_memory(limit).expect("the other one ends");
        assert!(large.check_memory(0).is_err());
        assert!(small.check_memory(2 * limit).is_err(), "the process is in danger");
    }
}
