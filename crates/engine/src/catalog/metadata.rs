//! The metadata files of a data directory: databases as directories, objects as files in them.
//!
//! # Layout
//!
//! ```text
//! metadata/<database>/            one directory a database
//! metadata/<database>/<name>.sql  one file an object, see `catalog/metadata_file.rs`
//! metadata/RENAME                 the files before a RENAME that is under way, see `catalog/journal.rs`
//! metadata/RENAME.damaged         one that could not be read
//! metadata/<uuid>.dropped/        what a crash left of a dropped database
//! ```
//!
//! Names are percent-encoded where a file name cannot hold them (`catalog/encoded_name.rs`). A file is
//! published whole: written, synced, renamed, and its directory synced.
//!
//! # Invariants
//!
//! - *An error changes nothing*: a change that fails before it is on disk is undone, and later changes are accepted.
//! - *Closed after a failed sync*: once it is unknown how much of a change is on disk, all changes are refused until
//!   the directory is opened again.
//! - *Undone first*: while a failed RENAME cannot be undone, for example on a full disk, lookups answer as if it were
//!   undone, and all changes are refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{PendingFile, Storage, is_unpublished, publish_empty_dir};
use basalt_base::{Error, Result, bail};
use parking_lot::Mutex;
use uuid::Uuid;

use super::journal::{JOURNAL_FILE, RenameJournal};
use super::metadata_file::{StoredObject, decode, encode};
use crate::names::{ObjectKey, decode_name, encode_name};
use crate::server_log::ServerLog;

const SUFFIX: &str = ".sql";
/// Ends the name of a database's directory that is being removed. No encoded name has a dot.
const DROPPED_SUFFIX: &str = ".dropped";
/// The name of a journal that cannot be read.
const DAMAGED_JOURNAL_FILE: &str = "RENAME.damaged";
/// A longer statement is invalid.
const BYTES_MAX: u64 = 64 << 20;
/// A longer journal is invalid.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;

/// The `metadata` directory of a data directory.
#[derive(Debug)]
pub(crate) struct MetadataStore {
    storage: Arc<dyn Storage>,
    root: PathBuf,
    log: ServerLog,
    /// The failure after which the state of the disk is unknown.
    failure: Mutex<Option<Error>>,
    /// The journal that undoes a failed RENAME, and why it has not been applied yet.
    unfinished: Mutex<Option<(RenameJournal, Error)>>,
}

/// A name in a database, and the contents of its file, or why it cannot be read.
pub(crate) type ListedObject = (String, Result<StoredObject>);

impl MetadataStore {
    /// Opens `<data directory>/metadata`, making it if it is not there, and ends what a crash cut short.
    pub(crate) fn open(storage: Arc<dyn Storage>, data_dir: &Path, log: ServerLog) -> Result<MetadataStore> {
        let root = data_dir.join("metadata");
        publish_empty_dir(storage.as_ref(), &root)?;
        let (failure, unfinished) = (Mutex::default(), Mutex::default());
        let store = MetadataStore { storage, root, log, failure, unfinished };
        // First, because it frees space.
        store.remove_leftovers()?;
        store.recover();
        Ok(store)
    }

    fn remove_leftovers(&self) -> Result<()> {
        for entry in self.storage.list(&self.root)? {
            let path = self.root.join(&entry.name);
            if entry.name.ends_with(DROPPED_SUFFIX) {
                self.try_to("remove what is left of a dropped database", self.storage.remove_dir_all(&path));
            } else if entry.is_dir {
                let files = self.storage.list(&path)?;
                for file in files.iter().filter(|file| is_unpublished(&file.name)) {
                    self.try_to(
                        "remove an unfinished file",
                        self.storage.remove_file(&path.join(&file.name)),
                    );
                }
            } else if is_unpublished(&entry.name) {
                self.try_to("remove an unfinished file", self.storage.remove_file(&path));
            }
        }
        Ok(())
    }

    /// Reports a failure that does no harm.
    fn try_to(&self, what: &str, result: Result<()>) {
        if let Err(error) = result {
            self.log.say(&format!("cannot {what}: {}", error.message()));
        }
    }

    /// Undoes or finishes a RENAME that was under way when the process ended. A failure does not keep the objects from
    /// being opened.
    fn recover(&self) {
        let path = self.root.join(JOURNAL_FILE);
        let read = || -> Result<Option<RenameJournal>> {
            match self.storage.exists(&path)? {
                true => RenameJournal::decode(&self.storage.read(&path, JOURNAL_BYTES_MAX)?).map(Some),
                false => Ok(None),
            }
        };
        match read() {
            Ok(None) => {}
            Ok(Some(journal)) => match self.settle(&journal) {
                Ok(()) => {}
                Err(error) if journal.is_forward => self.give_up(&journal, &error),
                Err(error) => {
                    self.log.say(&format!(
                        "a RENAME that was under way when the process ended cannot be undone yet: {}; all objects have \
                         their old names, and nothing in the catalog can be changed before; make room, or mend the disk",
                        error.message()
                    ));
                    *self.unfinished.lock() = Some((journal, error));
                }
            },
            Err(error) => {
                self.log.say(&format!(
                    "{}: {}; it is ignored, and kept as {DAMAGED_JOURNAL_FILE}: check that no object of the last RENAME \
                     is missing, then remove that file",
                    path.display(),
                    error.message()
                ));
                let aside = self.storage.rename(&path, &self.root.join(DAMAGED_JOURNAL_FILE));
                *self.failure.lock() = aside.err();
            }
        }
    }

