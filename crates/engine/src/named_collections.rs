//! Named collections: parameters of sources under one name, in memory and as files.
//!
//! # Layout
//!
//! ```text
//! named_collections/<name>.sql    one file a collection:
//!   -- basalt named collection 1
//!   -- crc32c 1a2b3c4d            of everything after this line
//!   CREATE NAMED COLLECTION ..    with all values as they are
//! ```
//!
//! Names are encoded as those of tables. A file is published whole; one that cannot be read does not keep the
//! others from being used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{PendingFile, Storage, is_unpublished, publish_empty_dir};
use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{CollectionEntry, CreateNamedCollection, Statement};
use parking_lot::{Mutex, RwLock};

use crate::names::{check_name, decode_name, encode_name};
use crate::server_log::ServerLog;

const DIRECTORY: &str = "named_collections";
const SUFFIX: &str = ".sql";
const FIRST_LINE: &str = "-- basalt named collection 1\n";
const CRC_LINE: &str = "-- crc32c ";
/// A longer file is invalid.
const BYTES_MAX: u64 = 1 << 20;

/// All named collections of a data directory.
pub(crate) struct NamedCollections {
    storage: Arc<dyn Storage>,
    root: PathBuf,
    all: RwLock<BTreeMap<String, Stored>>,
    /// The failure after which the state of the disk is unknown.
    failure: Mutex<Option<Error>>,
}

/// A collection, or why its file could not be read.
type Stored = std::result::Result<Arc<CreateNamedCollection>, Error>;

impl NamedCollections {
    /// Opens `<data directory>/named_collections`, making it if it is not there.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        data_dir: &Path,
        log: ServerLog,
    ) -> Result<NamedCollections> {
        let root = data_dir.join(DIRECTORY);
        publish_empty_dir(storage.as_ref(), &root)?;
        let mut all = BTreeMap::new();
        for entry in storage.list(&root)? {
            let path = root.join(&entry.name);
            if is_unpublished(&entry.name) {
                // A file that stays is replaced when the collection is written again.
                let _ = storage.remove_file(&path);
                continue;
            }
            let Some(name) = entry.name.strip_suffix(SUFFIX).and_then(|stem| decode_name(stem).ok()) else {
                continue;
            };
            let stored = storage.read(&path, BYTES_MAX).and_then(|bytes| decode(&bytes));
            let stored =
                stored.map(Arc::new).map_err(|error| unreadable(&name, error.within(path.display())));
            if let Err(error) = &stored {
                log.say(error.message());
            }
            all.insert(name, stored);
        }
        Ok(NamedCollections { storage, root, all: RwLock::new(all), failure: Mutex::default() })
    }

    /// The collections that could be read, by name.
    pub(crate) fn all(&self) -> Vec<Arc<CreateNamedCollection>> {
        self.all.read().values().filter_map(|stored| stored.as_ref().ok()).cloned().collect()
    }

    /// Why some cannot be read.
    pub(crate) fn damaged(&self) -> Vec<Error> {
        self.all.read().values().filter_map(|stored| stored.as_ref().err()).cloned().collect()
    }

    /// NAMED_COLLECTION_DOESNT_EXIST with the nearest name, or why it cannot be read.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<CreateNamedCollection>> {
        let all = self.all.read();
        match all.get(name) {
            Some(stored) => stored.clone(),
            None => {
                let near = did_you_mean(name, all.keys().map(String::as_str));
                bail!(NamedCollectionDoesntExist, "there is no named collection `{name}`{near}")
            }
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.all.read().contains_key(name)
    }

    /// Adds a collection, or replaces the one of its name; durable when it returns. Its keys are sorted and distinct.
    pub(crate) fn put(&self, mut collection: CreateNamedCollection) -> Result<()> {
        collection.if_not_exists = false;
        collection.entries.sort_by(|left, right| left.key.cmp(&right.key));
        if let Some(twice) = collection.entries.windows(2).find(|pair| pair[0].key == pair[1].key) {
            bail!(BadArguments, "key `{}` stands twice in the collection", twice[0].key);
        }
        check_name("named collection", &collection.name)?;
        let bytes = encode(&collection);
        if bytes.len() as u64 > BYTES_MAX {
            bail!(BadArguments, "the collection has {} bytes, more than {BYTES_MAX}", bytes.len());
        }
        self.check_open()?;
        let path = self.path_of(&collection.name);
        let storage = self.storage.as_ref();
        PendingFile::write(storage, &path, &bytes)?.rename(storage)?;
        self.sync()?;
        self.all.write().insert(collection.name.clone(), Ok(Arc::new(collection)));
        Ok(())
    }

    /// Removes a collection that is there; durable when it returns.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.check_open()?;
        self.storage.remove_file(&self.path_of(name))?;
        self.sync()?;
        self.all.write().remove(name);
        Ok(())
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.root.join(format!("{}{SUFFIX}", encode_name(name)))
    }

    /// Makes the names of the files durable; after a failure there is no other change.
    fn sync(&self) -> Result<()> {
        self.storage.sync_dir(&self.root).inspect_err(|error| *self.failure.lock() = Some(error.clone()))
    }

    fn check_open(&self) -> Result<()> {
        match &*self.failure.lock() {
            None => Ok(()),
            Some(first) => bail!(
                CannotWriteToFile,
                "named collections are closed for changes since an earlier failure: {}; reopen the database",
                first.message()
            ),
        }
    }
}

