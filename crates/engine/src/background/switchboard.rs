//! The merges and mutations that run, and the tables whose background work is stopped.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use basalt_base::clock::Clock;
use basalt_parts::{Part, WorkControl, WorkMemory};
use basalt_succinct::Step;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::expiry::ExpirySwitch;
use super::postponed::PostponedMerges;
use super::running::{Entered, RunningWork, RunningWorks, WorkSubject};
use crate::names::ObjectKey;
use crate::server_log::ServerLog;

/// The workers, what wakes them, and what they do now.
pub(crate) struct Background {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log: ServerLog,
    /// Memory of merges and mutations counts for the server.
    work_memory: WorkMemory,
    pub(super) wake: Arc<Notify>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    pub(super) next_table: AtomicUsize,
    running: RunningWorks,
    all_stopped: AtomicBool,
    /// Tables whose merges are stopped, in addition to [`Background::all_stopped`].
    stopped: Mutex<HashSet<Uuid>>,
    /// Tables whose merges fail.
    pub(super) postponed: PostponedMerges,
    /// Tables whose work panicked.
    pub(super) resting: PostponedMerges,
    expiry: ExpirySwitch,
}

impl Background {
    pub(crate) fn new(clock: Arc<dyn Clock>, log: ServerLog, work_memory: WorkMemory) -> Background {
        Background {
            clock,
            log,
            work_memory,
            wake: Arc::default(),
            workers: Mutex::default(),
            next_table: AtomicUsize::new(0),
            running: RunningWorks::default(),
            all_stopped: AtomicBool::new(false),
            stopped: Mutex::default(),
            postponed: PostponedMerges::default(),
            resting: PostponedMerges::default(),
            expiry: ExpirySwitch::default(),
        }
    }

    /// A task that ends with [`Background::stop`].
    pub(crate) fn add(&self, worker: JoinHandle<()>) {
        self.workers.lock().push(worker);
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    /// Ends the workers after the steps that they are in.
    pub(crate) async fn stop(&self) {
        self.running.cancel(|_| true);
        let workers = std::mem::take(&mut *self.workers.lock());
        for worker in workers {
            worker.abort();
            // An aborted task ends with an error that says so.
            let _ = worker.await;
        }
    }

    /// The merges and mutations that run now.
    pub(crate) fn running(&self) -> Vec<Arc<RunningWork>> {
        self.running.list()
    }

    /// Lists a merge, or the given `mutation`, as running until the result is dropped.
    pub(crate) fn enter(
        &self,
        key: &ObjectKey,
        parts: &[Arc<Part>],
        mutation: Option<u64>,
        control: &Arc<WorkControl>,
    ) -> Entered<'_> {
        self.running.enter(key, parts, mutation, control)
    }

    /// Lists a build or a merge of a Succinct table as running until the result is dropped.
    pub(crate) fn enter_step(&self, key: &ObjectKey, step: &Step, control: &Arc<WorkControl>) -> Entered<'_> {
        self.running.list_work(key, WorkSubject::Places(step.clone()), control)
    }

    pub(crate) fn cancel_mutation(&self, key: &ObjectKey, version: u64) {
        self.running.cancel(|work| work.key == *key && work.is_mutation(version));
    }

    /// Lets no merge or mutation of any table start, and ends those that run.
    pub(crate) fn stop_all(&self) {
        self.all_stopped.store(true, Ordering::Relaxed);
        self.running.cancel(|_| true);
    }

    pub(crate) fn start_all(&self) {
        self.all_stopped.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_all_stopped(&self) -> bool {
        self.all_stopped.load(Ordering::Relaxed)
    }

    /// Lets no merge or mutation of the table start, and ends those that run.
    pub(crate) fn stop_table(&self, table: Uuid, key: &ObjectKey) {
        self.stopped.lock().insert(table);
        self.running.cancel(|work| work.key == *key);
    }

    pub(crate) fn start_table(&self, table: Uuid) {
        self.stopped.lock().remove(&table);
        self.postponed.forget(table);
        self.resting.forget(table);
        self.wake();
    }

    /// Whether expired rows are removed.
    pub(crate) fn expiry(&self) -> &ExpirySwitch {
        &self.expiry
    }

    /// The control of a merge of the table that begins now.
    pub(crate) fn control_of_merge(&self, table: Uuid) -> WorkControl {
        let control =
            if self.expiry.is_on(table) { WorkControl::default() } else { WorkControl::keeping_expired() };
        control.counted(&self.work_memory)
    }

    /// The control of a mutation that begins now.
    pub(crate) fn control_of_mutation(&self) -> Arc<WorkControl> {
        Arc::new(WorkControl::default().counted(&self.work_memory))
    }

    /// Cancels the work on a table that is about to go away.
    pub(crate) fn cancel_table(&self, key: &ObjectKey) {
        self.running.cancel(|work| work.key == *key);
    }

    pub(super) fn is_stopped(&self, table: Uuid) -> bool {
        self.stopped.lock().contains(&table)
    }
}
