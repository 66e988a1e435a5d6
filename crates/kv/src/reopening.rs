//! A store that recovers from a full disk.
//!
//! After a change that failed with a full disk, RocksDB accepts no other change, and it does not open for writing
//! on such a disk. The store then stays readable, and the next change reopens it once there is room.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_base::fs::{RealStorage, Storage};
use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use parking_lot::RwLock;

use crate::options::KvOptions;
use crate::spec::KvSpec;
use crate::store::Store;

/// Free space required before a store is reopened for writing, in addition to the rows of the log.
const ROOM_BYTES: u64 = 1 << 20;
/// How long a change waits for readers of the old store.
const READERS_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A [`Store`] that a table keeps open.
pub struct ReopeningStore {
    path: PathBuf,
    options: KvOptions,
    spec: RwLock<KvSpec>,
    /// `None` if reopening failed.
    current: RwLock<Option<Arc<Store>>>,
}

impl ReopeningStore {
    /// Like [`Store::open`]; on a full disk opens read-only until there is room.
    pub fn open(path: &Path, spec: KvSpec, options: KvOptions) -> Result<ReopeningStore> {
        let store = open(path, &spec, &options)?;
        Ok(ReopeningStore {
            path: path.to_owned(),
            options,
            spec: RwLock::new(spec),
            current: RwLock::new(Some(Arc::new(store))),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store for reading.
    pub fn readable(&self) -> Result<Arc<Store>> {
        if let Some(store) = self.current.read().as_ref() {
            return Ok(Arc::clone(store));
        }
        self.reopen()
    }

    /// The store for a change.
    pub fn writable(&self) -> Result<Arc<Store>> {
        if let Some(store) = self.current.read().as_ref().filter(|store| !self.has_stopped(store)) {
            return Ok(Arc::clone(store));
        }
        self.check_room()?;
        let store = self.reopen()?;
        if self.has_stopped(&store) {
            bail!(NotEnoughSpace, "{}: the disk is full; only reading works", self.path.display());
        }
        Ok(store)
    }

    /// [`Store::add_columns`].
    pub fn add_columns(&self, spec: KvSpec) -> Result<()> {
        self.readable()?.add_columns(spec.clone())?;
        *self.spec.write() = spec;
        Ok(())
    }

    fn has_stopped(&self, store: &Store) -> bool {
        let database = store.database();
        database.ran_out_of_space() || (database.is_read_only() && !self.options.read_only)
    }

    /// Checks for the space that opening for writing needs: the rows of the log become a sorted file.
    fn check_room(&self) -> Result<()> {
        let entries =
            std::fs::read_dir(&self.path).map_err(|error| Error::io(FileAction::List, &self.path, &error))?;
        let logs =
            entries.flatten().filter(|entry| entry.path().extension().is_some_and(|name| name == "log"));
        let log_bytes: u64 = logs.filter_map(|log| log.metadata().ok()).map(|log| log.len()).sum();
        let needed = log_bytes + ROOM_BYTES;
        match RealStorage.space_left(&self.path)? {
            Some(left) if left < needed => bail!(
                NotEnoughSpace,
                "{}: no space left on the device: {left} bytes are free, writing goes on with {needed}",
                self.path.display()
            ),
            _ => Ok(()),
        }
    }

    /// Closes the store once it has no reader, and reopens it.
    fn reopen(&self) -> Result<Arc<Store>> {
        let mut current = self.current.write();
        if let Some(store) = current.as_ref() {
            if !self.has_stopped(store) {
                return Ok(Arc::clone(store));
            }
            // New readers wait for the lock, so nobody else clones the `Arc` meanwhile.
            let end = Instant::now() + READERS_WAIT;
            while Arc::strong_count(store) > 1 {
                if Instant::now() > end {
                    bail!(
                        NotEnoughSpace,
                        "{} ran out of space and is being read; it can be changed again when that ends",
                        self.path.display()
                    );
                }
                std::thread::sleep(LOOK_AGAIN);
            }
        }
        *current = None;
        let spec = self.spec.read().clone();
        let store = Arc::new(open(&self.path, &spec, &self.options)?);
        *current = Some(Arc::clone(&store));
        Ok(store)
    }
}

fn open(path: &Path, spec: &KvSpec, options: &KvOptions) -> Result<Store> {
    match Store::open(path, spec.clone(), options.clone()) {
        Err(error) if error.code() == ErrorCode::NotEnoughSpace => {
            let options = KvOptions { read_only: true, ..options.clone() };
            // If that fails too, the first error is the cause.
            Store::open(path, spec.clone(), options).map_err(|_| error)
        }
        other => other,
    }
}
