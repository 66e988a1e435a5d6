//! The records of a table's mutations.
//!
//! # Layout of a record
//!
//! ```text
//! basalt mutation 1
//! created: <microseconds since 1970>
//! crc32c: <8 hex digits>             of the commands
//! <commands>
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::Storage;

use crate::error::{Damage, Error, Result};
use crate::name::PartName;

/// Longer commands are invalid.
const RECORD_BYTES_MAX: u64 = 64 << 20;

const FIRST_LINE: &str = "basalt mutation 1";

/// The mutations of a table, by number.
pub(super) type Mutations = BTreeMap<u64, MutationEntry>;

/// A mutation.
#[derive(Clone, Debug)]
pub(super) struct MutationEntry {
    pub(super) commands: Arc<str>,
    pub(super) created_at_us: u64,
    pub(super) failure: Option<MutationFailure>,
    /// Consecutive failures, which double the delay.
    pub(super) failed_count: u32,
    /// Not retried before this time.
    pub(super) retry_at_us: u64,
}

/// Why applying a mutation to a part failed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationFailure {
    pub part: PartName,
    pub reason: String,
    pub at_us: u64,
}

impl MutationEntry {
    pub(super) fn new(commands: &str, created_at_us: u64) -> MutationEntry {
        let commands = commands.into();
        MutationEntry { commands, created_at_us, failure: None, failed_count: 0, retry_at_us: 0 }
    }

    pub(super) fn encode(&self) -> String {
        let crc = crc32c(self.commands.as_bytes());
        format!("{FIRST_LINE}\ncreated: {}\ncrc32c: {crc:08x}\n{}", self.created_at_us, self.commands)
    }

    fn decode(bytes: &[u8]) -> Result<MutationEntry, Damage> {
        let text = std::str::from_utf8(bytes).map_err(|_| Damage::new(0, "it is not text"))?;
        let mut lines = text.splitn(4, '\n');
        let mut line = |what: &str| {
            lines.next().ok_or_else(|| Damage::new(bytes.len(), format!("the file ends before {what}")))
        };
        if line("its first line")? != FIRST_LINE {
            return Err(Damage::new(0, "this is not the record of a mutation"));
        }
        let created = line("the time")?.strip_prefix("created: ").and_then(|number| number.parse().ok());
        let crc = line("the checksum")?.strip_prefix("crc32c: ").map(str::to_owned);
        let commands = line("the commands")?;
        let computed = format!("{:08x}", crc32c(commands.as_bytes()));
        match (created, crc) {
            (Some(created_at_us), Some(crc)) if crc == computed => {
                Ok(MutationEntry::new(commands, created_at_us))
            }
            _ => Err(Damage::new(FIRST_LINE.len() + 1, "the time or the checksum is wrong")),
        }
    }
}

/// An unreadable record: the mutation's number, the file's name, and the error.
pub(super) type DamagedRecord = (u64, String, Error);

/// Loads the mutations whose records are in `dir`.
pub(super) fn load(storage: &dyn Storage, dir: &Path) -> Result<(Mutations, Vec<DamagedRecord>)> {
    let (mut mutations, mut damaged) = (Mutations::new(), Vec::new());
    for entry in storage.list(dir)? {
        let Some(version) = version_of(&entry.name) else { continue };
        let path = dir.join(&entry.name);
        let bytes = storage.read(&path, RECORD_BYTES_MAX)?;
        match MutationEntry::decode(&bytes) {
            Ok(entry) => drop(mutations.insert(version, entry)),
            Err(damage) => damaged.push((version, entry.name, damage.in_file(&path))),
        }
    }
    Ok((mutations, damaged))
}

fn version_of(file: &str) -> Option<u64> {
    let version: u64 = file.strip_prefix("mutation_")?.strip_suffix(".txt")?.parse().ok()?;
    (record_name(version) == file).then_some(version)
}

fn record_name(version: u64) -> String {
    format!("mutation_{version}.txt")
}

pub(super) fn record_path(dir: &Path, version: u64) -> PathBuf {
    dir.join(record_name(version))
}

pub(super) fn remove_record(storage: &dyn Storage, dir: &Path, version: u64) -> Result<(), Error> {
    storage.remove_file(&record_path(dir, version))?;
    Ok(storage.sync_dir(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_round_trips_and_every_damage_is_refused() {
        let entry = MutationEntry::new("UPDATE a = 1\nWHERE b", 77);
        let whole = entry.encode().into_bytes();
        let read = MutationEntry::decode(&whole).unwrap();
        assert_eq!((&*read.commands, read.created_at_us), ("UPDATE a = 1\nWHERE b", 77));
        let commands_at = whole.len() - entry.commands.len();
        for end in 0..whole.len() {
            assert!(MutationEntry::decode(&whole[..end]).is_err(), "cut at {end}");
        }
        for bit in commands_at * 8..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(MutationEntry::decode(&bytes).is_err(), "bit {bit}");
        }
    }
}
