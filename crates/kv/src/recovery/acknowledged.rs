//! A small file next to RocksDB's own that records which changes were acknowledged.
//!
//! # Layout
//!
//! ```text
//! two slots of 512 bytes, written alternately:
//!   turn, sequence, number of the MANIFEST, its bytes    u64 each, little-endian
//!   crc32c of these                                      u32, little-endian
//! ```
//!
//! # Invariants
//!
//! It never claims more than what is durable: it is written after RocksDB's own sync, and is not synced itself.
//! After a killed process it is exact, because the system has its bytes. After a power cut it may be older and
//! claim less.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use basalt_base::checksum::crc32c;
use basalt_base::{Error, FileAction, Result};
use parking_lot::Mutex;

const NAME: &str = "ACKNOWLEDGED";
const SLOT_BYTES: usize = 512;
const NUMBERS: usize = 4;

/// A state that the store has reached at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// The sequence number of the last change.
    pub(crate) sequence: u64,
    /// The number of the MANIFEST, and its least length.
    pub(crate) manifest: u64,
    pub(crate) manifest_bytes: u64,
}

/// The file, open for writing.
pub(crate) struct AcknowledgedFile {
    file: File,
    last: Mutex<(u64, Acknowledged)>,
}

impl Acknowledged {
    /// The record in the directory `store`; `None` if there is none that can be read.
    pub(crate) fn read(store: &Path) -> Result<Option<Acknowledged>> {
        let path = path(store);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(newest(&bytes).map(|(_, said)| said)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(FileAction::Read, &path, &error)),
        }
    }

    /// The later of both, field by field.
    fn and(self, other: Acknowledged) -> Acknowledged {
        let manifest = (self.manifest, self.manifest_bytes).max((other.manifest, other.manifest_bytes));
        Acknowledged {
            sequence: self.sequence.max(other.sequence),
            manifest: manifest.0,
            manifest_bytes: manifest.1,
        }
    }
}

impl AcknowledgedFile {
    /// Opens the file, and creates it if it does not exist.
    pub(crate) fn open(store: &Path) -> Result<AcknowledgedFile> {
        AcknowledgedFile::open_with(store, Acknowledged::read(store)?.unwrap_or_default())
    }

    /// Opens the file and overwrites its record with `said`.
    pub(crate) fn open_with(store: &Path, said: Acknowledged) -> Result<AcknowledgedFile> {
        let path = path(store);
        let open = || {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            let turn = newest(&std::fs::read(&path)?).map_or(0, |(turn, _)| turn);
            // Writes both slots, so that a damaged one is never the only one.
            (turn + 1..turn + 3).try_for_each(|turn| write(&file, turn, said))?;
            file.sync_all()?;
            Ok(AcknowledgedFile { file, last: Mutex::new((turn + 2, said)) })
        };
        open().map_err(|error| Error::io(FileAction::Open, &path, &error))
    }

    /// Records that more is durable.
    pub(crate) fn add(&self, said: Acknowledged) {
        let mut last = self.last.lock();
        let both = last.1.and(said);
        // A failed write is harmless: recovery then checks less.
        if both != last.1 && write(&self.file, last.0 + 1, both).is_ok() {
            *last = (last.0 + 1, both);
        }
    }
}

impl AcknowledgedFile {
    /// [`AcknowledgedFile::add`], durably.
    pub(crate) fn add_synced(&self, said: Acknowledged) -> Result<()> {
        let mut last = self.last.lock();
        let both = last.1.and(said);
        if both == last.1 {
            return Ok(());
        }
        let written = write(&self.file, last.0 + 1, both).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::io(FileAction::Sync, Path::new(NAME), &error))?;
        *last = (last.0 + 1, both);
        Ok(())
    }
}

fn path(store: &Path) -> PathBuf {
    store.join(NAME)
}

fn write(file: &File, turn: u64, said: Acknowledged) -> std::io::Result<()> {
    let numbers = [turn, said.sequence, said.manifest, said.manifest_bytes];
    let mut slot: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    slot.extend_from_slice(&crc32c(&slot).to_le_bytes());
    slot.resize(SLOT_BYTES, 0);
    file.write_all_at(&slot, turn % 2 * SLOT_BYTES as u64)
}

fn newest(bytes: &[u8]) -> Option<(u64, Acknowledged)> {
    bytes.chunks(SLOT_BYTES).filter_map(slot).max_by_key(|&(turn, _)| turn)
}

fn slot(bytes: &[u8]) -> Option<(u64, Acknowledged)> {
    let (summed, rest) = bytes.split_at_checked(NUMBERS * size_of::<u64>())?;
    let sum = u32::from_le_bytes(rest.first_chunk().copied()?);
    let number = |at: usize| summed[at * 8..].first_chunk().copied().map(u64::from_le_bytes);
    let said = Acknowledged { sequence: number(1)?, manifest: number(2)?, manifest_bytes: number(3)? };
    (sum == crc32c(summed)).then_some((number(0)?, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_slot_leaves_the_one_before() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = Acknowledged { sequence: 5, manifest: 4, manifest_bytes: 100 };
        let file = AcknowledgedFile::open_with(dir.path(), first).expect("a writable directory");
        file.add(Acknowledged { sequence: 9, manifest: 0, manifest_bytes: 0 });
        let both = Acknowledged { sequence: 9, ..first };
        assert_eq!(Acknowledged::read(dir.path()).expect("readable"), Some(both));
        let bytes = std::fs::read(path(dir.path())).expect("readable");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (_, said) = newest(&flipped).expect("one slot is whole");
            assert!(said == first || said == both, "flip of bit {bit}");
        }
        for length in 0..bytes.len() {
            let _ = newest(&bytes[..length]);
        }
    }
}
