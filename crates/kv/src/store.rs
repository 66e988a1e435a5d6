//! A key/value table: an open RocksDB and its columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use parking_lot::RwLock;
use rocksdb::{BoundColumnFamily, DB, DEFAULT_COLUMN_FAMILY_NAME, Options};

use crate::error::failed;
use crate::options::KvOptions;
use crate::recovery::{Acknowledged, AcknowledgedFile, ManifestPlace, check};
use crate::row_encoding::is_expired;
use crate::spec::KvSpec;

/// The directory inside the store's for loads in progress.
const LOADS_DIRECTORY: &str = "loads";

/// A table of rows by key. Thread-safe; all methods may run concurrently.
pub struct Store {
    path: PathBuf,
    spec: RwLock<Arc<KvSpec>>,
    options: KvOptions,
    rocksdb_options: Options,
    db: DB,
    /// The record of what is durable; `None` if the store is read-only.
    acknowledged: Option<AcknowledgedFile>,
    /// Whether a change met a full disk; RocksDB then accepts no other.
    ran_out_of_space: AtomicBool,
    loads: AtomicU64,
    /// Number of running lookups.
    lookups: AtomicUsize,
}

impl Store {
    /// Opens the store at `path`, and creates it if it does not exist and `options` allow changes. A store has one
    /// writer: a second process gets an error. A store whose files lack acknowledged changes is refused, and its
    /// files are left as they are.
    pub fn open(path: &Path, spec: KvSpec, options: KvOptions) -> Result<Store> {
        spec.check()?;
        let rocksdb_options = options.to_rocksdb();
        let families = [(DEFAULT_COLUMN_FAMILY_NAME, rocksdb_options.clone())];
        let db = if options.read_only {
            DB::open_cf_with_opts_for_read_only(&rocksdb_options, path, families, false)
        } else {
            std::fs::create_dir_all(path)
                .map_err(|error| Error::io(FileAction::CreateDirectory, path, &error))?;
            check(path)?;
            if ManifestPlace::find(path)?.is_none() {
                // Every store of ours has the file from its beginning.
                AcknowledgedFile::open(path)?;
            }
            DB::open_cf_with_opts(&rocksdb_options, path, families)
        };
        let db = db.map_err(|error| failed(path, "opening", &error))?;
        // Only now is it certain that no other process writes into it.
        let acknowledged = if options.read_only { None } else { Some(AcknowledgedFile::open(path)?) };
        if !options.read_only {
            remove_unfinished_loads(path)?;
        }
        let store = Store {
            path: path.to_path_buf(),
            spec: RwLock::new(Arc::new(spec)),
            options,
            rocksdb_options,
            db,
            acknowledged,
            ran_out_of_space: AtomicBool::new(false),
            loads: AtomicU64::new(0),
            lookups: AtomicUsize::new(0),
        };
        store.acknowledge_files()?;
        Ok(store)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The current columns.
    pub fn spec(&self) -> Arc<KvSpec> {
        Arc::clone(&self.spec.read())
    }

    /// Adds columns: `spec` has the present columns and key, followed by new columns. Rows written before read the
    /// new columns' defaults.
    pub fn add_columns(&self, spec: KvSpec) -> Result<()> {
        spec.check()?;
        let mut current = self.spec.write();
        let kept = current.columns.len();
        let same_types = spec.columns.len() >= kept
            && current.columns.iter().zip(spec.columns.iter()).all(|(old, new)| old.ty == new.ty);
        if !same_types || spec.key != current.key {
            bail!(
                NotImplemented,
                "changing {} other than by columns added at the end is not implemented",
                self.path.display()
            );
        }
        *current = Arc::new(spec);
        Ok(())
    }

    pub(crate) fn is_read_only(&self) -> bool {
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

    pub(crate) fn family(&self) -> Arc<BoundColumnFamily<'_>> {
        self.db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME).expect("the store was opened with this column family")
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

    pub(crate) fn ran_out_of_space(&self) -> bool {
        self.ran_out_of_space.load(Ordering::Acquire)
    }

    /// Records that the changes so far, all of them synced, are durable.
    pub(crate) fn acknowledge(&self) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged
                .add(Acknowledged { sequence: self.db.latest_sequence_number(), ..Acknowledged::default() });
        }
    }

    /// Like [`Store::acknowledge`], and includes the files that the MANIFEST lists now.
    pub(crate) fn acknowledge_files(&self) -> Result<()> {
        let Some(acknowledged) = &self.acknowledged else { return Ok(()) };
        let Some(manifest) = ManifestPlace::find(&self.path)? else { return Ok(()) };
        acknowledged.add(Acknowledged {
            sequence: self.db.latest_sequence_number(),
            manifest: manifest.number,
            manifest_bytes: manifest.bytes()?,
        });
        Ok(())
    }

    pub(crate) fn is_expired(&self, row: &[u8]) -> bool {
        let ttl_seconds = self.options.ttl_seconds;
        ttl_seconds.is_some_and(|ttl_seconds| is_expired(row, ttl_seconds, self.options.now_seconds()))
    }

    pub(crate) fn lookups(&self) -> &AtomicUsize {
        &self.lookups
    }

    pub(crate) fn next_load_directory(&self) -> PathBuf {
        let number = self.loads.fetch_add(1, Ordering::Relaxed);
        self.path.join(LOADS_DIRECTORY).join(number.to_string())
    }
}

/// Removes the files of loads that were not committed; none of their rows is in the table.
fn remove_unfinished_loads(path: &Path) -> Result<()> {
    let loads = path.join(LOADS_DIRECTORY);
    match std::fs::remove_dir_all(&loads) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(FileAction::Remove, &loads, &error))
        }
        _ => Ok(()),
    }
}
