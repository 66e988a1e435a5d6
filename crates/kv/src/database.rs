//! An open RocksDB: its column families, changes of several at once, and snapshots.
//!
//! The default family has the rows of a [`Store`](crate::Store) that has the database to itself. A table that keeps
//! generations of rows has a family for each, and records about them in the default family.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use parking_lot::Mutex;
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BoundColumnFamily, DB, DBRecoveryMode, DEFAULT_COLUMN_FAMILY_NAME, Options, WriteBatch, WriteOptions,
};

use crate::error::failed;
use crate::options::KvOptions;
use crate::recovery::{Acknowledged, AcknowledgedFile, ManifestPlace, check, unsynced};
use crate::row_encoding::{StoredRow, TOMBSTONE};
use crate::snapshot::Snapshot;

/// The directory inside the database's for loads in progress.
const LOADS_DIRECTORY: &str = "loads";

/// A RocksDB. Thread-safe; all methods may run concurrently.
pub struct Database {
    path: PathBuf,
    options: KvOptions,
    rocksdb_options: Options,
    db: DB,
    /// The families when it was opened, without the default one.
    families: Vec<String>,
    /// The record of what is durable; `None` if the database is read-only.
    acknowledged: Option<AcknowledgedFile>,
    /// Whether a change met a full disk; RocksDB then accepts no other.
    ran_out_of_space: AtomicBool,
    /// Whether the log may have changes that are not synced.
    has_unsynced: AtomicBool,
    /// Taken while the mark of unsynced changes is made.
    marking: Mutex<()>,
    loads: AtomicU64,
}

/// What a change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: it is in the log.
    Logged,
    /// The end of the machine: the log is synced.
    Synced,
}

impl Database {
    /// Opens the database at `path` with all its families, and creates it if it does not exist and `options` allow
    /// changes. A database has one writer: a second process gets an error. A database whose files lack acknowledged
    /// changes is refused, and its files are left as they are.
    pub fn open(path: &Path, options: KvOptions) -> Result<Database> {
        let mut rocksdb_options = options.to_rocksdb();
        let has_unsynced = unsynced::is_marked(path);
        if has_unsynced {
            rocksdb_options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        }
        if !options.read_only {
            std::fs::create_dir_all(path)
                .map_err(|error| Error::io(FileAction::CreateDirectory, path, &error))?;
            check(path)?;
        }
        let families = families(&rocksdb_options, path)?;
        let opened = || families.iter().map(|name| (name.as_str(), rocksdb_options.clone()));
        let db = if options.read_only {
            DB::open_cf_with_opts_for_read_only(&rocksdb_options, path, opened(), false)
        } else {
            if ManifestPlace::find(path)?.is_none() {
                // Every database of ours has the file from its beginning.
                AcknowledgedFile::open(path)?;
            }
            DB::open_cf_with_opts(&rocksdb_options, path, opened())
        };
        let db = db.map_err(|error| failed(path, "opening", &error))?;
        // Only now is it certain that no other process writes into it.
        let acknowledged = if options.read_only { None } else { Some(AcknowledgedFile::open(path)?) };
        if !options.read_only {
            remove_unfinished_loads(path)?;
        }
        let database = Database {
            path: path.to_path_buf(),
            options,
            rocksdb_options,
            db,
            families: families.into_iter().filter(|name| name != DEFAULT_COLUMN_FAMILY_NAME).collect(),
            acknowledged,
            ran_out_of_space: AtomicBool::new(false),
            has_unsynced: AtomicBool::new(has_unsynced),
            marking: Mutex::new(()),
            loads: AtomicU64::new(0),
        };
        database.acknowledge_files()?;
        Ok(database)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The families that were there when the database was opened, without the default one.
    pub fn families(&self) -> &[String] {
        &self.families
    }

    /// Adds an empty family, durably.
    pub fn create_family(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        let doing = format!("creating the column family `{name}`");
        self.db.create_cf(name, &self.rocksdb_options).map_err(|error| self.refused(&doing, &error))?;
        self.acknowledge_files()
    }

    /// Removes a family with its rows, durably. Snapshots that read it keep it until they end.
    pub fn drop_family(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        let doing = format!("dropping the column family `{name}`");
        self.db.drop_cf(name).map_err(|error| self.refused(&doing, &error))?;
        self.acknowledge_files()
    }

    /// The records of the default family whose names begin with `prefix`, in order.
    pub fn records(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut records = Vec::new();
        let mut found = self.db.raw_iterator();
        found.seek(prefix);
        while let Some((name, record)) = found.item().filter(|(name, _)| name.starts_with(prefix)) {
            records.push((name.to_vec(), record.to_vec()));
            found.next();
        }
        found.status().map_err(|error| self.failed("reading its records", &error))?;
        Ok(records)
    }

    /// Writes and removes records of the default family: all at once, durable on return.
    pub fn write_records(&self, written: &[(Vec<u8>, Vec<u8>)], removed: &[Vec<u8>]) -> Result<()> {
        self.check_writable()?;
        let mut changes = WriteBatch::default();
        written.iter().for_each(|(name, record)| changes.put(name, record));
        removed.iter().for_each(|name| changes.delete(name));
        self.write(changes, "writing its records")
    }

    /// Sets rows of `family`, each by its encoded key; `None` is a tombstone. All at once; the last change of a key wins.
    pub fn write_rows<'a>(
        &self,
        family: &str,
        rows: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
        durability: Durability,
    ) -> Result<()> {
        self.check_writable()?;
        let handle = self.family(family)?;
        let mut changes = WriteBatch::default();
        rows.for_each(|(key, row)| changes.put_cf(&handle, key, row.unwrap_or(TOMBSTONE)));
        let doing = format!("changing {} rows", changes.len());
        match durability {
            Durability::Synced => self.write(changes, &doing),
            Durability::Logged => self.write_unsynced(changes, &doing),
        }
    }

