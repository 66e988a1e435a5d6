//! Several renames as one atomic change.
//!
//! One rename is atomic by itself. For several, a record is published in the table's directory first, then they are
//! made, then the record is removed. Opening the table finishes what a record lists. So after a crash before the
//! record was durable nothing has moved, and after that everything has. The record of a command on two tables is in
//! a directory above both, see [`super::transfer`].
//!
//! # Layout of `moves.rec`
//!
//! ```text
//! magic "BSLTMOV1"
//! moves u32, then for each: from, to as bytes     paths below the table's directory
//! window u32, blocks u32, then for each: partition as bytes, hash 16 bytes
//!                                                 additions to the log of inserted blocks
//! crc32c u32                                      of everything before it
//! ```
//!
//! # Invariants
//!
//! - **Stale records do nothing**: the removal of a record becomes durable only with the next sync of the
//!   directory. Until then no name that it moves from is used again: temporary names are unique in the life of the
//!   process, and every change that gives a part a name syncs the directory, as does opening it.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{PendingFile, Storage, publish_file};

use super::active::{Commit, TEMPORARY, TableParts, lock};
use super::deduplication::{BlockId, DeduplicationLog, checked_body};
use super::insert::{InsertOptions, PendingBlock};
use crate::error::{Damage, Error, Result};
use crate::fields::{FieldReader, FieldWriter};
use crate::name::PartName;
use crate::part::stored::{PartDirectory, StoredPart};
use crate::part::view::Part;
use crate::part::writer::PendingPart;
use crate::spec::PartSpec;

/// The name of the file.
pub(super) const MOVES_FILE: &str = "moves.rec";

/// A larger record is invalid.
const RECORD_BYTES_MAX: u64 = 64 << 20;

const MAGIC: &[u8; 8] = b"BSLTMOV1";

/// The least bytes of a move.
const MOVE_BYTES_MIN: usize = 8;

/// Changes that are made together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    /// From and to, as paths below the table's directory.
    pub(super) renames: Vec<(String, String)>,
    /// Additions to the log of inserted blocks, and the log's window.
    blocks: Vec<BlockId>,
    window: u32,
}

/// Why moves failed.
#[derive(Debug)]
pub(super) enum Unmade {
    /// Nothing has changed.
    Untouched(Error),
    /// The state is unknown until the tables are reopened.
    Halfway(Error),
}

impl TableParts {
    /// Keeps pending parts that a record names, because reopening needs them: they are not removed if the moves
    /// failed halfway, which closes the table to changes.
    pub(super) fn keep_if_announced(&self, pending: impl IntoIterator<Item = PendingPart>) {
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
        let mut told = Vec::with_capacity(pending.len());
        for (number, block) in (first..).zip(pending) {
            told.push((block.took_us, block.id.as_ref().map(BlockId::text)));
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
        for (part, (took_us, block_id)) in parts.iter().zip(told) {
            self.note_new(part, took_us, block_id);
        }
        Ok(names)
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
            self.table.keep_if_announced(pending.into_iter().map(|(_, part)| part));
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
            Err(Unmade::Untouched(error)) => return Err(error),
            Err(Unmade::Halfway(error)) => return self.table.poison_unless_ok(Err(error)),
        }
        if !moves.blocks.is_empty() {
            *lock(&self.table.inserted) =
                self.table.poison_unless_ok(DeduplicationLog::open(storage, dir))?;
        }
        Ok(())
    }
}

impl Moves {
    /// Moves only.
    pub(super) fn of(renames: Vec<(String, String)>) -> Moves {
        Moves { renames, ..Moves::default() }
    }

    /// Records the moves below `dir` and makes them, durably; `temporary` are directories that they move from.
    pub(super) fn make(
        &self,
        storage: &dyn Storage,
        dir: &Path,
        temporary: &[PathBuf],
    ) -> Result<(), Unmade> {
        if self.renames.is_empty() && self.blocks.is_empty() {
            return Ok(());
        }
        // The moved files and their directories must survive a crash.
        let above = temporary.iter().filter_map(|directory| directory.parent()).filter(|above| *above != dir);
        for directory in temporary.iter().map(PathBuf::as_path).chain(above) {
            storage.sync_dir(directory).map_err(|error| Unmade::Untouched(error.into()))?;
        }
        // Fails before anything has changed, for example on a full disk.
        let log = self.log(storage, dir).map_err(Unmade::Untouched)?;
        let record = dir.join(MOVES_FILE);
        if let Err(error) = publish_file(storage, &record, &self.encode()) {
            // Without the published record nothing has changed.
            let is_announced = storage.exists(&record).unwrap_or(true);
            let error = Error::from(error);
            return Err(if is_announced { Unmade::Halfway(error) } else { Unmade::Untouched(error) });
        }
        self.finish(storage, dir, log).map_err(Unmade::Halfway)
    }

