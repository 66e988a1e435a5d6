//! The queries that run now: `system.processes`, and how to kill one.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_base::{Result, bail};
use parking_lot::Mutex;

use crate::context::QueryContext;

type RunningQueries = Mutex<BTreeMap<String, Arc<QueryContext>>>;

/// Running queries by id.
pub(crate) struct Processes {
    running: Arc<RunningQueries>,
    /// The number that may run at once; 0 is no limit.
    most: u64,
}

/// Takes its query off the list when dropped.
pub(crate) struct RunningQuery {
    running: Arc<RunningQueries>,
    id: String,
}

impl Processes {
    pub(crate) fn new(most: u64) -> Processes {
        Processes { running: Arc::default(), most }
    }

    /// Adds a query; its id must not be that of a running one. An `urgent` query is always admitted.
    pub(crate) fn enter(&self, query: &Arc<QueryContext>, urgent: bool) -> Result<RunningQuery> {
        let mut running = self.running.lock();
        if self.most > 0 && running.len() as u64 >= self.most && !urgent {
            bail!(
                TooManySimultaneousQueries,
                "too many simultaneous queries: {} run, which is the server's max_concurrent_queries",
                self.most
            );
        }
        if running.contains_key(&query.id) {
            bail!(QueryWithSameIdIsAlreadyRunning, "a query with the id `{}` is already running", query.id);
        }
        running.insert(query.id.clone(), Arc::clone(query));
        Ok(RunningQuery { running: Arc::clone(&self.running), id: query.id.clone() })
    }

    /// The running queries, by id.
    pub(crate) fn list(&self) -> Vec<Arc<QueryContext>> {
        self.running.lock().values().cloned().collect()
    }

    /// The running query called `id`.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<QueryContext>> {
        self.running.lock().get(id).cloned()
    }

    /// Cancels every running query.
    pub(crate) fn cancel_all(&self) {
        for query in self.list() {
            query.end.cancel.cancel();
        }
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
    }
}
