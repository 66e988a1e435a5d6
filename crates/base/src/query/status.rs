//! The state of a query that all its workers share: its identifier, its memory, its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::server::ServerTracker;
use super::tracker::MemoryTracker;
use crate::{Error, ErrorCode, Result};

/// A query, as far as the layers below statements know it. The default has no limit and is never cancelled.
#[derive(Debug, Default)]
pub struct QueryStatus {
    id: String,
    killed: Arc<AtomicBool>,
    time: TimeLimit,
    memory: MemoryTracker,
    server: Option<Arc<ServerTracker>>,
    /// Cancelled because the process needs its memory.
    evicted: AtomicBool,
}

/// When `max_execution_time` runs out; the default never does.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimit {
    deadline: Option<(Instant, f64)>,
}

impl TimeLimit {
    /// The deadline of a query that starts at `started`; 0 seconds are no limit.
    pub fn seconds(started: Instant, seconds: f64) -> TimeLimit {
        let within = |seconds: f64| started + Duration::from_secs_f64(seconds.min(1e9));
        TimeLimit { deadline: (seconds > 0.0).then(|| (within(seconds), seconds)) }
    }
}

impl QueryStatus {
    /// A query with its own `memory`, cancelled by `killed` or its time limit.
    pub fn new(id: &str, killed: Arc<AtomicBool>, time: TimeLimit, memory: MemoryTracker) -> QueryStatus {
        QueryStatus { id: id.to_owned(), killed, time, memory, ..QueryStatus::default() }
    }

    /// Charges its memory to the process too.
    #[must_use]
    pub fn on_server(mut self, server: &Arc<ServerTracker>) -> Arc<QueryStatus> {
        self.server = Some(Arc::clone(server));
        let status = Arc::new(self);
        server.watch(&status);
        status
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn memory(&self) -> &MemoryTracker {
        &self.memory
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.time.deadline.map(|(deadline, _)| deadline)
    }

    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Fails if the query was cancelled, ran out of time, or holds more memory than its limit.
    pub fn check(&self) -> Result<()> {
        self.check_time_limit()?;
        self.check_memory(0)
    }

    /// Fails if the query was cancelled or ran out of time.
    pub fn check_time_limit(&self) -> Result<()> {
        if self.is_killed() {
            return Err(self.cancelled());
        }
        match self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            true => Err(self.timed_out()),
            false => Ok(()),
        }
    }

    /// Fails if `additional` bytes would exceed the limit of the query or of the process.
    pub fn check_memory(&self, additional: u64) -> Result<()> {
        self.memory.check(additional)?;
        let Some(server) = &self.server else { return Ok(()) };
        if self.evicted.load(Ordering::Relaxed) {
            return Err(server.exceeded(additional));
        }
        server.check(self, additional)
    }

    /// Cancels the query at its next check, because the process needs its memory.
    pub(super) fn evict(&self) {
        self.evicted.store(true, Ordering::Relaxed);
    }

    pub fn cancelled(&self) -> Error {
        Error::new(ErrorCode::QueryWasCancelled, format!("query `{}` was cancelled", self.id))
    }

    pub fn timed_out(&self) -> Error {
        let seconds = self.time.deadline.map_or(0.0, |(_, seconds)| seconds);
        let what = format!("query `{}` ran longer than max_execution_time, {seconds} s", self.id);
        Error::new(ErrorCode::TimeoutExceeded, what)
    }
}
