//! A statement that runs: its context, its place in the list of processes, its end in the log.

use std::sync::Arc;

use basalt_base::Error;

use super::processes::RunningQuery;
use super::{QueryContext, QueryLogKind};

/// A statement on its way: the context, its place in the list of processes, and its kind's name.
pub(super) struct Running {
    pub(super) query: Arc<QueryContext>,
    pub(super) kind: &'static str,
    _entry: RunningQuery,
}

impl Running {
    pub(super) fn new(query: Arc<QueryContext>, kind: &'static str, entry: RunningQuery) -> Running {
        Running { query, kind, _entry: entry }
    }

    /// Writes the end of the query into the log.
    pub(super) fn finish(&self, error: Option<&Error>) {
        let kind =
            if error.is_some() { QueryLogKind::ExceptionWhileProcessing } else { QueryLogKind::Finish };
        self.query.engine.query_log().record(&self.query, kind, self.kind, error);
    }
}
