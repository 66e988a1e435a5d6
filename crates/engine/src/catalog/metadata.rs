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
//!   CREATE TABLE ...
//! ```
//!
//! Names are percent-encoded where a file name cannot hold them. A file is published whole: written,
//! synced, renamed, and its directory synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{Storage, publish_empty_dir, publish_file};
use basalt_base::{Error, ErrorCode, Result, bail};
use uuid::Uuid;

const FIRST_LINE: &str = "-- basalt metadata 1";
const SUFFIX: &str = ".sql";
/// A statement longer than this is no statement.
const BYTES_MAX: u64 = 64 << 20;

/// The `metadata` directory of a data directory.
#[derive(Debug)]
pub(crate) struct MetadataStore {
    storage: Arc<dyn Storage>,
    root: PathBuf,
}

/// What one metadata file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) name: String,
    pub(crate) uuid: Uuid,
    pub(crate) statement: String,
}

impl MetadataStore {
    /// Opens `<data directory>/metadata`, making it if it is not there.
    pub(crate) fn open(storage: Arc<dyn Storage>, data_dir: &Path) -> Result<MetadataStore> {
        let root = data_dir.join("metadata");
        publish_empty_dir(storage.as_ref(), &root)?;
        Ok(MetadataStore { storage, root })
    }

    /// The names of all databases.
    pub(crate) fn databases(&self) -> Result<Vec<String>> {
        let entries = self.storage.list(&self.root)?;
        entries.iter().filter(|entry| entry.is_dir).map(|entry| decode_name(&entry.name)).collect()
    }

    pub(crate) fn create_database(&self, database: &str) -> Result<()> {
        publish_empty_dir(self.storage.as_ref(), &self.root.join(encode_name(database)))
    }

    /// Removes the database and the metadata of all that is in it.
    pub(crate) fn drop_database(&self, database: &str) -> Result<()> {
        self.storage.remove_dir_all(&self.root.join(encode_name(database)))?;
        self.storage.sync_dir(&self.root)
    }

    /// Everything in a database, sorted by name.
    pub(crate) fn objects(&self, database: &str) -> Result<Vec<StoredObject>> {
        let dir = self.root.join(encode_name(database));
        let mut objects = Vec::new();
        for entry in self.storage.list(&dir)? {
            if let Some(stem) = entry.name.strip_suffix(SUFFIX) {
                let path = dir.join(&entry.name);
                let bytes = self.storage.read(&path, BYTES_MAX)?;
                objects
                    .push(decode(decode_name(stem)?, &bytes).map_err(|error| error.within(path.display()))?);
            }
        }
        Ok(objects)
    }

    /// Writes or replaces the object's file; durable when it returns.
    pub(crate) fn write(&self, database: &str, object: &StoredObject) -> Result<()> {
        publish_file(self.storage.as_ref(), &self.path(database, &object.name), &encode(object))
    }

    pub(crate) fn remove(&self, database: &str, name: &str) -> Result<()> {
        self.storage.remove_file(&self.path(database, name))?;
        self.storage.sync_dir(&self.root.join(encode_name(database)))
    }

    fn path(&self, database: &str, name: &str) -> PathBuf {
        self.root.join(encode_name(database)).join(format!("{}{SUFFIX}", encode_name(name)))
    }
}

fn encode(object: &StoredObject) -> Vec<u8> {
    let body = format!("{}\n", object.statement);
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
    Ok(StoredObject { name, uuid, statement: body.trim_end().to_owned() })
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

fn decode_name(encoded: &str) -> Result<String> {
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
        }
    }

    #[test]
    fn file_round_trips() {
        let decoded = decode("orders".to_owned(), &encode(&object())).expect("our own bytes");
        assert_eq!(decoded, object());
    }

    #[test]
    fn every_flipped_bit_is_refused_or_changes_nothing() {
        let bytes = encode(&object());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The uuid and the checksum's letters are not under the checksum; the statement is.
            if let Ok(decoded) = decode("orders".to_owned(), &flipped) {
                assert_eq!(decoded.statement, object().statement, "bit {bit}");
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
