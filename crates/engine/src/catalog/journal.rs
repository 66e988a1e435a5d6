//! The journal of a RENAME: several metadata files that change together, or not at all.
//!
//! # Layout
//!
//! ```text
//! metadata/RENAME                 only while a RENAME is under way:
//!   -- basalt rename 2
//!   -- crc32c 1a2b3c4d            of everything after this line
//!   remove shop/b.sql             a file that the RENAME makes
//!   write shop/a.sql 120          then 120 bytes, the contents of the file before the RENAME
//! ```
//!
//! It holds the files as they were before. The RENAME has happened when the journal is gone; a RENAME whose journal is
//! found is undone. Undoing it twice is the same as once. Version 1 holds the files as they are afterwards: where it is
//! found, the RENAME is finished.

use std::path::Path;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{Storage, publish_file};
use basalt_base::{Error, ErrorCode, Result};

use super::metadata_file::uuid_of;

/// The name of the journal in the `metadata` directory.
pub(super) const JOURNAL_FILE: &str = "RENAME";

const FIRST_LINE: &str = "-- basalt rename 2";
/// First line of the older format, which holds the state after the change.
const FORWARD_LINE: &str = "-- basalt rename 1";
/// Longer than any metadata file.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The files, as paths below the `metadata` directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RenameJournal {
    pub(super) writes: Vec<(String, Vec<u8>)>,
    pub(super) removals: Vec<String>,
    /// Whether it is one of version 1.
    pub(super) is_forward: bool,
}

impl RenameJournal {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for path in &self.removals {
            body.extend_from_slice(format!("remove {path}\n").as_bytes());
        }
        for (path, contents) in &self.writes {
            body.extend_from_slice(format!("write {path} {}\n", contents.len()).as_bytes());
            body.extend_from_slice(contents);
        }
        let first = if self.is_forward { FORWARD_LINE } else { FIRST_LINE };
        let mut bytes = format!("{first}\n-- crc32c {:08x}\n", crc32c(&body)).into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<RenameJournal> {
        let (first, rest) = line(bytes)?;
        if ![FIRST_LINE, FORWARD_LINE].contains(&first) {
            return Err(corrupt(&format!("its first line is not `{FIRST_LINE}`")));
        }
        let (second, mut body) = line(rest)?;
        let stored = second.strip_prefix("-- crc32c ").and_then(|crc| u32::from_str_radix(crc, 16).ok());
        if stored != Some(crc32c(body)) {
            return Err(corrupt("its checksum does not match"));
        }
        let mut journal = RenameJournal { is_forward: first == FORWARD_LINE, ..RenameJournal::default() };
        while !body.is_empty() {
            let (entry, rest) = line(body)?;
            body = journal.read_entry(entry, rest)?;
        }
        Ok(journal)
    }

    /// Takes one entry, and returns the rest.
    fn read_entry<'a>(&mut self, entry: &str, rest: &'a [u8]) -> Result<&'a [u8]> {
        let words: Vec<&str> = entry.split(' ').collect();
        match words[..] {
            ["remove", path] => {
                self.removals.push(path.to_owned());
                Ok(rest)
            }
            ["write", path, size] => {
                let contents = size.parse().ok().and_then(|size: usize| rest.split_at_checked(size));
                let (contents, rest) = contents.ok_or_else(|| corrupt("a file in it has a wrong size"))?;
                self.writes.push((path.to_owned(), contents.to_owned()));
                Ok(rest)
            }
            _ => Err(corrupt(&format!("`{entry}` is no entry"))),
        }
    }

    /// A journal that restores the files below `root` that this one writes and removes.
    pub(super) fn reversed(&self, storage: &dyn Storage, root: &Path) -> Result<RenameJournal> {
        let mut reversed = RenameJournal::default();
        for path in self.writes.iter().map(|(path, _)| path).chain(&self.removals) {
            let file = root.join(path);
            if storage.exists(&file)? {
                reversed.writes.push((path.clone(), storage.read(&file, FILE_BYTES_MAX)?));
            } else {
                reversed.removals.push(path.clone());
            }
        }
        Ok(reversed)
    }

    /// Writes and removes the files below `root`. Files that are already in that state stay as they are and take no
    /// space.
    pub(super) fn apply(&self, storage: &dyn Storage, root: &Path) -> Result<()> {
        for (path, contents) in &self.writes {
            if !has(storage, &root.join(path), contents)? {
                publish_file(storage, &root.join(path), contents)?;
            }
        }
        for path in &self.removals {
            let path = root.join(path);
            if storage.exists(&path)? {
                storage.remove_file(&path)?;
            }
        }
        self.databases().iter().try_for_each(|database| storage.sync_dir(&root.join(database)))
    }

    /// The directories of the files.
    pub(super) fn databases(&self) -> Vec<&str> {
        let paths = self.writes.iter().map(|(path, _)| path).chain(&self.removals);
        let mut databases: Vec<&str> = paths.filter_map(|path| Some(path.split_once('/')?.0)).collect();
        databases.sort_unstable();
        databases.dedup();
        databases
    }

    /// Gives up a RENAME that cannot be finished: removes the new name of each object whose old name still exists.
    pub(super) fn give_up(&self, storage: &dyn Storage, root: &Path) -> Result<()> {
        for (path, contents) in &self.writes {
            let target = root.join(path);
            // An error means that no file can have this name.
            if !has(storage, &target, contents).unwrap_or(false) {
                continue;
            }
            let has_old_name = |path: &String| {
                let old = storage.read(&root.join(path), FILE_BYTES_MAX);
                old.is_ok_and(|old| uuid_of(&old).is_some() && uuid_of(&old) == uuid_of(contents))
            };
            if self.removals.iter().any(has_old_name) {
                storage.remove_file(&target)?;
                storage.sync_dir(target.parent().unwrap_or(root))?;
            }
        }
        Ok(())
    }
}

/// Whether the file exists with exactly these contents.
fn has(storage: &dyn Storage, path: &Path, contents: &[u8]) -> Result<bool> {
    Ok(storage.exists(path)? && storage.read(path, FILE_BYTES_MAX)? == contents)
}

/// The first line, and the rest.
fn line(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(|| corrupt("it ends early"))?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| corrupt("it is not UTF-8"))?;
    Ok((text, &bytes[end + 1..]))
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("the journal of a RENAME is corrupt, {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> RenameJournal {
        RenameJournal {
            writes: vec![
                ("shop/b.sql".to_owned(), b"two\nlines".to_vec()),
                ("shop/c.sql".to_owned(), Vec::new()),
            ],
            removals: vec!["shop/a.sql".to_owned(), "other/a%20b.sql".to_owned()],
            is_forward: false,
        }
    }

    #[test]
    fn journal_round_trips() {
        for journal in [journal(), RenameJournal { is_forward: true, ..journal() }] {
            assert_eq!(RenameJournal::decode(&journal.encode()).unwrap(), journal);
        }
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let bytes = journal().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // Upper case digits of the checksum are the same number.
            if let Ok(decoded) = RenameJournal::decode(&flipped) {
                assert_eq!(decoded, journal(), "bit {bit}");
            }
        }
        for end in 0..bytes.len() {
            RenameJournal::decode(&bytes[..end]).unwrap_err();
        }
    }
}
