//! Moves partitions between tables: ATTACH and REPLACE PARTITION FROM, MOVE PARTITION TO TABLE.
//!
//! A copy is hard links to the same files. A move changes two tables atomically: the copies get their names in one,
//! and empty parts cover the originals in the other. One record of all these renames is in a directory above both
//! tables; [`finish_moves`] must read it before either is opened.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{Storage, is_unpublished};

use super::active::{Commit, TableParts};
use super::file_name::TEMPORARY;
use super::moves::{self, MOVES_FILE, MoveError, Moves, temporary_name};
use super::partition::PartSelection;
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::view::Part;
use crate::part::writer::PendingPart;

/// The name of an unreadable record that was set aside.
const DAMAGED_FILE: &str = "moves.rec.damaged";

impl TableParts {
    /// Adds the rows of a partition of `source`, a table with the same columns and keys; with `replace` they
    /// replace this table's rows of the partition.
    pub fn attach_from(&self, source: &TableParts, partition: &str, replace: bool) -> Result<Vec<PartName>> {
        let taken = source.selected(&PartSelection::Partition(partition.to_owned()))?;
        let pending = self.copies(&taken)?;
        let commit = self.begin_commit()?;
        let replaced = match replace {
            true => self.selected(&PartSelection::Partition(partition.to_owned()))?,
            false => Vec::new(),
        };
        let named = named(&commit, pending, partition);
        let names = named.iter().map(|(name, _)| name.clone()).collect();
        self.remove(&commit, &replaced, named, Moves::default())?;
        Ok(names)
    }

    /// Moves the rows of a partition to `target`, another table with the same columns and keys: after a crash they
    /// are in one of the two. `above` is a directory above those of both tables.
    pub fn move_to(&self, target: &TableParts, partition: &str, above: &Path) -> Result<Vec<PartName>> {
        let commit = self.begin_commit()?;
        let parts = self.selected(&PartSelection::Partition(partition.to_owned()))?;
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let pending = target.copies(&parts)?;
        let covers = self.covers(&parts)?;
        let into = target.begin_commit()?;
        let named = named(&into, pending, partition);
        let names: Vec<PartName> = named.iter().map(|(name, _)| name.clone()).collect();
        let mut moves = Moves::default();
        self.announce(&mut moves, &covers, above)?;
        target.announce(&mut moves, &named, above)?;
        let temporary = [self.dir.join(TEMPORARY), target.dir.join(TEMPORARY)];
        match moves.make(&*self.storage, above, &temporary) {
            Ok(()) => {}
            Err(MoveError::Untouched(error)) => return Err(error),
            Err(MoveError::Halfway(error)) => {
                target.poison_unless_ok(Err::<(), _>(Error::Poisoned { first: error.to_string() })).ok();
                let unmade = self.poison_unless_ok(Err(error));
                self.keep_if_recorded(named.into_iter().chain(covers).map(|(_, part)| part));
                return unmade;
            }
        }
        target.enter(&into, into.stored(named))?;
        self.enter(&commit, commit.stored(covers))?;
        self.forget_partitions(&parts)?;
        Ok(names)
    }

    fn copies(&self, parts: &[Arc<Part>]) -> Result<Vec<PendingPart>> {
        parts.iter().map(|part| self.clone_part(part)).collect()
    }

    /// Adds the renames that publish `pending`, as paths below `above`.
    fn announce(&self, moves: &mut Moves, pending: &[(PartName, PendingPart)], above: &Path) -> Result<()> {
        let dir = self.dir.strip_prefix(above).ok().and_then(Path::to_str).ok_or_else(|| {
            Error::BlockMismatch { what: format!("{} is not above the table", above.display()) }
        })?;
        for (name, part) in pending {
            moves.renames.push((format!("{dir}/{}", temporary_name(part)), format!("{dir}/{name}")));
        }
        Ok(())
    }
}

/// The parts of `partition` with the table's next block numbers.
fn named(commit: &Commit<'_>, pending: Vec<PendingPart>, partition: &str) -> Vec<(PartName, PendingPart)> {
    let name = |(block, part)| (PartName::inserted(partition.to_owned(), block), part);
    (commit.next_block()..).zip(pending).map(name).collect()
}

/// Finishes the moves between tables below `dir` that a crash interrupted. Must be called before any of these
/// tables is opened, because that empties the directories that the moves begin in. Returns the damage of a record
/// that was set aside.
pub fn finish_moves(storage: &dyn Storage, dir: &Path) -> Result<Option<Error>> {
    for entry in storage.list(dir)? {
        if !entry.is_dir && is_unpublished(&entry.name) {
            storage.remove_file(&dir.join(entry.name))?;
        }
    }
    match moves::finish_recorded(storage, dir) {
        // No rows are lost, only the record of which parts were about to move.
        Err(damage @ Error::Corrupt { .. }) => {
            storage.rename(&dir.join(MOVES_FILE), &dir.join(DAMAGED_FILE))?;
            storage.sync_dir(dir)?;
            Ok(Some(damage))
        }
        finished => finished.map(|()| None),
    }
}
