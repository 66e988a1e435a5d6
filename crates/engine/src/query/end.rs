//! When a query must stop: it was cancelled, or its time is over.

use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result};

use crate::request::CancelHandle;

/// What ends a query from outside; the default is never ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryEnd {
    query_id: String,
    pub(crate) cancel: CancelHandle,
    /// When `max_execution_time` runs out, and what it is.
    limit: Option<(Instant, f64)>,
}

impl QueryEnd {
    /// Of a query that starts now; 0 seconds are no limit.
    pub(crate) fn within_seconds(query_id: &str, started: Instant, seconds: f64) -> QueryEnd {
        let limit = (seconds > 0.0).then(|| (started + Duration::from_secs_f64(seconds.min(1e9)), seconds));
        QueryEnd { query_id: query_id.to_owned(), cancel: CancelHandle::default(), limit }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.limit.map(|(deadline, _)| deadline)
    }

    /// An error if the query was cancelled or has run out of time.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(self.cancelled());
        }
        match self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            true => Err(self.timed_out()),
            false => Ok(()),
        }
    }

    pub(crate) fn cancelled(&self) -> Error {
        Error::new(ErrorCode::QueryWasCancelled, format!("query `{}` was cancelled", self.query_id))
    }

    pub(crate) fn timed_out(&self) -> Error {
        let seconds = self.limit.map_or(0.0, |(_, seconds)| seconds);
        let what = format!("query `{}` ran longer than max_execution_time, {seconds} s", self.query_id);
        Error::new(ErrorCode::TimeoutExceeded, what)
    }
}
