//! The set of active parts, and the only way to change it.
//!
//! # Concurrency
//!
//! - Readers clone the set under a lock that is never held during work.
//! - `commits` is held from before a part gets its name until it is in the set. Block numbers are assigned under
//!   it, so they are in the order of commits: a merge of neighbours can never cover the number of an insert that is
//!   not in the set yet.
//! - A merge claims its inputs ([`claim`](super::claim)); at commit it checks that they are still active, and that
//!   the table's columns have not changed.
//!
//! # Invariants
//!
//! - **Order**: the set is sorted by partition and block number; no part covers another.
//! - **Durable**: a part is in the set only after it was published.
//! - **Poisoned**: after a failure in the middle of publishing nothing is written any more, because the state of
//!   the disk is unknown until the table is reopened.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use basalt_base::clock::{Clock, SystemClock};
use basalt_base::fs::Storage;

use super::claim::Claims;
use super::deduplication::DeduplicationLog;
use super::events::{PartEvent, PartEventKind, PartObserver};
use super::file_name::TEMPORARY;
use super::lock::lock;
use super::mutation_record::Mutations;
use super::recover::{self, DetachedPart};
use super::space::{DiskSpace, Reservation, without_margin};
use super::ttl_times::TtlTimes;
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::stored::{PartDirectory, StoredPart};
use crate::part::view::Part;
use crate::part::writer::PendingPart;
use crate::spec::PartSpec;

/// The parts of the table at one moment.
pub type Snapshot = Arc<[Arc<Part>]>;

/// The parts of one table.
pub struct TableParts {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dir: PathBuf,
    active: Mutex<ActiveSet>,
    commits: Mutex<()>,
    pub(super) claims: Claims,
    pub(super) mutations: Mutex<Mutations>,
    poisoned: OnceLock<String>,
    next_temporary: AtomicU64,
    insert_threads: AtomicUsize,
    /// The disk space that work on all tables has reserved; if unset, nothing is reserved.
    space: OnceLock<DiskSpace>,
    detached: Vec<DetachedPart>,
    /// Recently inserted blocks; changed under the commit lock.
    pub(super) inserted: Mutex<DeduplicationLog>,
    pub(super) ttl_times: Mutex<TtlTimes>,
    pub(super) observer: OnceLock<Arc<dyn PartObserver>>,
    release_memory: OnceLock<fn()>,
}

/// A table at one moment.
#[derive(Clone, Debug)]
pub struct PartsVersion {
    pub spec: Arc<PartSpec>,
    pub parts: Snapshot,
}

struct ActiveSet {
    spec: Arc<PartSpec>,
    parts: Snapshot,
    next_block: u64,
    /// Parts that left the set and may still have readers.
    obsolete: Vec<Weak<Part>>,
}

/// Held while the set changes.
pub(super) struct Commit<'a> {
    pub(super) table: &'a TableParts,
    pub(super) began_us: u64,
    /// Events of parts that left the set, reported after those of the parts that replace them.
    removed: RefCell<Vec<PartEvent>>,
    _commits: MutexGuard<'a, ()>,
}

impl TableParts {
    /// Opens the table in `dir`, which is created if it does not exist, and recovers from a crash. Parts with
    /// unreadable metadata are set aside; see [`TableParts::detached`].
    ///
    /// # Panics
    ///
    /// If `spec` contradicts itself.
    pub fn open(storage: Arc<dyn Storage>, dir: impl Into<PathBuf>, spec: PartSpec) -> Result<TableParts> {
        TableParts::open_with_clock(storage, Arc::new(SystemClock), dir.into(), spec)
    }

    /// Like [`TableParts::open`], with another clock for the creation times in the parts' metadata.
    pub fn open_with_clock(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        dir: PathBuf,
        spec: PartSpec,
    ) -> Result<TableParts> {
        spec.assert_valid();
        let spec = Arc::new(spec);
        let recovered = recover::recover(&storage, &dir, &spec)?;
        let inserted = DeduplicationLog::open(&*storage, &dir)?;
        let active = ActiveSet {
            spec,
            parts: recovered.parts.into(),
            next_block: recovered.next_block,
            obsolete: Vec::new(),
        };
        Ok(TableParts {
            storage,
            clock,
            dir,
            active: Mutex::new(active),
            commits: Mutex::new(()),
            claims: Claims::default(),
            mutations: Mutex::new(recovered.mutations),
            poisoned: OnceLock::new(),
            next_temporary: AtomicU64::new(0),
            insert_threads: AtomicUsize::new(1),
            space: OnceLock::new(),
            detached: recovered.detached,
            inserted: Mutex::new(inserted),
            ttl_times: Mutex::default(),
            observer: OnceLock::new(),
            release_memory: OnceLock::new(),
        })
    }

