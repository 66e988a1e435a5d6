//! Background work: merges, mutations and reloads of dictionaries, on a few threads.
//!
//! Every thread takes one step of one table and then asks again, beginning with the next table: a table
//! with much to do does not keep the others waiting. Merges and mutations share the threads.

mod expiry;
mod postponed;
mod running;
#[cfg(test)]
mod tests;

pub(crate) use expiry::ExpirySwitch;
pub(crate) use running::{Entered, RunningWork, RunningWorks};

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use basalt_base::{Error, Result};
use basalt_parts::{MergeReason, Part, TableParts, TtlMerge, WorkControl};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::Engine;
use crate::catalog::{CatalogObject, ObjectKey};
use crate::dictionaries::{DictionaryList, refresh_forever};
use crate::query::mutation_step;
use crate::tables::Table;
use postponed::PostponedMerges;

/// How long a worker sleeps if nobody wakes it.
const IDLE: Duration = Duration::from_secs(1);

/// Workers at most: more merges at a time only wait for the disk.
const WORKERS_MAX: usize = 16;

/// The workers, the bell that wakes them, and what they are at.
#[derive(Default)]
pub(crate) struct Background {
    wake: Arc<Notify>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    next_table: AtomicUsize,
    running: RunningWorks,
    /// Tables whose merges are stopped, besides all of them.
    stopped: Mutex<HashSet<Uuid>>,
    /// Tables whose merges fail.
    postponed: PostponedMerges,
    /// Tables whose work panicked.
    resting: PostponedMerges,
    expiry: ExpirySwitch,
}

impl Background {
    /// Starts half as many workers as there are processors, at least one; they end when the engine is
    /// gone or [`Background::stop`] is called.
    pub(crate) fn start(&self, engine: &Arc<Engine>) {
        let count = (engine.processors() / 2).clamp(1, WORKERS_MAX);
        for _ in 0..count {
            let (engine, wake) = (Arc::downgrade(engine), Arc::clone(&self.wake));
            let handle = tokio::spawn(async move {
                loop {
                    let _ = tokio::time::timeout(IDLE, wake.notified()).await;
                    let engine = Weak::clone(&engine);
                    let round = move || engine.upgrade().map(|engine| work(&engine));
                    match tokio::task::spawn_blocking(round).await {
                        Ok(Some(())) => {}
                        // The step of a table is caught where its table is known; this is the round itself.
                        Err(error) if error.is_panic() => tokio::time::sleep(IDLE).await,
                        Ok(None) | Err(_) => return,
                    }
                }
            });
            self.workers.lock().push(handle);
        }
        let list: Arc<dyn DictionaryList> = Arc::<Engine>::clone(engine);
        let refresh = tokio::spawn(refresh_forever(Arc::downgrade(&list)));
        self.workers.lock().push(refresh);
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

    /// What runs now.
    pub(crate) fn running(&self) -> Vec<Arc<RunningWork>> {
        self.running.list()
    }

    /// Enters a merge, or with a `mutation` that one, for as long as the answer lives.
    pub(crate) fn enter(
        &self,
        key: &ObjectKey,
        parts: &[Arc<Part>],
        mutation: Option<u64>,
        control: &Arc<WorkControl>,
    ) -> Entered<'_> {
        self.running.enter(key, parts, mutation, control)
    }

    pub(crate) fn cancel_mutation(&self, key: &ObjectKey, version: u64) {
        self.running.cancel(|work| work.key == *key && work.mutation == Some(version));
    }

    /// Lets no merge or mutation of the table run, or of all tables; those that run end.
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

    /// Whether what has expired goes.
    pub(crate) fn expiry(&self) -> &ExpirySwitch {
        &self.expiry
    }

    /// Of a merge of the table that begins now.
    pub(crate) fn control_of_merge(&self, table: Uuid) -> WorkControl {
        if self.expiry.is_on(table) { WorkControl::default() } else { WorkControl::keeping_expired() }
    }

    /// Ends what runs on the table, which goes away.
    pub(crate) fn cancel_table(&self, key: &ObjectKey) {
        self.running.cancel(|work| work.key == *key);
    }

    pub(crate) fn cancel_all(&self) {
        self.running.cancel(|_| true);
    }

    fn is_stopped(&self, table: Uuid) -> bool {
        self.stopped.lock().contains(&table)
    }
}

