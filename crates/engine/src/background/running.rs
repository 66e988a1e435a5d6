//! The merges and mutations that run: what `system.merges` shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use basalt_parts::{Part, PartName, PartStats, WorkControl};
use basalt_succinct::Step;
use parking_lot::Mutex;

use crate::names::ObjectKey;

/// One merge or mutation.
pub(crate) struct RunningWork {
    id: u64,
    pub(crate) key: ObjectKey,
    pub(crate) subject: WorkSubject,
    pub(crate) control: Arc<WorkControl>,
    pub(crate) started: Instant,
    /// The number of the thread in the system.
    pub(crate) thread: u64,
}

/// What is read and made.
pub(crate) enum WorkSubject {
    Parts {
        parts: Vec<PartStats>,
        result: PartName,
        /// The number of the mutation; `None` for a merge.
        mutation: Option<u64>,
    },
    /// The segments or the frozen rows of a Succinct table.
    Places(Step),
}

impl RunningWork {
    /// The part that a mutation of this version, or of a later one, changes.
    pub(crate) fn mutated_part(&self, version: u64) -> Option<&PartStats> {
        match &self.subject {
            WorkSubject::Parts { parts, mutation: Some(own), .. } if *own >= version => parts.first(),
            _ => None,
        }
    }

    pub(super) fn is_mutation(&self, version: u64) -> bool {
        matches!(self.subject, WorkSubject::Parts { mutation: Some(own), .. } if own == version)
    }
}

/// All that run.
#[derive(Default)]
pub(crate) struct RunningWorks {
    works: Mutex<Vec<Arc<RunningWork>>>,
    next_id: AtomicU64,
}

/// Removes its work from the list when it is dropped.
pub(crate) struct Entered<'a> {
    works: &'a RunningWorks,
    id: u64,
}

impl RunningWorks {
    pub(super) fn list(&self) -> Vec<Arc<RunningWork>> {
        self.works.lock().clone()
    }

    pub(super) fn cancel(&self, which: impl Fn(&RunningWork) -> bool) {
        self.works.lock().iter().filter(|work| which(work)).for_each(|work| work.control.cancel());
    }

    pub(super) fn enter(
        &self,
        key: &ObjectKey,
        parts: &[Arc<Part>],
        mutation: Option<u64>,
        control: &Arc<WorkControl>,
    ) -> Entered<'_> {
        let result = match mutation {
            Some(version) => parts[0].name().mutated(version),
            None => PartName::merged(parts.iter().map(|part| part.name())),
        };
        let parts = parts.iter().map(|part| part.stats(true)).collect();
        self.list_work(key, WorkSubject::Parts { parts, result, mutation }, control)
    }

    pub(super) fn list_work(
        &self,
        key: &ObjectKey,
        subject: WorkSubject,
        control: &Arc<WorkControl>,
    ) -> Entered<'_> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let work = RunningWork {
            id,
            key: key.clone(),
            subject,
            control: Arc::clone(control),
            started: Instant::now(),
            thread: thread_number(),
        };
        self.works.lock().push(Arc::new(work));
        Entered { works: self, id }
    }
}

/// The system's number of this thread; 0 if unknown.
fn thread_number() -> u64 {
    let own = std::fs::read_link("/proc/thread-self").ok();
    let number = own.and_then(|path| path.file_name()?.to_str()?.parse().ok());
    number.unwrap_or(0)
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.works.works.lock().retain(|work| work.id != self.id);
    }
}