    /// Sets the number of threads that sort and write the columns of an insert; the default is 1. A merge has one.
    pub fn set_insert_threads(&self, threads: usize) {
        self.insert_threads.store(threads, Ordering::Relaxed);
    }

    pub(super) fn insert_threads(&self) -> usize {
        self.insert_threads.load(Ordering::Relaxed)
    }

    /// The active parts. They stay readable as long as the snapshot is held.
    pub fn snapshot(&self) -> Snapshot {
        Arc::clone(&self.active().parts)
    }

    /// The active parts and the columns under which they are read, both of one moment.
    pub fn version(&self) -> PartsVersion {
        let active = self.active();
        PartsVersion { spec: Arc::clone(&active.spec), parts: Arc::clone(&active.parts) }
    }

    /// The columns, codecs and keys of new parts.
    pub fn spec(&self) -> Arc<PartSpec> {
        Arc::clone(&self.active().spec)
    }

    /// Makes merges and mutations reserve the bytes that they will write in `space`, which all tables of a disk
    /// share. Only the first call counts.
    pub fn share_space(&self, space: &DiskSpace) {
        self.space.get_or_init(|| space.clone());
    }

    /// Sets a function that merges call after they freed much memory. Only the first call counts.
    pub fn release_memory_by(&self, release: fn()) {
        self.release_memory.get_or_init(|| release);
    }

    /// Returns freed memory to the system, because the table does not need it soon.
    pub(super) fn release_memory(&self) {
        if let Some(release) = self.release_memory.get() {
            release();
        }
    }

    /// The most bytes of parts whose merge result has room on the disk; `None` if unknown.
    pub fn mergeable_bytes(&self) -> Result<Option<u64>> {
        let free = match self.space.get() {
            Some(space) => space.free(&*self.storage, &self.dir)?,
            None => self.storage.space_left(&self.dir)?,
        };
        Ok(free.map(without_margin))
    }

    /// Reserves disk space for a part made from parts of `bytes` bytes, or reports that there is none.
    pub(super) fn reserve(&self, bytes: u64) -> Result<Option<Reservation>> {
        self.space.get().map(|space| space.reserve(&*self.storage, &self.dir, bytes)).transpose()
    }

    /// The directory of the table.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Parts that were set aside when the table was opened.
    pub fn detached(&self) -> &[DetachedPart] {
        &self.detached
    }

    /// Rows of the active parts that queries see.
    pub fn row_count(&self) -> u64 {
        self.snapshot().iter().map(|part| part.live_row_count()).sum()
    }

    /// Parts that left the set and still have readers.
    pub(super) fn obsolete(&self) -> Vec<Arc<Part>> {
        self.active().obsolete.iter().filter_map(Weak::upgrade).collect()
    }

    /// A unique path in the temporary directory.
    pub(super) fn temporary_path(&self) -> PathBuf {
        let number = self.next_temporary.fetch_add(1, Ordering::Relaxed);
        self.dir.join(TEMPORARY).join(format!("part_{number}"))
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        match self.poisoned.get() {
            Some(first) => Err(Error::Poisoned { first: first.clone() }),
            None => Ok(()),
        }
    }

    /// Closes the table for writing if the result is a failure.
    pub(super) fn poison_unless_ok<T, E: Into<Error>>(&self, result: Result<T, E>) -> Result<T> {
        result.map_err(|error| {
            let error = error.into();
            // Only the first failure counts.
            let _ = self.poisoned.set(error.to_string());
            error
        })
    }

    /// Waits for the lock that allows changes of the set.
    pub(super) fn begin_commit(&self) -> Result<Commit<'_>> {
        let commits = lock(&self.commits);
        self.check_writable()?;
        let began_us = self.clock.now_us();
        Ok(Commit { table: self, began_us, removed: RefCell::default(), _commits: commits })
    }

    fn active(&self) -> MutexGuard<'_, ActiveSet> {
        lock(&self.active)
    }
}

