//! Metadata files: the statement that made each database, table, view and dictionary.
//!
//! # Layout
//!
//! ```text
//! metadata/<database>/            one directory a database
//! metadata/<database>/<name>.sql  one file an object:
//!   -- basalt metadata 1
//!   -- uuid 6f1c0a4e-...
//!   -- crc32c 1a2b3c4d            of everything behind this line
//!   -- column renamed a b         what happened to the names of columns, in order; only in a table's file
//!   -- column dropped c
//!   -- detached                 nobody is to open it: DETACH .. PERMANENTLY
//!   CREATE TABLE ...
//! ```
//!
//! Names are percent-encoded where a file name cannot hold them. A file is published whole: written,
//! synced, renamed, and its directory synced. A RENAME of several goes through a journal
//! (`catalog/journal.rs`), and a dropped database is renamed before its files are removed.
//!
//! # Invariants
//!
//! *Closed after a failure*: once it is not known what of a change is on disk, there is no other change
//! until the directory is opened again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{PendingFile, Storage, is_unpublished, publish_empty_dir};
use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_parts::{ColumnHistory, NameChange};
use parking_lot::Mutex;
use uuid::Uuid;

use super::ObjectKey;
use super::journal::{JOURNAL_FILE, RenameJournal};

const FIRST_LINE: &str = "-- basalt metadata 1";
const COLUMN_LINE: &str = "-- column ";
const DETACHED_LINE: &str = "-- detached\n";
const SUFFIX: &str = ".sql";
/// Ends the name of a database's directory that is being removed. No encoded name has a dot.
const DROPPED_SUFFIX: &str = ".dropped";
/// A statement longer than this is no statement.
const BYTES_MAX: u64 = 64 << 20;
/// Nobody changes the columns of a table more often.
const CHANGES_MAX: u64 = u64::MAX / 2;
/// A RENAME of more than this is no RENAME.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;

/// The `metadata` directory of a data directory.
#[derive(Debug)]
pub(crate) struct MetadataStore {
    storage: Arc<dyn Storage>,
    root: PathBuf,
    /// The failure after which it is not known what is on disk.
    failure: Mutex<Option<Error>>,
}

/// What one metadata file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) name: String,
    pub(crate) uuid: Uuid,
    pub(crate) statement: String,
    /// How a table's columns were called before.
    pub(crate) history: ColumnHistory,
    /// Detached for good: it is not opened at a start.
    pub(crate) is_detached: bool,
}

impl MetadataStore {
    /// Opens `<data directory>/metadata`, making it if it is not there, and ends what a crash cut short.
    pub(crate) fn open(storage: Arc<dyn Storage>, data_dir: &Path) -> Result<MetadataStore> {
        let root = data_dir.join("metadata");
        publish_empty_dir(storage.as_ref(), &root)?;
        let store = MetadataStore { storage, root, failure: Mutex::new(None) };
        store.recover()?;
        Ok(store)
    }