    /// Calls `visit` with the newest row of an encoded key in `family`, if there is one.
    pub fn get<T>(
        &self,
        family: &str,
        key: &[u8],
        visit: impl FnOnce(StoredRow<'_>) -> T,
    ) -> Result<Option<T>> {
        let row = self.db().get_pinned_cf(&self.family(family)?, key);
        let row = row.map_err(|error| self.failed("looking up a key", &error))?;
        Ok(row.map(|row| visit(StoredRow::of(&row))))
    }

    /// All families as they are now.
    pub fn snapshot(self: &Arc<Self>) -> Arc<Snapshot> {
        Arc::new(Snapshot::take(self))
    }

    /// A copy of all files in `directory`, which must not exist: sorted files by hard links, logs by their bytes.
    pub fn checkpoint(&self, directory: &Path) -> Result<()> {
        let made = Checkpoint::new(&self.db).and_then(|checkpoint| checkpoint.create_checkpoint(directory));
        made.map_err(|error| self.failed(&format!("copying it to {}", directory.display()), &error))?;
        AcknowledgedFile::open(directory).map(|_| ())
    }

    /// Whether a change met a full disk. The database accepts no change until it is opened again.
    pub fn ran_out_of_space(&self) -> bool {
        self.ran_out_of_space.load(Ordering::Acquire)
    }

    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    pub(crate) fn options(&self) -> &KvOptions {
        &self.options
    }

    pub(crate) fn rocksdb_options(&self) -> &Options {
        &self.rocksdb_options
    }

    pub(crate) fn db(&self) -> &DB {
        &self.db
    }

    pub(crate) fn family(&self, name: &str) -> Result<Arc<BoundColumnFamily<'_>>> {
        let family = self.db.cf_handle(name);
        family.ok_or_else(|| Error::logical(format!("{} has no family `{name}`", self.path.display())))
    }

    pub(crate) fn failed(&self, doing: &str, source: &rocksdb::Error) -> Error {
        failed(&self.path, doing, source)
    }