    /// Applies the journal and removes it.
    fn settle(&self, journal: &RenameJournal) -> Result<()> {
        journal.apply(self.storage.as_ref(), &self.root)?;
        self.storage.remove_file(&self.root.join(JOURNAL_FILE))?;
        self.storage.sync_dir(&self.root)
    }

    /// Finishes a RENAME that was reported as failed and could not be undone since.
    fn give_up(&self, journal: &RenameJournal, error: &Error) {
        self.log.say(&format!(
            "a RENAME that failed is given up: {}; all objects have their old names",
            error.message()
        ));
        let given_up = journal
            .give_up(self.storage.as_ref(), &self.root)
            .and_then(|()| self.storage.remove_file(&self.root.join(JOURNAL_FILE)))
            .and_then(|()| self.storage.sync_dir(&self.root));
        if let Err(error) = given_up {
            self.try_to("remove the journal of a RENAME", Err(error.clone()));
            *self.failure.lock() = Some(error);
        }
    }

    /// Why some names may be unknown, if so. Data without a known name must not be removed then.
    pub(crate) fn doubt(&self) -> Option<String> {
        let damaged = self.root.join(DAMAGED_JOURNAL_FILE);
        if let Some(error) = &*self.failure.lock() {
            return Some(format!("the catalog is closed for changes: {}", error.message()));
        }
        match &*self.unfinished.lock() {
            Some((_, error)) => Some(format!("a RENAME is not undone yet: {}", error.message())),
            None if self.storage.exists(&damaged).unwrap_or(true) => {
                Some(format!("there is {}", damaged.display()))
            }
            None => None,
        }
    }

    /// The names of all databases.
    pub(crate) fn databases(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.storage.list(&self.root)? {
            if !entry.is_dir || entry.name.ends_with(DROPPED_SUFFIX) {
                continue;
            }
            match decode_name(&entry.name) {
                Ok(name) => names.push(name),
                Err(error) => self.try_to("open a database", Err(error)),
            }
        }
        Ok(names)
    }

    pub(crate) fn create_database(&self, database: &str) -> Result<()> {
        self.check_open()?;
        self.storage.create_dir_all(&self.database_dir(database))?;
        self.sync(&self.root)
    }

    /// Removes the database and the metadata of all that is in it.
    pub(crate) fn drop_database(&self, database: &str) -> Result<()> {
        self.check_open()?;
        // Not with a suffix to its name, which may be as long as a file name can be.
        let dropped = self.root.join(format!("{}{DROPPED_SUFFIX}", Uuid::new_v4()));
        self.storage.rename(&self.database_dir(database), &dropped)?;
        self.sync(&self.root)?;
        // Leftovers are removed at the next open.
        self.try_to("remove what is left of a dropped database", self.storage.remove_dir_all(&dropped));
        Ok(())
    }

    /// Everything in a database, sorted by name.
    pub(crate) fn objects(&self, database: &str) -> Result<Vec<ListedObject>> {
        let dir = encode_name(database);
        let entries = self.storage.list(&self.root.join(&dir))?;
        let mut paths: BTreeSet<String> =
            entries.into_iter().map(|entry| format!("{dir}/{}", entry.name)).collect();
        if let Some((journal, _)) = &*self.unfinished.lock() {
            let is_here = |path: &String| path.strip_prefix(&dir).is_some_and(|rest| rest.starts_with('/'));
            journal.removals.iter().for_each(|path| _ = paths.remove(path));
            paths.extend(
                journal.writes.iter().filter(|(path, _)| is_here(path)).map(|(path, _)| path.clone()),
            );
        }
        let mut objects = Vec::new();
        for path in paths {
            let Some(stem) = path[dir.len() + 1..].strip_suffix(SUFFIX) else { continue };
            match decode_name(stem) {
                Ok(name) => objects.push((name.clone(), self.read(&path, name))),
                Err(error) => self.try_to("open an object", Err(error)),
            }
        }
        Ok(objects)
    }

    /// The contents of the file of one object.
    pub(crate) fn object(&self, database: &str, name: &str) -> Result<StoredObject> {
        self.read(&file_path(database, name), name.to_owned())
    }

