//! The queries that run now: `system.processes`, and how to kill one.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_base::{Result, bail};
use parking_lot::Mutex;

use super::QueryContext;
use super::statement::KILL;

/// Running queries by id.
pub(crate) struct Processes {
    running: Mutex<BTreeMap<String, Arc<QueryContext>>>,
    /// As many may run at once; 0 is no limit.
    most: u64,
}

/// Takes its query off the list when dropped.
pub(crate) struct RunningQuery {
    query: Arc<QueryContext>,
}

impl Processes {
    pub(crate) fn new(most: u64) -> Processes {
        Processes { running: Mutex::default(), most }
    }

    /// Enters a query; its id must not be that of one that runs. There is always room for one that ends others.
    pub(crate) fn enter(&self, query: &Arc<QueryContext>) -> Result<RunningQuery> {
        let mut running = self.running.lock();
        if self.most > 0 && running.len() as u64 >= self.most && query.kind != KILL {
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
        Ok(RunningQuery { query: Arc::clone(query) })
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
        self.query.engine.processes().running.lock().remove(&self.query.id);
    }
}
