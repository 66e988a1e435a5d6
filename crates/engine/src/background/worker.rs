//! The threads of background work.
//!
//! Every thread takes one step of one table and then looks for work again, beginning with the next table: a table with
//! much to do does not keep the others waiting. Merges and mutations share the threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use basalt_base::{Error, Result};
use basalt_parts::{MergeReason, TableParts, TtlMerge, WorkControl};
use basalt_succinct::Step;

use super::switchboard::Background;
use crate::names::ObjectKey;
use crate::tables::{PartsTable, PlacesTable, StepWatch, Table, TableDefinition};

/// How long a worker sleeps unless it is woken.
const IDLE: Duration = Duration::from_secs(1);

/// The most workers: more merges at a time would only wait for the disk.
const WORKERS_MAX: usize = 16;

/// The tables that background work is done on.
pub(crate) trait BackgroundWork: Send + Sync {
    fn background(&self) -> &Background;

    /// All tables.
    fn tables(&self) -> Vec<(ObjectKey, Arc<dyn Table>)>;

    /// Applies the mutations that wait to one part; `false` if there was nothing to do.
    fn mutate(self: Arc<Self>, key: &ObjectKey, table: &dyn Table, parts: &TableParts) -> bool;

    /// Deletes the data of dropped tables whose last user is gone.
    fn sweep_dropped(&self);
}

/// Starts half as many workers as there are processors, at least one; they end when `work` is gone or with
/// [`Background::stop`].
pub(crate) fn start_workers(work: &Arc<dyn BackgroundWork>, processors: usize) {
    let background = work.background();
    for _ in 0..(processors / 2).clamp(1, WORKERS_MAX) {
        let (work, wake) = (Arc::downgrade(work), Arc::clone(&background.wake));
        background.add(tokio::spawn(async move {
            loop {
                let _ = tokio::time::timeout(IDLE, wake.notified()).await;
                let work = Weak::clone(&work);
                let round = move || work.upgrade().map(|work| run_round(&work));
                match tokio::task::spawn_blocking(round).await {
                    Ok(Some(())) => {}
                    // A panic in the step of a table is caught in [`step`]. This one was in the round itself.
                    Err(error) if error.is_panic() => tokio::time::sleep(IDLE).await,
                    Ok(None) | Err(_) => return,
                }
            }
        }));
    }
}

/// Takes steps of all tables in turn, until no table has work left.
fn run_round(work: &Arc<dyn BackgroundWork>) {
    while !work.background().is_all_stopped() && work_on_next(work) {}
    work.sweep_dropped();
}

/// One step of the next table that has something to do; `false` if none has.
fn work_on_next(work: &Arc<dyn BackgroundWork>) -> bool {
    let background = work.background();
    let tables = work.tables();
    let first = background.next_table.fetch_add(1, Ordering::Relaxed);
    (0..tables.len()).any(|turn| {
        let (key, table) = &tables[(first + turn) % tables.len()];
        !background.is_stopped(table.definition().uuid) && step(work, key, table.as_ref())
    })
}

/// One step of a table. A panic ends the step and not the worker: the table rests for a while, and the others go on.
pub(super) fn step(work: &Arc<dyn BackgroundWork>, key: &ObjectKey, table: &dyn Table) -> bool {
    let background = work.background();
    let definition = table.definition();
    let (uuid, now_us) = (definition.uuid, background.clock.now_us());
    if background.resting.is_postponed(uuid, now_us) {
        return false;
    }
    match catch_unwind(AssertUnwindSafe(|| work_on(work, key, table))) {
        Ok(has_done) => {
            if has_done {
                background.resting.forget(uuid);
            }
            has_done
        }
        Err(panic) => {
            background.resting.note_failure(uuid, now_us);
            background.log.say(&format!(
                "Background work on {} panicked, which is a bug in Basalt, and is tried again after longer and longer \
                 pauses: {}",
                definition.full_name(),
                panic_text(panic.as_ref())
            ));
            false
        }
    }
}

