//! The journal of a RENAME: several metadata files that change together, or not at all.
//!
//! # Layout
//!
//! ```text
//! metadata/RENAME                 only while a RENAME is under way:
//!   -- basalt rename 1
//!   -- crc32c 1a2b3c4d            of everything behind this line
//!   remove shop/a.sql
//!   write shop/b.sql 120          then 120 bytes, the new contents of the file
//! ```
//!
//! Once the journal is published, the RENAME has happened: the files follow, and if a crash comes
//! first, the next open lets them follow. Doing so twice is the same as once.

use std::path::Path;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{Storage, publish_file};
use basalt_base::{Error, ErrorCode, Result};

/// The name of the journal in the `metadata` directory.
pub(super) const JOURNAL_FILE: &str = "RENAME";

const FIRST_LINE: &str = "-- basalt rename 1";

/// The files, as paths below the `metadata` directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RenameJournal {
    pub(super) writes: Vec<(String, Vec<u8>)>,
    pub(super) removals: Vec<String>,
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
        let mut bytes = format!("{FIRST_LINE}\n-- crc32c {:08x}\n", crc32c(&body)).into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<RenameJournal> {
        let (first, rest) = line(bytes)?;
        if first != FIRST_LINE {
            return Err(corrupt(&format!("its first line is not `{FIRST_LINE}`")));
        }
        let (second, mut body) = line(rest)?;
        let stored = second.strip_prefix("-- crc32c ").and_then(|crc| u32::from_str_radix(crc, 16).ok());
        if stored != Some(crc32c(body)) {
            return Err(corrupt("its checksum does not match"));
        }
        let mut journal = RenameJournal::default();
        while !body.is_empty() {
            let (entry, rest) = line(body)?;
            body = journal.read_entry(entry, rest)?;
        }
        Ok(journal)
    }

    /// Takes one entry; answers with what is behind it.
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

    /// Writes and removes the files below `root`; what a crash did already is done again.
    pub(super) fn apply(&self, storage: &dyn Storage, root: &Path) -> Result<()> {
        for (path, contents) in &self.writes {
            publish_file(storage, &root.join(path), contents)?;
        }
        for path in &self.removals {
            let path = root.join(path);
            if storage.exists(&path)? {
                storage.remove_file(&path)?;
            }
            storage.sync_dir(path.parent().unwrap_or(root))?;
        }
        Ok(())
    }
}

/// The first line, and what is behind it.
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
        }
    }

    #[test]
    fn journal_round_trips() {
        assert_eq!(RenameJournal::decode(&journal().encode()).unwrap(), journal());
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
