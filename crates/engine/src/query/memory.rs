//! Memory of queries: a limit for each, one for all, and when a sort must spill.
//!
//! Operators reserve what they hold with DataFusion's pool interface. A reservation over a limit is
//! refused: an operator that can spill then does, another one fails with MEMORY_LIMIT_EXCEEDED.
//!
//! What merges and dictionaries hold counts for the server's limit, and so does the cache of decoded blocks, which
//! shrinks before a query is refused.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_parts::{BlockCache, WorkMemory};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};

use crate::dictionaries::DictionaryMemory;

/// What all queries hold together.
#[derive(Debug)]
pub(crate) struct ServerMemory {
    used: AtomicU64,
    limit: u64,
    works: WorkMemory,
    cache: Arc<BlockCache>,
    dictionaries: DictionaryMemory,
}

impl ServerMemory {
    /// Up to `limit` bytes (0 is no limit) together with what `works` and dictionaries hold; `cache` may have the rest.
    pub(crate) fn new(limit: u64, works: WorkMemory, cache: Arc<BlockCache>) -> Arc<ServerMemory> {
        let dictionaries = DictionaryMemory::default();
        Arc::new(ServerMemory { used: AtomicU64::new(0), limit, works, cache, dictionaries })
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

    /// What queries, merges and dictionaries hold together.
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

/// What one query holds; a memory pool of DataFusion's.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    server: Arc<ServerMemory>,
    used: AtomicU64,
    peak: AtomicU64,
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
    pub(crate) fn new(server: Arc<ServerMemory>, limits: MemoryLimits) -> Arc<QueryMemory> {
        Arc::new(QueryMemory { server, used: AtomicU64::new(0), peak: AtomicU64::new(0), limits })
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
        self.server.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.server.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The limit that `reservation` would break by growing, and its name.
    fn broken_limit(&self, reservation: &MemoryReservation, additional: u64) -> Option<(&'static str, u64)> {
        let consumer = reservation.consumer();
        if consumer.can_spill() {
            let held = reservation.size() as u64 + additional;
            let (limit, setting) = if consumer.name().contains("Sorter") {
                (self.limits.external_sort, "max_bytes_before_external_sort")
            } else {
                (self.limits.external_group_by, "max_bytes_before_external_group_by")
            };
            if limit > 0 && held > limit {
                return Some((setting, limit));
            }
        }
        let query = self.limits.query;
        if query > 0 && self.used() + additional > query {
            return Some(("max_memory_usage", query));
        }
        let has_room = self.server.make_room(additional);
        (!has_room).then_some(("max_server_memory_usage", self.server.limit))
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
        if let Some((setting, limit)) = self.broken_limit(reservation, additional as u64) {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "`{}` needs {additional} bytes more, over the limit {setting} of {limit} bytes; \
                 the query holds {} bytes, loaded dictionaries {}",
                reservation.consumer().name(),
                self.used(),
                self.server.dictionaries.bytes(),
            )));
        }
        self.take(additional as u64);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.used() as usize
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMemory(used {}, peak {})", self.used(), self.peak())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::MemoryConsumer;

    use super::*;

    #[test]
    fn server_limit_counts_what_every_query_holds() {
        let server = ServerMemory::new(1000, WorkMemory::default(), Arc::new(BlockCache::new(0)));
        let query =
            || -> Arc<dyn MemoryPool> { QueryMemory::new(Arc::clone(&server), MemoryLimits::default()) };
        let first = MemoryConsumer::new("first").register(&query());
        let second = MemoryConsumer::new("second").register(&query());
        first.try_grow(600).unwrap();
        let error = second.try_grow(500).unwrap_err();
        assert!(error.to_string().contains("max_server_memory_usage of 1000"), "{error}");
        drop(first);
        second.try_grow(500).unwrap();
    }
}
