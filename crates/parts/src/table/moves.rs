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

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::path::{Component, Path, PathBuf};

use basalt_base::fs::{PendingFile, Storage, publish_file};

use super::deduplication::{BlockId, DeduplicationLog, checked_body};
use super::file_name::TEMPORARY;
use crate::error::{Damage, Error, Result};
use crate::fields::{FieldReader, FieldWriter};
use crate::part::writer::PendingPart;

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
    pub(super) blocks: Vec<BlockId>,
    pub(super) window: u32,
}

/// Why moves failed.
#[derive(Debug)]
pub(super) enum MoveError {
    /// Nothing has changed.
    Untouched(Error),
    /// The state is unknown until the tables are reopened.
    Halfway(Error),
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
    ) -> Result<(), MoveError> {
        if self.renames.is_empty() && self.blocks.is_empty() {
            return Ok(());
        }
        // The moved files and their directories must survive a crash.
        let above = temporary.iter().filter_map(|directory| directory.parent()).filter(|above| *above != dir);
        for directory in temporary.iter().map(PathBuf::as_path).chain(above) {
            storage.sync_dir(directory).map_err(|error| MoveError::Untouched(error.into()))?;
        }
        // Fails before anything has changed, for example on a full disk.
        let log = self.log(storage, dir).map_err(MoveError::Untouched)?;
        let record = dir.join(MOVES_FILE);
        if let Err(error) = publish_file(storage, &record, &self.encode()) {
            // Without the published record nothing has changed.
            let is_recorded = storage.exists(&record).unwrap_or(true);
            let error = Error::from(error);
            return Err(if is_recorded { MoveError::Halfway(error) } else { MoveError::Untouched(error) });
        }
        self.finish(storage, dir, log).map_err(MoveError::Halfway)
    }

    /// Writes the log of inserted blocks with the additions to a pending file; `None` if there are none.
    fn log(&self, storage: &dyn Storage, dir: &Path) -> Result<Option<PendingFile>> {
        if self.blocks.is_empty() {
            return Ok(None);
        }
        let mut log = DeduplicationLog::open(storage, dir)?;
        self.blocks
            .iter()
            .for_each(|id| log.add(id.clone(), usize::try_from(self.window).unwrap_or(usize::MAX)));
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
        out.count(self.renames.len());
        for (from, to) in &self.renames {
            out.bytes(from.as_bytes());
            out.bytes(to.as_bytes());
        }
        out.u32(self.window);
        out.count(self.blocks.len());
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
        let count = fields.count()?;
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
pub(super) fn finish_recorded(storage: &dyn Storage, dir: &Path) -> Result<()> {
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
