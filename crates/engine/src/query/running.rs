//! A statement that runs: its context, its place in the list of processes, its end in the log.

use std::sync::Arc;

use basalt_base::Error;

use crate::execution::Execution;
use crate::processes::RunningQuery;

/// A statement on its way: the context, and its place in the list of processes.
pub(super) struct Running {
    pub(super) query: Arc<Execution>,
    _entry: RunningQuery,
}

impl Running {
    pub(super) fn new(query: Arc<Execution>, entry: RunningQuery) -> Running {
        Running { query, _entry: entry }
    }

    /// Writes the end of the query into the log.
    pub(super) fn finish(&self, error: Option<&Error>) {
        self.query.log_end(error);
    }
}
