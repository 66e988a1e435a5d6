//! Mutations: changes of stored rows, applied part by part in the background.
//!
//! A mutation is recorded in the table's directory before any row changes: `mutation_7.txt` has the text of its
//! commands, which only the engine understands. Its number comes from the same sequence as those of inserts, so it
//! applies to all parts with smaller numbers, and to no later row. A mutated part has the number in its name; a
//! mutation is done when no part is left without it.

use std::sync::Arc;

use basalt_base::fs::PendingFile;

use super::active::TableParts;
use super::lock::lock;
use super::mutation_record::{MutationEntry, MutationFailure, record_path, remove_record};
use crate::error::Result;
use crate::name::PartName;
use crate::part::view::Part;

/// The most records of finished mutations that are kept for queries.
const DONE_MAX: usize = 100;

/// The delay after a failed mutation, which doubles after each failure up to ClickHouse's five minutes.
const RETRY_FIRST_US: u64 = 500_000;
const RETRY_MAX_US: u64 = 300_000_000;
const RETRY_DOUBLED_MAX: u32 = 16;

/// Numbers and commands of the mutations that a part waits for, in order.
pub type WaitingMutations = Vec<(u64, Arc<str>)>;

/// The status of a mutation.
#[derive(Clone, Debug)]
pub struct MutationStatus {
    pub version: u64,
    pub commands: Arc<str>,
    pub created_at_us: u64,
    /// The parts that it is not applied to yet.
    pub parts_to_do: Vec<PartName>,
    pub failure: Option<MutationFailure>,
}

impl MutationStatus {
    pub fn is_done(&self) -> bool {
        self.parts_to_do.is_empty()
    }
}

impl TableParts {
    /// Records a mutation of all rows stored now; durable when it returns its number.
    pub fn begin_mutation(&self, commands: &str) -> Result<u64> {
        let commit = self.begin_commit()?;
        let version = commit.take_block();
        let entry = MutationEntry::new(commands, self.clock.now_us());
        let path = record_path(&self.dir, version);
        // Nothing has changed until the file has its name, for example on a full disk.
        let pending = PendingFile::write(&*self.storage, &path, entry.encode().as_bytes())?;
        self.poison_unless_ok(pending.publish(&*self.storage))?;
        lock(&self.mutations).insert(version, entry);
        drop(commit);
        // It may remove the cause of other failures.
        self.retry_mutations();
        self.forget_done()?;
        Ok(version)
    }

    /// All unfinished mutations, and the last finished ones.
    pub fn mutations(&self) -> Vec<MutationStatus> {
        let parts = self.snapshot();
        let to_do = |version: u64| {
            let waits = |part: &&Arc<Part>| part.name().data_version() < version;
            parts.iter().filter(waits).map(|part| part.name().clone()).collect()
        };
        let mutations = lock(&self.mutations);
        mutations
            .iter()
            .map(|(&version, entry)| MutationStatus {
                version,
                commands: Arc::clone(&entry.commands),
                created_at_us: entry.created_at_us,
                parts_to_do: to_do(version),
                failure: entry.failure.clone(),
            })
            .collect()
    }

    /// Cancels a mutation: parts that it was applied to stay changed. `false` if there is none.
    pub fn kill_mutation(&self, version: u64) -> Result<bool> {
        let _commit = self.begin_commit()?;
        if lock(&self.mutations).remove(&version).is_none() {
            return Ok(false);
        }
        self.poison_unless_ok(remove_record(&*self.storage, &self.dir, version))?;
        Ok(true)
    }

    /// The next unclaimed part that waits for mutations, and these mutations in order. After a failure the parts
    /// wait for a while.
    pub fn select_mutation(&self) -> Option<(Arc<Part>, WaitingMutations)> {
        let (mutations, now_us) = (lock(&self.mutations).clone(), self.clock.now_us());
        let parts = self.snapshot();
        parts.iter().filter(|part| !self.claims.is_busy(part)).find_map(|part| {
            let mut waiting = mutations.range(part.name().data_version() + 1..).peekable();
            let is_ready = waiting.peek().is_some_and(|(_, first)| first.retry_at_us <= now_us);
            let entry = |(&version, entry): (&u64, &MutationEntry)| (version, Arc::clone(&entry.commands));
            is_ready.then(|| (Arc::clone(part), waiting.map(entry).collect()))
        })
    }

    /// Retries failed mutations at once and resets their delays: the cause may be gone.
    pub fn retry_mutations(&self) {
        for entry in lock(&self.mutations).values_mut() {
            (entry.failure, entry.failed_count, entry.retry_at_us) = (None, 0, 0);
        }
    }

    /// Records why applying the mutation to the part failed.
    pub fn mutation_failed(&self, version: u64, part: &PartName, reason: &str) {
        let at_us = self.clock.now_us();
        if let Some(entry) = lock(&self.mutations).get_mut(&version) {
            entry.failure = Some(MutationFailure { part: part.clone(), reason: reason.to_owned(), at_us });
            entry.failed_count = entry.failed_count.saturating_add(1);
            let pause_us = RETRY_FIRST_US << entry.failed_count.min(RETRY_DOUBLED_MAX);
            entry.retry_at_us = at_us.saturating_add(pause_us.min(RETRY_MAX_US));
        }
    }

    pub(super) fn mutation_succeeded(&self, version: u64) {
        for entry in lock(&self.mutations).range_mut(..=version).map(|(_, entry)| entry) {
            (entry.failure, entry.failed_count, entry.retry_at_us) = (None, 0, 0);
        }
    }

    /// How many of the known mutations are applied to the part or older than it. Only parts that agree in this
    /// number may be merged.
    pub(super) fn mutations_applied(&self, part: &Part) -> usize {
        lock(&self.mutations).range(..=part.name().data_version()).count()
    }

    /// Numbers of the mutations up to `version` that the part waits for.
    pub(super) fn mutations_of(&self, part: &Part, version: u64) -> Vec<u64> {
        let waiting = part.name().data_version() + 1..=version;
        let known = lock(&self.mutations);
        let mut numbers: Vec<u64> = known.keys().copied().filter(|number| waiting.contains(number)).collect();
        if numbers.last() != Some(&version) {
            // It was cancelled while it began.
            numbers.push(version);
        }
        numbers
    }

    fn forget_done(&self) -> Result<()> {
        let done: Vec<u64> =
            self.mutations().iter().filter(|status| status.is_done()).map(|status| status.version).collect();
        for version in done.iter().take(done.len().saturating_sub(DONE_MAX)) {
            lock(&self.mutations).remove(version);
            self.poison_unless_ok(remove_record(&*self.storage, &self.dir, *version))?;
        }
        Ok(())
    }
}