impl Commit<'_> {
    /// The block number of the next insert.
    pub(super) fn next_block(&self) -> u64 {
        self.table.active().next_block
    }

    /// Fails if the table's columns are no longer those of `spec`.
    pub(super) fn check_spec(&self, spec: &Arc<PartSpec>) -> Result<()> {
        if Arc::ptr_eq(spec, &self.table.active().spec) { Ok(()) } else { Err(Error::SpecChanged) }
    }

    /// Whether all `parts` are active.
    pub(super) fn are_active(&self, parts: &[Arc<Part>]) -> bool {
        let active = self.table.snapshot();
        parts.iter().all(|part| active.iter().any(|other| other.name() == part.name()))
    }

    /// Gives the pending part its name, durably. It is not in the set yet.
    pub(super) fn publish(&self, pending: PendingPart, name: PartName) -> Result<Arc<StoredPart>> {
        self.publish_with(pending, name, true)
    }

    /// Like [`Commit::publish`]; without `sync` the name is not durable yet.
    pub(super) fn publish_with(
        &self,
        pending: PendingPart,
        name: PartName,
        sync: bool,
    ) -> Result<Arc<StoredPart>> {
        let path = self.table.dir.join(name.to_string());
        let published = match sync {
            true => pending.directory.publish(&path),
            false => pending.directory.publish_unsynced(&path),
        };
        self.table.poison_unless_ok(published)?;
        let directory = PartDirectory::new(Arc::clone(&self.table.storage), path);
        Ok(Arc::new(StoredPart::new(directory, name, pending.meta)))
    }

    /// Adds `added` to the set and removes the parts that it covers; returns those.
    pub(super) fn replace(&self, added: Arc<Part>) -> Vec<Arc<Part>> {
        self.replace_many(vec![added])
    }

    /// Like [`Commit::replace`] for several parts, which become visible at once.
    pub(super) fn replace_many(&self, added: Vec<Arc<Part>>) -> Vec<Arc<Part>> {
        let mut active = self.table.active();
        let last = added.iter().map(|part| part.name().max_block.max(part.name().mutation) + 1).max();
        active.next_block = active.next_block.max(last.unwrap_or(0));
        let is_covered = |part: &Arc<Part>| added.iter().any(|new| new.name().covers(part.name()));
        let (covered, mut parts): (Vec<_>, Vec<_>) = active.parts.iter().cloned().partition(is_covered);
        parts.extend(added.into_iter().filter(|part| part.row_count() > 0));
        parts.sort_by(|a, b| a.name().cmp(b.name()));
        active.parts = parts.into();
        active.obsolete.retain(|part| part.strong_count() > 0);
        active.obsolete.extend(covered.iter().map(Arc::downgrade));
        drop(active);
        self.note_removed(&covered);
        covered
    }

    fn note_removed(&self, parts: &[Arc<Part>]) {
        if self.table.observer.get().is_some() {
            let now_us = self.table.clock.now_us();
            let removed = |part: &Arc<Part>| PartEvent::of(part, PartEventKind::Removed, now_us);
            self.removed.borrow_mut().extend(parts.iter().map(removed));
        }
    }

    /// Like [`Commit::replace`]; the files of removed parts are deleted after their last reader.
    pub(super) fn replace_all(&self, added: Arc<Part>) {
        let directory = Arc::clone(&added.stored.directory);
        let is_empty = added.row_count() == 0;
        for part in self.replace(added) {
            if is_empty {
                // The empty part covers them until their files are gone.
                part.stored.directory.mark_replaced(&directory);
            } else {
                part.stored.directory.mark_obsolete();
            }
        }
        if is_empty {
            directory.mark_uncovered(self.table.temporary_path());
        }
    }

    /// A number for a mutation, which no insert will get.
    pub(super) fn take_block(&self) -> u64 {
        let mut active = self.table.active();
        let block = active.next_block;
        active.next_block += 1;
        block
    }

    /// Replaces the parts by the same parts with other columns.
    pub(super) fn respec(&self, spec: Arc<PartSpec>, parts: Vec<Arc<Part>>) {
        let mut active = self.table.active();
        active.spec = spec;
        active.parts = parts.into();
    }
}

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        for event in self.removed.take() {
            self.table.note(|| event);
        }
    }
}

impl fmt::Debug for TableParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableParts").field("dir", &self.dir).finish_non_exhaustive()
    }
}
