//! Memory of queries: a limit for each, one for all, and when a sort must spill.
//!
//! The allocator counts the memory of a query ([`basalt_base::query`]). Operators also reserve what they are about
//! to hold with DataFusion's pool interface. A reservation over a limit is refused: an operator that can spill then
//! does, another one fails with MEMORY_LIMIT_EXCEEDED.
//!
//! The server's limit is compared with what the process holds. The cache of decoded blocks shrinks before a query is
//! refused.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use basalt_base::query::{QueryStatus, ServerTracker};
use basalt_parts::{BlockCache, WorkMemory};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};

use crate::dictionaries::{DictionaryMemory, MemoryBudget};

/// The memory of all queries.
#[derive(Debug)]
pub(crate) struct ServerMemory {
    used: AtomicU64,
    limit: u64,
    works: WorkMemory,
    cache: Arc<BlockCache>,
    dictionaries: DictionaryMemory,
    tracker: Arc<ServerTracker>,
}

/// How often [`release_forever`] looks at the memory, and the bytes of free pages that the process may keep.
const RELEASE_PERIOD: Duration = Duration::from_secs(1);
const KEPT_BYTES_MAX: u64 = 64 << 20;

/// An operator that holds less does not spill: it would go to disk again and again for little.
const SPILLED_SHARE: u64 = 16;

/// The prefix of DataFusion's names of memory consumers that are sorts. Other operators that spill are bound by the
/// limit of GROUP BY. The test below fails if DataFusion renames them.
const SORT: &str = "ExternalSorter";

impl ServerMemory {
    /// Up to `limit` bytes (0 is no limit) together with what `works` and dictionaries hold; `cache` may have the rest.
    /// `release` gives memory that is free back to the system.
    pub(crate) fn new(
        limit: u64,
        works: WorkMemory,
        cache: Arc<BlockCache>,
        release: Option<fn()>,
    ) -> Arc<ServerMemory> {
        let shrinking = Arc::clone(&cache);
        let make_room = move |bytes: u64| {
            shrinking.shrink_to(shrinking.bytes().saturating_sub(bytes));
            if let Some(release) = release {
                release();
            }
        };
        let tracker = Arc::new(ServerTracker::new(limit, make_room));
        let dictionaries = DictionaryMemory::default();
        Arc::new(ServerMemory { used: AtomicU64::new(0), limit, works, cache, dictionaries, tracker })
    }

    /// Counts the memory of the process.
    pub(crate) fn tracker(&self) -> &Arc<ServerTracker> {
        &self.tracker
    }

    /// Shrinks the cache, if need be, so that there is room for `additional` bytes; `false` if there is none.
    pub(crate) fn make_room(&self, additional: u64) -> bool {
        if self.limit == 0 {
            return true;
        }
        let rest = || self.limit.checked_sub(self.total() + additional);
        let rest = rest().or_else(|| {
            self.dictionaries.count_again();
            rest()
        });
        let Some(rest) = rest else { return false };
        if self.cache.bytes() > rest {
            self.cache.shrink_to(rest);
        }
        true
    }

    /// The memory of queries, merges and dictionaries together.
    pub(crate) fn total(&self) -> u64 {
        self.used() + self.works.bytes() + self.dictionaries.bytes()
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn dictionaries(&self) -> &DictionaryMemory {
        &self.dictionaries
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// Returns free pages to the system until the database is closed. mimalloc does so only while memory is freed; an idle
/// process would keep the pages of its last large query.
pub(crate) async fn release_forever(tracker: Weak<ServerTracker>, release: fn()) {
    loop {
        tokio::time::sleep(RELEASE_PERIOD).await;
        let Some(tracker) = tracker.upgrade() else { return };
        let step = move || {
            if tracker.kept() > KEPT_BYTES_MAX {
                release();
            }
        };
        // A step that panicked is repeated like any other.
        let _ = tokio::task::spawn_blocking(step).await;
    }
}

impl MemoryBudget for ServerMemory {
    fn make_room(&self, additional: u64) -> bool {
        self.make_room(additional)
    }

    fn limit(&self) -> u64 {
        self.limit()
    }

    fn total(&self) -> u64 {
        self.total()
    }

    fn dictionaries(&self) -> &DictionaryMemory {
        self.dictionaries()
    }
}

/// The memory of one query: a memory pool of DataFusion.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    server: Arc<ServerMemory>,
    status: Arc<QueryStatus>,
    /// Bytes that operators have reserved: the allocator counts most of them too, or will.
    reserved: AtomicU64,
    limits: MemoryLimits,
}

/// Limits in bytes; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryLimits {
    pub(crate) query: u64,
    /// A sort that holds more spills, even if the query's limit is far.
    pub(crate) external_sort: u64,
    /// A GROUP BY that holds more spills.
    pub(crate) external_group_by: u64,
}

impl QueryMemory {
    pub(crate) fn new(
        server: Arc<ServerMemory>,
        status: Arc<QueryStatus>,
        limits: MemoryLimits,
    ) -> Arc<QueryMemory> {
        Arc::new(QueryMemory { server, status, reserved: AtomicU64::new(0), limits })
    }

    /// Bytes that the query holds now.
    pub(crate) fn used(&self) -> u64 {
        self.status.memory().amount()
    }