    fn recover(&self) -> Result<()> {
        let storage = self.storage.as_ref();
        let journal = self.root.join(JOURNAL_FILE);
        if storage.exists(&journal)? {
            let decoded = RenameJournal::decode(&storage.read(&journal, JOURNAL_BYTES_MAX)?);
            decoded.map_err(|error| error.within(journal.display()))?.apply(storage, &self.root)?;
            storage.remove_file(&journal)?;
            storage.sync_dir(&self.root)?;
        }
        for entry in storage.list(&self.root)? {
            let path = self.root.join(&entry.name);
            if entry.name.ends_with(DROPPED_SUFFIX) {
                storage.remove_dir_all(&path)?;
            } else if entry.is_dir {
                self.remove_unpublished(&path)?;
            } else if is_unpublished(&entry.name) {
                storage.remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn remove_unpublished(&self, dir: &Path) -> Result<()> {
        for entry in self.storage.list(dir)?.iter().filter(|entry| is_unpublished(&entry.name)) {
            self.storage.remove_file(&dir.join(&entry.name))?;
        }
        Ok(())
    }

    /// The names of all databases.
    pub(crate) fn databases(&self) -> Result<Vec<String>> {
        let entries = self.storage.list(&self.root)?;
        entries.iter().filter(|entry| entry.is_dir).map(|entry| decode_name(&entry.name)).collect()
    }

    pub(crate) fn create_database(&self, database: &str) -> Result<()> {
        self.change(|storage| publish_empty_dir(storage, &self.database_dir(database)))
    }

    /// Removes the database and the metadata of all that is in it.
    pub(crate) fn drop_database(&self, database: &str) -> Result<()> {
        let dropped = self.root.join(format!("{}{DROPPED_SUFFIX}", encode_name(database)));
        self.change(|storage| {
            storage.rename(&self.database_dir(database), &dropped)?;
            storage.sync_dir(&self.root)?;
            // The drop is done; what a crash leaves of the directory goes at the next open.
            storage.remove_dir_all(&dropped)
        })
    }

    /// Everything in a database, sorted by name.
    pub(crate) fn objects(&self, database: &str) -> Result<Vec<StoredObject>> {
        let dir = self.database_dir(database);
        let mut objects = Vec::new();
        for entry in self.storage.list(&dir)? {
            if let Some(stem) = entry.name.strip_suffix(SUFFIX) {
                objects.push(self.read(&dir.join(&entry.name), decode_name(stem)?)?);
            }
        }
        Ok(objects)
    }

    /// What the file of one object says.
    pub(crate) fn object(&self, database: &str, name: &str) -> Result<StoredObject> {
        self.read(&self.path_of(database, name), name.to_owned())
    }

    fn read(&self, path: &Path, name: String) -> Result<StoredObject> {
        let bytes = self.storage.read(path, BYTES_MAX)?;
        decode(name, &bytes).map_err(|error| error.within(path.display()))
    }

    /// Where the file of an object is.
    pub(crate) fn path_of(&self, database: &str, name: &str) -> PathBuf {
        self.root.join(file_path(database, name))
    }

    /// Writes or replaces the object's file; durable when it returns.
    pub(crate) fn write(&self, database: &str, object: &StoredObject) -> Result<()> {
        self.check_open()?;
        let path = self.path_of(database, &object.name);
        let pending = PendingFile::write(self.storage.as_ref(), &path, &encode(object))?;
        self.change(|storage| pending.publish(storage))
    }

    pub(crate) fn remove(&self, database: &str, name: &str) -> Result<()> {
        self.change(|storage| {
            storage.remove_file(&self.path_of(database, name))?;
            storage.sync_dir(&self.database_dir(database))
        })
    }

    /// Writes the files of `targets` and removes those of `sources`: all of it, or none.
    pub(crate) fn rename(&self, targets: &[(String, StoredObject)], sources: &[ObjectKey]) -> Result<()> {
        self.check_open()?;
        let writes =
            targets.iter().map(|(database, object)| (file_path(database, &object.name), encode(object)));
        let removals = sources.iter().map(|key| file_path(&key.database, &key.name));
        let journal = RenameJournal { writes: writes.collect(), removals: removals.collect() };
        let path = self.root.join(JOURNAL_FILE);
        let pending = PendingFile::write(self.storage.as_ref(), &path, &journal.encode())?;
        self.change(|storage| {
            pending.publish(storage)?;
            journal.apply(storage, &self.root)?;
            storage.remove_file(&path)?;
            storage.sync_dir(&self.root)
        })
    }

    /// Runs what changes the directory; after a failure there is no other change.
    fn change(&self, change: impl FnOnce(&dyn Storage) -> Result<()>) -> Result<()> {
        self.check_open()?;
        change(self.storage.as_ref()).inspect_err(|error| *self.failure.lock() = Some(error.clone()))
    }

    /// Refuses changes after one that failed halfway.
    pub(crate) fn check_open(&self) -> Result<()> {
        match &*self.failure.lock() {
            None => Ok(()),
            Some(first) => bail!(
                CannotWriteToFile,
                "the catalog is closed for changes since an earlier failure: {}; reopen the database",
                first.message()
            ),
        }
    }

    fn database_dir(&self, database: &str) -> PathBuf {
        self.root.join(encode_name(database))
    }
}

/// The path of an object's file below the `metadata` directory.
fn file_path(database: &str, name: &str) -> String {
    format!("{}/{}{SUFFIX}", encode_name(database), encode_name(name))
}

fn encode(object: &StoredObject) -> Vec<u8> {
    let mut changes = match object.history.forgotten() {
        0 => String::new(),
        forgotten => format!("{COLUMN_LINE}forgotten {forgotten}\n"),
    };
    changes.extend(object.history.changes().iter().map(encode_change));
    let detached = if object.is_detached { DETACHED_LINE } else { "" };
    let body = format!("{changes}{detached}{}\n", object.statement);
    let crc = crc32c(body.as_bytes());
    format!("{FIRST_LINE}\n-- uuid {}\n-- crc32c {crc:08x}\n{body}", object.uuid).into_bytes()
}

fn decode(name: String, bytes: &[u8]) -> Result<StoredObject> {
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("it is not UTF-8"))?;
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    if next() != FIRST_LINE {
        return Err(corrupt(&format!("its first line is not `{FIRST_LINE}`")));
    }
    let uuid = next().strip_prefix("-- uuid ").and_then(|uuid| Uuid::parse_str(uuid).ok());
    let crc = next().strip_prefix("-- crc32c ").and_then(|crc| u32::from_str_radix(crc, 16).ok());
    let (Some(uuid), Some(stored)) = (uuid, crc) else {
        return Err(corrupt("its uuid or checksum line is not one"));
    };
    let body = next();
    let computed = crc32c(body.as_bytes());
    if stored != computed {
        return Err(corrupt(&format!("its checksum is {stored:08x}, computed {computed:08x}")));
    }
    let mut statement = body.trim_end();
    let (mut forgotten, mut changes) = (0, Vec::new());
    while let Some((line, rest)) = statement.strip_prefix(COLUMN_LINE).and_then(|line| line.split_once('\n'))
    {
        match line.strip_prefix("forgotten ") {
            Some(count) if changes.is_empty() && forgotten == 0 => {
                let count = count.parse().ok().filter(|&count: &u64| count <= CHANGES_MAX);
                forgotten =
                    count.ok_or_else(|| corrupt(&format!("`{line}` is no count of changes of columns")))?;
            }
            _ => changes.push(decode_change(line)?),
        }
        statement = rest;
    }
    let history = ColumnHistory::new(forgotten, changes);
    let is_detached = statement.starts_with(DETACHED_LINE);
    let statement = statement.strip_prefix(DETACHED_LINE).unwrap_or(statement).to_owned();
    Ok(StoredObject { name, uuid, statement, history, is_detached })
}

fn encode_change(change: &NameChange) -> String {
    match change {
        NameChange::Renamed { from, to, texts } => {
            let texts: String = texts
                .iter()
                .map(|(old, new)| format!(" {} {}", encode_name(old), encode_name(new)))
                .collect();
            format!("{COLUMN_LINE}renamed {} {}{texts}\n", encode_name(from), encode_name(to))
        }
        NameChange::Dropped { name } => format!("{COLUMN_LINE}dropped {}\n", encode_name(name)),
    }
}

fn decode_change(line: &str) -> Result<NameChange> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["renamed", from, to, ref texts @ ..] if texts.len() % 2 == 0 => {
            let pair = |pair: &[&str]| Ok((decode_name(pair[0])?, decode_name(pair[1])?));
            let texts = texts.chunks_exact(2).map(pair).collect::<Result<_>>()?;
            Ok(NameChange::Renamed { from: decode_name(from)?, to: decode_name(to)?, texts })
        }
        ["dropped", name] => Ok(NameChange::Dropped { name: decode_name(name)? }),
        _ => Err(corrupt(&format!("`{line}` is no change of a column"))),
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("metadata file is corrupt, {what}"))
}