/// Steps of every table in turn, until none has any left.
fn work(engine: &Arc<Engine>) {
    while engine.merges_on() && work_on_next(engine) {}
    engine.catalog().sweep_dropped();
}

/// One step of the next table that has something to do; `false` if none has.
fn work_on_next(engine: &Arc<Engine>) -> bool {
    let background = engine.background();
    let tables: Vec<(ObjectKey, Arc<dyn Table>)> = engine
        .catalog()
        .all_objects()
        .into_iter()
        .filter_map(|(database, name, object)| match object {
            CatalogObject::Table(table) => Some((ObjectKey { database, name }, table)),
            _ => None,
        })
        .collect();
    let first = background.next_table.fetch_add(1, Ordering::Relaxed);
    (0..tables.len()).any(|turn| {
        let (key, table) = &tables[(first + turn) % tables.len()];
        !background.is_stopped(table.definition().uuid) && step(engine, key, table.as_ref())
    })
}

/// One step of a table. A panic ends the step and not the worker: the table rests for a while, and the others go on.
fn step(engine: &Arc<Engine>, key: &ObjectKey, table: &dyn Table) -> bool {
    let background = engine.background();
    let definition = table.definition();
    let (uuid, now_us) = (definition.uuid, engine.clock().now_us());
    if background.resting.is_postponed(uuid, now_us) {
        return false;
    }
    match catch_unwind(AssertUnwindSafe(|| work_on(engine, key, table))) {
        Ok(has_done) => {
            if has_done {
                background.resting.forget(uuid);
            }
            has_done
        }
        Err(panic) => {
            background.resting.note_failure(uuid, now_us);
            engine.say(&format!(
                "Background work on {} panicked, which is a bug in Basalt, and is tried again after longer and longer \
                 pauses: {}",
                definition.full_name(),
                panic_text(panic.as_ref())
            ));
            false
        }
    }
}

/// What a panic says of itself.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "no reason is known",
    }
}

/// A mutation, a merge, or whatever else the table has to do.
fn work_on(engine: &Arc<Engine>, key: &ObjectKey, table: &dyn Table) -> bool {
    match table.parts_of() {
        Some(parts) => {
            // Of what was set aside nothing is merged any more.
            let set_aside = parts.detach_damaged().unwrap_or(0);
            if set_aside > 0 {
                engine.say(&format!(
                    "{set_aside} damaged parts of {} were set aside: their rows are missing; see system.detached_parts",
                    table.definition().full_name()
                ));
            }
            set_aside > 0
                || mutation_step(engine, key, table, parts)
                || merge_step(engine, key, table, parts).unwrap_or(false)
        }
        None => table.work().unwrap_or(false),
    }
}

/// One merge that the disk has room for.
fn merge_step(engine: &Arc<Engine>, key: &ObjectKey, table: &dyn Table, parts: &TableParts) -> Result<bool> {
    let background = engine.background();
    let definition = table.definition();
    let uuid = definition.uuid;
    if background.postponed.is_postponed(uuid, engine.clock().now_us()) {
        return Ok(false);
    }
    let bytes_max = parts.mergeable_bytes()?.unwrap_or(u64::MAX);
    let limits = table.ttl_limits(bytes_max).filter(|_| background.expiry.is_on(uuid));
    let by_ttl = limits.and_then(|limits| parts.select_ttl_merge(&limits));
    let regular =
        || parts.select_merge(bytes_max).map(|parts| TtlMerge { parts, reason: MergeReason::Regular });
    let Some(merge) = by_ttl.or_else(regular) else { return Ok(false) };
    let (selected, reason) = (merge.parts, merge.reason);
    let control = background.control_of_merge(uuid).counted(&engine.opener().work_memory);
    let control = Arc::new(control.because_of(reason));
    let _entered = background.enter(key, &selected, None, &control);
    let merged = parts.merge(&selected, &control).map_err(Error::from);
    match &merged {
        Ok(Some(_)) => background.postponed.forget(uuid),
        // A failed merge leaves the old parts, and its end is in system.part_log.
        Err(error) if !control.is_cancelled() && Arc::ptr_eq(&definition, &table.definition()) => {
            if let Some(pause_s) = background.postponed.note_failure(uuid, engine.clock().now_us()) {
                engine.say(&format!(
                    "A merge of {} failed and is tried again after longer and longer pauses, at first \
                     {pause_s} s: {error}",
                    definition.full_name()
                ));
            }
        }
        _ => {}
    }
    Ok(merged?.is_some())
}