    /// The error of a failed change.
    pub(crate) fn refused(&self, doing: &str, source: &rocksdb::Error) -> Error {
        let error = self.failed(doing, source);
        if error.code() == ErrorCode::NotEnoughSpace {
            self.ran_out_of_space.store(true, Ordering::Release);
        }
        error
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            bail!(ReadOnly, "{} is open for reading only", self.path.display());
        }
        Ok(())
    }

    /// Writes the changes to the log and syncs it, unless the options leave that to the system.
    pub(crate) fn write(&self, changes: WriteBatch, doing: &str) -> Result<()> {
        if !self.options.syncs_log {
            return self.write_unsynced(changes, doing);
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        let count = changes.len() as u64;
        let before = self.db.latest_sequence_number();
        self.db.write_opt(changes, &options).map_err(|error| self.refused(doing, &error))?;
        // Read before the flag: a change that is not synced sets the flag first.
        let after = self.db.latest_sequence_number();
        if self.has_unsynced() {
            // The changes have at least these numbers, and all before them were synced with them.
            return self.acknowledge_synced(before + count);
        }
        self.acknowledge(after);
        Ok(())
    }

    /// Writes the changes to the log, which [`Database::sync_log`] syncs later.
    pub(crate) fn write_unsynced(&self, changes: WriteBatch, doing: &str) -> Result<()> {
        if !self.has_unsynced() {
            let _marking = self.marking.lock();
            unsynced::mark(&self.path)?;
            self.has_unsynced.store(true, Ordering::SeqCst);
        }
        self.db.write(changes).map_err(|error| self.refused(doing, &error))
    }

    /// Makes all changes so far durable.
    pub fn sync_log(&self) -> Result<()> {
        if !self.has_unsynced() {
            return Ok(());
        }
        let sequence = self.db.latest_sequence_number();
        self.db.flush_wal(true).map_err(|error| self.refused("syncing the log", &error))?;
        self.acknowledge_synced(sequence)
    }

    fn has_unsynced(&self) -> bool {
        self.has_unsynced.load(Ordering::SeqCst)
    }

    /// Records that the changes up to this one are durable.
    fn acknowledge(&self, sequence: u64) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.add(Acknowledged { sequence, ..Acknowledged::default() });
        }
    }

    /// Like [`Database::acknowledge`], and syncs the record: recovery drops what comes after it and is not whole.
    fn acknowledge_synced(&self, sequence: u64) -> Result<()> {
        let Some(acknowledged) = &self.acknowledged else { return Ok(()) };
        acknowledged.add_synced(Acknowledged { sequence, ..Acknowledged::default() })
    }

    /// Like [`Database::acknowledge`], and includes the files that the MANIFEST lists now.
    pub(crate) fn acknowledge_files(&self) -> Result<()> {
        let Some(acknowledged) = &self.acknowledged else { return Ok(()) };
        let Some(manifest) = ManifestPlace::find(&self.path)? else { return Ok(()) };
        let sequence = self.db.latest_sequence_number();
        self.sync_log()?;
        acknowledged.add(Acknowledged {
            sequence,
            manifest: manifest.number,
            manifest_bytes: manifest.bytes()?,
        });
        Ok(())
    }

    pub(crate) fn next_load_directory(&self) -> PathBuf {
        let number = self.loads.fetch_add(1, Ordering::Relaxed);
        self.path.join(LOADS_DIRECTORY).join(number.to_string())
    }
}

/// The families of the database at `path`; the default one if there is none yet.
fn families(options: &Options, path: &Path) -> Result<Vec<String>> {
    match ManifestPlace::find(path)? {
        Some(_) => DB::list_cf(options, path).map_err(|error| failed(path, "listing its families", &error)),
        None => Ok(vec![DEFAULT_COLUMN_FAMILY_NAME.to_owned()]),
    }
}

/// Removes the files of loads that were not committed; none of their rows is in the database.
fn remove_unfinished_loads(path: &Path) -> Result<()> {
    let loads = path.join(LOADS_DIRECTORY);
    match std::fs::remove_dir_all(&loads) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(FileAction::Remove, &loads, &error))
        }
        _ => Ok(()),
    }
}
