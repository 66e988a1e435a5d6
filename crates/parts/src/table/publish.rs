//! Publishes pending parts: those of an INSERT, and those of a command on whole parts.

use std::sync::Arc;

use super::active::{Commit, TableParts};
use super::deduplication::{BlockId, DeduplicationLog};
use super::file_name::TEMPORARY;
use super::insert::{InsertOptions, PendingBlock};
use super::lock::lock;
use super::moves::{MoveError, Moves, temporary_name};
use crate::error::Result;
use crate::name::PartName;
use crate::part::stored::{PartDirectory, StoredPart};
use crate::part::view::Part;
use crate::part::writer::PendingPart;
use crate::spec::PartSpec;

impl TableParts {
    /// Keeps pending parts that a record names, because reopening needs them: they are not removed if the moves
    /// failed halfway, which closes the table to changes.
    pub(super) fn keep_if_recorded(&self, pending: impl IntoIterator<Item = PendingPart>) {
        if self.check_writable().is_err() {
            pending.into_iter().for_each(|part| part.directory.was_published());
        }
    }

    /// Publishes the parts of an INSERT.
    pub(super) fn publish_insert(
        &self,
        spec: &Arc<PartSpec>,
        mut pending: Vec<PendingBlock>,
        options: &InsertOptions,
    ) -> Result<Vec<PartName>> {
        let commit = self.begin_commit()?;
        commit.check_spec(spec)?;
        // The same INSERT may have been sent twice at once.
        pending.retain(|block| block.id.as_ref().is_none_or(|id| !self.is_duplicate(id)));
        let first = commit.next_block();
        let mut moves = Moves::default();
        let mut named = Vec::with_capacity(pending.len());
        let mut reports = Vec::with_capacity(pending.len());
        for (number, block) in (first..).zip(pending) {
            reports.push((block.duration_us, block.id.as_ref().map(BlockId::text)));
            moves.blocks.extend(block.id);
            let name = PartName { level: block.level, ..PartName::inserted(block.partition, number) };
            named.push((name, block.part));
        }
        moves.window = options.deduplication.as_ref().map_or(0, |one| one.window as u32);
        let names = named.iter().map(|(name, _)| name.clone()).collect();
        let stored = commit.publish_all(named, moves, options.sync)?;
        let parts = stored.into_iter().map(|stored| Part::new(stored, Arc::clone(spec)).map(Arc::new));
        let parts: Vec<Arc<Part>> = parts.collect::<Result<_>>()?;
        commit.replace_many(parts.clone());
        for (part, (duration_us, block_id)) in parts.iter().zip(reports) {
            self.note_new(part, duration_us, block_id);
        }
        Ok(names)
    }

    /// Whether the block was inserted already.
    pub(super) fn is_duplicate(&self, id: &BlockId) -> bool {
        lock(&self.inserted).contains(id)
    }

    /// Removes the blocks of partitions whose rows are removed; the caller holds the commit lock.
    pub(super) fn forget_blocks(&self, partitions: &[String]) -> Result<()> {
        let mut log = lock(&self.inserted);
        let mut forgot = false;
        for partition in partitions {
            forgot |= log.forget(partition);
        }
        if forgot {
            // The rows are gone already: if there is no room for the log, only the one in memory is changed.
            let written = log.write(&*self.storage, &self.dir)?;
            self.poison_unless_ok(written.publish(&*self.storage))?;
        }
        Ok(())
    }
}

impl Commit<'_> {
    /// Gives pending parts their names, durably and atomically. They are not in the set yet.
    pub(super) fn publish_all(
        &self,
        mut pending: Vec<(PartName, PendingPart)>,
        mut moves: Moves,
        sync: bool,
    ) -> Result<Vec<Arc<StoredPart>>> {
        if pending.len() == 1 && moves.blocks.is_empty() && moves.renames.is_empty() {
            return pending
                .pop()
                .map(|(name, part)| self.publish_with(part, name, sync))
                .into_iter()
                .collect();
        }
        for (name, part) in &pending {
            moves.renames.push((temporary_name(part), name.to_string()));
        }
        if let Err(error) = self.make(&moves) {
            self.table.keep_if_recorded(pending.into_iter().map(|(_, part)| part));
            return Err(error);
        }
        Ok(self.stored(pending))
    }

    /// Pending parts that have got their names.
    pub(super) fn stored(&self, pending: Vec<(PartName, PendingPart)>) -> Vec<Arc<StoredPart>> {
        let stored = |(name, part): (PartName, PendingPart)| {
            let path = self.table.dir.join(name.to_string());
            part.directory.was_published();
            let directory = PartDirectory::new(Arc::clone(&self.table.storage), path);
            Arc::new(StoredPart::new(directory, name, part.meta))
        };
        pending.into_iter().map(stored).collect()
    }

    /// Makes the moves, durably.
    pub(super) fn make(&self, moves: &Moves) -> Result<()> {
        let (storage, dir) = (&*self.table.storage, &self.table.dir);
        match moves.make(storage, dir, &[dir.join(TEMPORARY)]) {
            Ok(()) => {}
            Err(MoveError::Untouched(error)) => return Err(error),
            Err(MoveError::Halfway(error)) => return self.table.poison_unless_ok(Err(error)),
        }
        if !moves.blocks.is_empty() {
            *lock(&self.table.inserted) =
                self.table.poison_unless_ok(DeduplicationLog::open(storage, dir))?;
        }
        Ok(())
    }
}
