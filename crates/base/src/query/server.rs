//! Memory of the process: measured now and then, compared with its limit by checks.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::status::QueryStatus;
use super::tracker::{Size, chunk};
use crate::{Error, ErrorCode, Result};

/// How old a measurement of the process may be, and how many bytes may have been taken since.
const SAMPLE_AGE_MAX: Duration = Duration::from_millis(50);
const SAMPLE_BYTES_MAX: u64 = 16 << 20;

/// A query that is not the largest goes on while the process is over its limit by less than this share of it: the
/// largest one has been told.
const PATIENCE_SHARE: u64 = 16;

/// Pages that the allocator keeps, and what others than it hold, count up to this share of the limit.
const KEPT_SHARE: u64 = 4;

/// What all threads took less what they gave back.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);

/// What the process holds, measured now and then, and its limit.
pub struct ServerTracker {
    limit: u64,
    sample: Mutex<Sample>,
    make_room: Box<dyn Fn(u64) + Send + Sync>,
    queries: Mutex<Vec<Weak<QueryStatus>>>,
}

/// Memory of the process that is of no file at one time, and what was allocated at that time.
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
        let (sample, queries) = (Mutex::new(Sample::now()), Mutex::default());
        ServerTracker { limit, sample, make_room: Box::new(make_room), queries }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that the process holds about now.
    pub fn total(&self) -> u64 {
        self.estimate(false)
    }

    /// Knows of `query` from now on, for when the largest must end.
    pub(super) fn watch(&self, query: &Arc<QueryStatus>) {
        let mut queries = lock(&self.queries);
        queries.retain(|query| query.strong_count() > 0);
        queries.push(Arc::downgrade(query));
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

    /// MEMORY_LIMIT_EXCEEDED if `additional` bytes more for `query` have no room. The largest query is the one to
    /// end: another gets the error only if the process comes into danger meanwhile.
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

    /// MEMORY_LIMIT_EXCEEDED for `additional` bytes that have no room.
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

    /// What counts of `resident` bytes of the process: those in use, and others up to a share of the limit. Pages that the
    /// allocator keeps are used again before it takes new ones: they are no reason to end a query.
    fn held(&self, resident: u64, allocated: i64) -> u64 {
        let allocated = u64::try_from(allocated).unwrap_or(0);
        if allocated == 0 {
            // Nothing counts in this process: it has another allocator.
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
    // Each change of what is guarded is one assignment: it is whole, whoever panicked.
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
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