/// A name as a file name: letters, digits and `_` stay, every other byte becomes `%XX`.
pub(crate) fn encode_name(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The name that [`encode_name`] made a file name of.
pub(crate) fn decode_name(encoded: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => bytes.push(value),
            None => bail!(CorruptedData, "`{encoded}` in the metadata directory is not an encoded name"),
        }
        rest = &tail[2..];
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorCode::CorruptedData, format!("`{encoded}` is not an encoded name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> StoredObject {
        StoredObject {
            name: "orders".to_owned(),
            uuid: Uuid::from_u128(7),
            statement: "CREATE TABLE orders (id UInt64) ENGINE = Memory".to_owned(),
            history: ColumnHistory::new(
                3,
                vec![
                    NameChange::Renamed {
                        from: "a b".to_owned(),
                        to: "-- column".to_owned(),
                        texts: vec![("lower(`a b`)".to_owned(), "lower(`-- column`)".to_owned())],
                    },
                    NameChange::Dropped { name: "c\nd".to_owned() },
                ],
            ),
            is_detached: true,
        }
    }

    #[test]
    fn file_round_trips() {
        let decoded = decode("orders".to_owned(), &encode(&object())).expect("our own bytes");
        assert_eq!(decoded, object());
        let attached = StoredObject { is_detached: false, ..object() };
        assert_eq!(decode("orders".to_owned(), &encode(&attached)).expect("our own bytes"), attached);
    }

    #[test]
    fn every_flipped_bit_is_refused_or_changes_nothing() {
        let bytes = encode(&object());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The uuid and the checksum's letters are not under the checksum; the statement is.
            if let Ok(decoded) = decode("orders".to_owned(), &flipped) {
                assert_eq!((decoded.statement, decoded.is_detached), (object().statement, true), "bit {bit}");
            }
        }
    }

    #[test]
    fn names_survive_the_file_system() {
        for name in ["orders", "a b/c", "..", "%41", "\u{e9}t\u{e9}"] {
            assert_eq!(decode_name(&encode_name(name)).expect("our own encoding"), name);
            assert!(!encode_name(name).contains(['/', '.']));
        }
        assert!(decode_name("%4").is_err());
    }
}