    /// The most that it held at once.
    pub(crate) fn peak(&self) -> u64 {
        self.status.memory().peak()
    }

    fn take(&self, bytes: u64) {
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
        self.server.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
        self.server.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether an operator must spill before it grows: by a setting of its own, or because the query or the process is
    /// near its limit.
    fn must_spill(&self, reservation: &MemoryReservation, additional: u64) -> bool {
        let consumer = reservation.consumer();
        if !consumer.can_spill() {
            return false;
        }
        let held = reservation.size() as u64;
        let own = if consumer.name().starts_with(SORT) {
            self.limits.external_sort
        } else {
            self.limits.external_group_by
        };
        let (query, server) = (self.limits.query, self.server.limit);
        let is_near = |used: u64, limit: u64, part: u64| {
            limit > 0 && used + additional > part && held > limit / SPILLED_SHARE
        };
        // An operator that holds nothing has nothing to spill.
        (own > 0 && held > 0 && held + additional > own)
            || is_near(self.held(), query, query / 2)
            || is_near(self.server.tracker.total(), server, server / 4 * 3)
    }

    /// Bytes that the query holds or has reserved, whichever are more.
    fn held(&self) -> u64 {
        self.used().max(self.reserved.load(Ordering::Relaxed))
    }

    fn check(&self, additional: u64) -> basalt_base::Result<()> {
        self.status.memory().check_held(self.held(), additional)?;
        self.status.check_memory(additional)?;
        match self.server.make_room(additional) {
            true => Ok(()),
            false => Err(self.server.tracker.exceeded(additional)),
        }
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "QueryMemory"
    }

    fn grow(&self, _reservation: &MemoryReservation, additional: usize) {
        self.take(additional as u64);
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.give_back(shrink as u64);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let bytes = additional as u64;
        if self.must_spill(reservation, bytes) {
            return Err(DataFusionError::ResourcesExhausted(String::new()));
        }
        // Operators that can spill look for an error of this kind.
        self.check(bytes).map_err(|error| DataFusionError::ResourcesExhausted(error.message().to_owned()))?;
        self.take(bytes);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed) as usize
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMemory(used {}, peak {})", self.used(), self.peak())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::record_batch::RecordBatch;
    use datafusion::dataframe::DataFrame;
    use datafusion::execution::memory_pool::{MemoryConsumer, UnboundedMemoryPool};
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::{SessionConfig, SessionContext, col};
    use parking_lot::Mutex;

    use super::*;

    /// Notes the names of consumers that can spill.
    #[derive(Debug, Default)]
    struct NotingPool {
        pool: UnboundedMemoryPool,
        names: Mutex<Vec<String>>,
    }

    impl MemoryPool for NotingPool {
        fn name(&self) -> &str {
            "NotingPool"
        }

        fn register(&self, consumer: &MemoryConsumer) {
            if consumer.can_spill() {
                self.names.lock().push(consumer.name().to_owned());
            }
        }

        fn grow(&self, reservation: &MemoryReservation, additional: usize) {
            self.pool.grow(reservation, additional);
        }

        fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
            self.pool.shrink(reservation, shrink);
        }

        fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
            self.pool.try_grow(reservation, additional)
        }

        fn reserved(&self) -> usize {
            self.pool.reserved()
        }
    }

    impl fmt::Display for NotingPool {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "NotingPool")
        }
    }

    /// The names of the operators that can spill in a plan over one column `a`.
    fn spilling(plan: impl FnOnce(DataFrame) -> Result<DataFrame>) -> Vec<String> {
        let pool = Arc::new(NotingPool::default());
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::<NotingPool>::clone(&pool));
        let config = SessionConfig::new().with_target_partitions(1);
        let session = SessionContext::new_with_config_rt(config, Arc::new(runtime.build().unwrap()));
        let values: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
        let block = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let plan = plan(session.read_batch(block).unwrap()).unwrap();
        tokio::runtime::Runtime::new().unwrap().block_on(plan.collect()).unwrap();
        pool.names.lock().clone()
    }

    #[test]
    fn sorts_are_told_from_aggregations_by_the_names_that_datafusion_gives_them() {
        let sorts = spilling(|rows| rows.sort(vec![col("a").sort(true, false)]));
        assert!(!sorts.is_empty() && sorts.iter().all(|name| name.starts_with(SORT)), "{sorts:?}");
        let groups = spilling(|rows| rows.aggregate(vec![col("a")], Vec::new()));
        assert!(!groups.is_empty() && !groups.iter().any(|name| name.starts_with(SORT)), "{groups:?}");
    }

    #[test]
    fn server_limit_counts_what_every_query_holds() {
        let limit = 1 << 40;
        let server = ServerMemory::new(limit, WorkMemory::default(), Arc::new(BlockCache::new(0)), None);
        let query = || -> Arc<dyn MemoryPool> {
            QueryMemory::new(Arc::clone(&server), Arc::default(), MemoryLimits::default())
        };
        let first = MemoryConsumer::new("first").register(&query());
        let second = MemoryConsumer::new("second").register(&query());
        first.try_grow(limit as usize / 2).unwrap();
        let error = second.try_grow(limit as usize / 2 + 1).unwrap_err();
        assert!(error.to_string().contains("(total) memory limit exceeded"), "{error}");
        drop(first);
        second.try_grow(limit as usize / 2 + 1).unwrap();
    }
}
