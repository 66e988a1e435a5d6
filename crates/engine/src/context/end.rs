//! When a query must stop: it was cancelled, its time is over, or it holds too much memory.

use std::sync::Arc;
use std::time::Instant;

use basalt_base::query::{MemoryTracker, QueryStatus, ServerTracker, TimeLimit};
use basalt_base::{Error, Result};

use crate::request::CancelHandle;

/// Everything that can end a query early.
#[derive(Clone, Debug)]
pub(crate) struct QueryEnd {
    pub(crate) cancel: CancelHandle,
    status: Arc<QueryStatus>,
}

impl QueryEnd {
    /// The end of the query called `id`, whose memory counts for the server's.
    pub(crate) fn on_server(
        id: &str,
        time: TimeLimit,
        memory: MemoryTracker,
        cancel: CancelHandle,
        server: &Arc<ServerTracker>,
    ) -> QueryEnd {
        let status = QueryStatus::new(id, cancel.flag(), time, memory).on_server(server);
        QueryEnd { cancel, status }
    }

    /// The status that threads enter while they work for the query.
    pub(crate) fn status(&self) -> &Arc<QueryStatus> {
        &self.status
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.status.deadline()
    }

    /// An error if the query was cancelled, has run out of time, or holds more memory than it may.
    pub(crate) fn check(&self) -> Result<()> {
        self.status.check()
    }

    pub(crate) fn cancelled(&self) -> Error {
        self.status.cancelled()
    }

    pub(crate) fn timed_out(&self) -> Error {
        self.status.timed_out()
    }
}