/// The entry of this key.
pub(crate) fn entry_of<'a>(entries: &'a mut [CollectionEntry], key: &str) -> Option<&'a mut CollectionEntry> {
    entries.iter_mut().find(|entry| entry.key == key)
}

fn unreadable(name: &str, error: Error) -> Error {
    error.within(format!(
        "named collection `{name}` cannot be read; DROP NAMED COLLECTION and CREATE it again"
    ))
}

fn encode(collection: &CreateNamedCollection) -> Vec<u8> {
    let body = format!("{collection}\n");
    format!("{FIRST_LINE}{CRC_LINE}{:08x}\n{body}", crc32c(body.as_bytes())).into_bytes()
}

fn decode(bytes: &[u8]) -> Result<CreateNamedCollection> {
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("it is not UTF-8"))?;
    let rest = text.strip_prefix(FIRST_LINE).ok_or_else(|| corrupt("its first line is another one"))?;
    let (crc, body) = rest.split_once('\n').ok_or_else(|| corrupt("it ends early"))?;
    let stored = crc.strip_prefix(CRC_LINE).and_then(|crc| u32::from_str_radix(crc, 16).ok());
    if stored != Some(crc32c(body.as_bytes())) {
        return Err(corrupt("its checksum does not match"));
    }
    match basalt_sql::parse_statement(body.as_bytes())? {
        Statement::CreateNamedCollection(collection) => Ok(collection),
        _ => Err(corrupt("it holds another statement")),
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("the file of a named collection is corrupt, {what}"))
}

#[cfg(test)]
mod tests {
    use basalt_base::fs::FaultyStorage;
    use basalt_sql::ast::Literal;

    use super::*;

    fn collection() -> CreateNamedCollection {
        let entry =
            |key: &str, value, overridable| CollectionEntry { key: key.to_owned(), value, overridable };
        CreateNamedCollection {
            name: "my place".to_owned(),
            if_not_exists: false,
            entries: vec![
                entry("host", Literal::String(b"it's\nhere".to_vec()), None),
                entry("password", Literal::String(b"\xff'".to_vec()), Some(false)),
                entry("port", Literal::UInt(9000), Some(true)),
            ],
        }
    }

    #[test]
    fn file_round_trips() {
        assert_eq!(decode(&encode(&collection())).unwrap(), collection());
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let bytes = encode(&collection());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // Upper case digits of the checksum are the same number.
            if let Ok(decoded) = decode(&flipped) {
                assert_eq!(decoded, collection(), "bit {bit}");
            }
        }
        for end in 0..bytes.len() {
            decode(&bytes[..end]).unwrap_err();
        }
    }

    #[test]
    fn damaged_file_leaves_the_others_and_can_be_removed() {
        let storage = FaultyStorage::new();
        let open = || {
            NamedCollections::open(Arc::new(storage.clone()), Path::new("/data"), ServerLog::default())
                .unwrap()
        };
        let collections = open();
        collections.put(collection()).unwrap();
        collections.put(CreateNamedCollection { name: "other".to_owned(), ..collection() }).unwrap();
        let path = collections.path_of("other");
        let mut bytes = storage.read(&path, BYTES_MAX).unwrap();
        bytes[60] ^= 1;
        basalt_base::fs::publish_file(&storage, &path, &bytes).unwrap();
        let collections = open();
        assert_eq!(collections.get("other").unwrap_err().code(), ErrorCode::CorruptedData);
        assert_eq!(collections.get("my place").unwrap().entries, collection().entries);
        collections.remove("other").unwrap();
        assert_eq!(open().get("other").unwrap_err().code(), ErrorCode::NamedCollectionDoesntExist);
    }
}