    fn read(&self, path: &str, name: String) -> Result<StoredObject> {
        let full = self.root.join(path);
        let kept = self.unfinished.lock().as_ref().and_then(|(journal, _)| {
            journal.writes.iter().find(|(kept, _)| kept == path).map(|(_, bytes)| bytes.clone())
        });
        let bytes = kept.map_or_else(|| self.storage.read(&full, BYTES_MAX), Ok)?;
        decode(name, &bytes).map_err(|error| error.within(full.display()))
    }

    /// Where the file of an object is.
    pub(crate) fn path_of(&self, database: &str, name: &str) -> PathBuf {
        self.root.join(file_path(database, name))
    }

    /// Writes or replaces the object's file; durable when it returns.
    pub(crate) fn write(&self, database: &str, object: &StoredObject) -> Result<()> {
        self.check_open()?;
        let path = self.path_of(database, &object.name);
        PendingFile::write(self.storage.as_ref(), &path, &encode(object))?.rename(self.storage.as_ref())?;
        self.sync(&self.database_dir(database))
    }

    pub(crate) fn remove(&self, database: &str, name: &str) -> Result<()> {
        self.check_open()?;
        self.storage.remove_file(&self.path_of(database, name))?;
        self.sync(&self.database_dir(database))
    }

    /// Writes the files of `targets` and removes those of `sources`: all of it, or none.
    pub(crate) fn rename(&self, targets: &[(String, StoredObject)], sources: &[ObjectKey]) -> Result<()> {
        self.check_open()?;
        let writes =
            targets.iter().map(|(database, object)| (file_path(database, &object.name), encode(object)));
        let removals = sources.iter().map(|key| file_path(&key.database, &key.name));
        let change =
            RenameJournal { writes: writes.collect(), removals: removals.collect(), is_forward: true };
        let (storage, root) = (self.storage.as_ref(), &self.root);
        let undo = change.reversed(storage, root)?;
        let mut pending = PendingFiles { storage, files: Vec::new() };
        for (path, contents) in &change.writes {
            pending.files.push(PendingFile::write(storage, &root.join(path), contents)?);
        }
        // All that takes space has been written: after the journal only names change.
        PendingFile::write(storage, &root.join(JOURNAL_FILE), &undo.encode())?.rename(storage)?;
        self.sync(root)?;
        if let Err(error) = self.make(&change, &mut pending) {
            drop(pending);
            self.take_back(undo, &error);
            return Err(error);
        }
        // Only now it has happened.
        self.sync(root)
    }

    /// Gives the files of a RENAME their names and removes its journal.
    fn make(&self, change: &RenameJournal, pending: &mut PendingFiles<'_>) -> Result<()> {
        for file in pending.files.drain(..) {
            file.rename(self.storage.as_ref())?;
        }
        for path in &change.removals {
            self.storage.remove_file(&self.root.join(path))?;
        }
        change.databases().iter().try_for_each(|database| self.sync(&self.root.join(database)))?;
        self.storage.remove_file(&self.root.join(JOURNAL_FILE))
    }

    /// Undoes a RENAME that failed halfway, now or before the next change.
    fn take_back(&self, undo: RenameJournal, error: &Error) {
        if self.settle(&undo).is_err() {
            *self.unfinished.lock() = Some((undo, error.clone()));
        }
    }

    /// Makes the names in `dir` durable; after a failure there is no other change.
    fn sync(&self, dir: &Path) -> Result<()> {
        self.storage.sync_dir(dir).inspect_err(|error| *self.failure.lock() = Some(error.clone()))
    }

    /// Refuses changes after one whose outcome is not known.
    pub(crate) fn check_open(&self) -> Result<()> {
        if let Some(first) = &*self.failure.lock() {
            bail!(
                CannotWriteToFile,
                "the catalog is closed for changes since an earlier failure: {}; reopen the database",
                first.message()
            )
        }
        let mut unfinished = self.unfinished.lock();
        let Some((undo, _)) = &*unfinished else { return Ok(()) };
        self.settle(undo).map_err(|error| {
            error.within(
                "an earlier RENAME that failed must be undone before anything else in the catalog changes",
            )
        })?;
        *unfinished = None;
        Ok(())
    }

    fn database_dir(&self, database: &str) -> PathBuf {
        self.root.join(encode_name(database))
    }
}

/// Files that have no name yet; dropping them removes them.
struct PendingFiles<'a> {
    storage: &'a dyn Storage,
    files: Vec<PendingFile>,
}

impl Drop for PendingFiles<'_> {
    fn drop(&mut self) {
        self.files.drain(..).for_each(|file| file.discard(self.storage));
    }
}

/// The path of an object's file below the `metadata` directory.
fn file_path(database: &str, name: &str) -> String {
    format!("{}/{}{SUFFIX}", encode_name(database), encode_name(name))
}