/// The message of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "no reason is known",
    }
}

/// A mutation or a merge.
fn work_on(work: &Arc<dyn BackgroundWork>, key: &ObjectKey, table: &dyn Table) -> bool {
    if let Some(places) = table.as_places() {
        return step_of_places(work.background(), key, table, places).unwrap_or(false);
    }
    let Some(table_of_parts) = table.as_parts() else { return false };
    let parts = table_of_parts.parts();
    // Parts that are set aside are not merged any more.
    let set_aside = parts.detach_damaged().unwrap_or(0);
    if set_aside > 0 {
        work.background().log.say(&format!(
            "{set_aside} damaged parts of {} were set aside: their rows are missing; see system.detached_parts",
            table.definition().full_name()
        ));
    }
    set_aside > 0
        || Arc::clone(work).mutate(key, table, parts)
        || merge_step(work, key, table, table_of_parts).unwrap_or(false)
}

/// One build or merge of segments.
fn step_of_places(
    background: &Background,
    key: &ObjectKey,
    table: &dyn Table,
    places: &dyn PlacesTable,
) -> Result<bool> {
    let definition = table.definition();
    let uuid = definition.uuid;
    if background.postponed.is_postponed(uuid, background.clock.now_us()) {
        return Ok(false);
    }
    let control = Arc::new(background.control_of_merge(uuid));
    let list = |step: &Step| -> Box<dyn Send + '_> { Box::new(background.enter_step(key, step, &control)) };
    let done = places.step(&StepWatch::new(&list, &control));
    note_result(background, table, &definition, &control, done.as_ref().map(|_| ()));
    done
}

/// After a failure the table waits; after a success it does not.
fn note_result(
    background: &Background,
    table: &dyn Table,
    definition: &Arc<TableDefinition>,
    control: &WorkControl,
    result: std::result::Result<(), &Error>,
) {
    let uuid = definition.uuid;
    match result {
        Ok(()) => background.postponed.forget(uuid),
        // A failed merge leaves everything as it was.
        Err(error) if !control.is_cancelled() && Arc::ptr_eq(definition, &table.definition()) => {
            if let Some(pause_s) = background.postponed.note_failure(uuid, background.clock.now_us()) {
                background.log.say(&format!(
                    "A merge of {} failed and is tried again after longer and longer pauses, at first \
                     {pause_s} s: {error}",
                    definition.full_name()
                ));
            }
        }
        Err(_) => {}
    }
}

/// One merge that the disk has room for.
fn merge_step(
    work: &Arc<dyn BackgroundWork>,
    key: &ObjectKey,
    table: &dyn Table,
    table_of_parts: &dyn PartsTable,
) -> Result<bool> {
    let background = work.background();
    let definition = table.definition();
    let uuid = definition.uuid;
    if background.postponed.is_postponed(uuid, background.clock.now_us()) {
        return Ok(false);
    }
    let parts = table_of_parts.parts();
    let bytes_max = parts.mergeable_bytes()?.unwrap_or(u64::MAX);
    let limits = background.expiry().is_on(uuid).then(|| table_of_parts.ttl_limits(bytes_max));
    let by_ttl = limits.and_then(|limits| parts.select_ttl_merge(&limits));
    let regular =
        || parts.select_merge(bytes_max).map(|parts| TtlMerge { parts, reason: MergeReason::Regular });
    let Some(merge) = by_ttl.or_else(regular) else { return Ok(false) };
    let (selected, reason) = (merge.parts, merge.reason);
    let control = Arc::new(background.control_of_merge(uuid).because_of(reason));
    let _entered = background.enter(key, &selected, None, &control);
    let merged = parts.merge(&selected, &control).map_err(Error::from);
    // A merge that found nothing to do has not succeeded.
    if !matches!(merged, Ok(None)) {
        note_result(background, table, &definition, &control, merged.as_ref().map(|_| ()));
    }
    Ok(merged?.is_some())
}
