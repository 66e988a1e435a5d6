//! What everybody who works for a query may know of it: its identifier, its memory, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::server::ServerTracker;
use super::tracker::MemoryTracker;
use crate::{Error, ErrorCode, Result};

/// One query, as far as those below statements know it. The default has no limit and is never ended.
#[derive(Debug, Default)]
pub struct QueryStatus {
    id: String,
    killed: Arc<AtomicBool>,
    time: TimeLimit,
    memory: MemoryTracker,
    server: Option<Arc<ServerTracker>>,
    /// The process needs its memory.
    evicted: AtomicBool,
}

/// When `max_execution_time` runs out; the default never does.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimit {
    deadline: Option<(Instant, f64)>,
}

impl TimeLimit {
    /// For a query that starts at `started`; 0 seconds are no limit.
    pub fn seconds(started: Instant, seconds: f64) -> TimeLimit {
        let within = |seconds: f64| started + Duration::from_secs_f64(seconds.min(1e9));
        TimeLimit { deadline: (seconds > 0.0).then(|| (within(seconds), seconds)) }
    }
}

impl QueryStatus {
    /// A query with `memory` of its own that is ended by `killed` or its time.
    pub fn new(id: &str, killed: Arc<AtomicBool>, time: TimeLimit, memory: MemoryTracker) -> QueryStatus {
        QueryStatus { id: id.to_owned(), killed, time, memory, ..QueryStatus::default() }
    }

    /// Its memory counts for the process's too.
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

    /// An error if the query was cancelled, has run out of time, or holds more memory than it may.
    pub fn check(&self) -> Result<()> {
        self.check_time_limit()?;
        self.check_memory(0)
    }

    /// An error if the query was cancelled or has run out of time.
    pub fn check_time_limit(&self) -> Result<()> {
        if self.is_killed() {
            return Err(self.cancelled());
        }
        match self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            true => Err(self.timed_out()),
            false => Ok(()),
        }
    }

    /// An error if the query, or the process, would hold more than it may with `additional` bytes.
    pub fn check_memory(&self, additional: u64) -> Result<()> {
        self.memory.check(additional)?;
        let Some(server) = &self.server else { return Ok(()) };
        if self.evicted.load(Ordering::Relaxed) {
            return Err(server.exceeded(additional));
        }
        server.check(self, additional)
    }

    /// The query ends at its next check: the process needs its memory.
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