    /// Writes the log of inserted blocks with the additions to a pending file; `None` if there are none.
    fn log(&self, storage: &dyn Storage, dir: &Path) -> Result<Option<PendingFile>> {
        if self.blocks.is_empty() {
            return Ok(None);
        }
        let mut log = DeduplicationLog::open(storage, dir)?;
        self.blocks.iter().for_each(|id| log.add(id.clone(), self.window as usize));
        log.write(storage, dir).map(Some)
    }

    /// Makes the moves that are not made yet and removes the record.
    fn finish(&self, storage: &dyn Storage, dir: &Path, log: Option<PendingFile>) -> Result<()> {
        let mut directories = vec![dir.to_owned()];
        for (from, to) in &self.renames {
            let (from, to) = (dir.join(from), dir.join(to));
            if storage.exists(&from)? && !storage.exists(&to)? {
                storage.rename(&from, &to)?;
            }
            for parent in [from.parent(), to.parent()].into_iter().flatten() {
                if !directories.iter().any(|known| known == parent) && !parent.ends_with(TEMPORARY) {
                    directories.push(parent.to_owned());
                }
            }
        }
        for directory in &directories {
            // A table of a stale record may be gone.
            if storage.exists(directory)? {
                storage.sync_dir(directory)?;
            }
        }
        if let Some(log) = log {
            log.publish(storage)?;
        }
        Ok(storage.remove_file(&dir.join(MOVES_FILE))?)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = FieldWriter::default();
        out.raw(MAGIC);
        out.u32(self.renames.len() as u32);
        for (from, to) in &self.renames {
            out.bytes(from.as_bytes());
            out.bytes(to.as_bytes());
        }
        out.u32(self.window);
        out.u32(self.blocks.len() as u32);
        self.blocks.iter().for_each(|id| id.encode(&mut out));
        out.u32(basalt_base::checksum::crc32c(&out.bytes));
        out.bytes
    }

    fn decode(bytes: &[u8]) -> Result<Moves, Damage> {
        let body = checked_body(bytes)?;
        let mut fields = FieldReader::new(body);
        if fields.array()? != *MAGIC {
            return Err(Damage::new(0, "this is not a record of moves"));
        }
        let count = fields.u32()? as usize;
        if count > body.len() / MOVE_BYTES_MIN {
            return Err(Damage::new(fields.at(), format!("{count} moves do not fit the file")));
        }
        let mut renames = Vec::with_capacity(count);
        for _ in 0..count {
            let at = fields.at();
            let (from, to) = (fields.text()?, fields.text()?);
            if !is_below(&from) || !is_below(&to) {
                return Err(Damage::new(at, "a move outside the table"));
            }
            renames.push((from, to));
        }
        let window = fields.u32()?;
        let blocks = BlockId::decode_list(&mut fields, body.len())?;
        fields.finish()?;
        Ok(Moves { renames, blocks, window })
    }
}

/// The path of the part below the table's directory.
pub(super) fn temporary_name(pending: &PendingPart) -> String {
    let name = pending.directory.path().file_name().unwrap_or_default().to_string_lossy();
    format!("{TEMPORARY}/{name}")
}

/// Whether the path stays below its start.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Finishes the moves that a crash interrupted; the error is damage of the record. Makes sure that no record
/// remains that another crash could bring back.
pub(super) fn finish_announced(storage: &dyn Storage, dir: &Path) -> Result<()> {
    let path = dir.join(MOVES_FILE);
    if storage.exists(&path)? {
        let bytes = storage.read(&path, RECORD_BYTES_MAX)?;
        let moves = Moves::decode(&bytes).map_err(|damage| damage.in_file(&path))?;
        let log = moves.log(storage, dir)?;
        moves.finish(storage, dir, log)?;
    }
    // The removal of a record may not be durable yet, and its names will be used again.
    storage.sync_dir(dir).map_err(Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_refuses_every_bit_flip_and_truncation_and_paths_outside() {
        let id = BlockId { partition: "all".to_owned(), hash: [7; 16] };
        let renames = vec![("tmp/part_1".to_owned(), "all_1_1_0".to_owned())];
        let moves = Moves { renames, blocks: vec![id], window: 9 };
        let whole = moves.encode();
        assert_eq!(Moves::decode(&whole), Ok(moves));
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Moves::decode(&bytes).is_err(), "bit {bit}");
        }
        for end in 0..whole.len() {
            assert!(Moves::decode(&whole[..end]).is_err(), "{end} bytes");
        }
        for outside in ["../x", "/etc", "a/../../b", ""] {
            let moves = Moves::of(vec![(outside.to_owned(), "all_1_1_0".to_owned())]);
            assert!(Moves::decode(&moves.encode()).is_err(), "{outside}");
        }
    }
}
