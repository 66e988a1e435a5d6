//! A store that goes on when a full disk has room again.
//!
//! RocksDB takes no change after one that found the disk full, and does not open for writing on such a disk. Then
//! the store is read as it is, and the next change opens it anew once there is room.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_base::fs::{RealStorage, Storage};
use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use parking_lot::RwLock;

use crate::options::KvOptions;
use crate::spec::KvSpec;
use crate::store::Store;

/// Room on the disk beside that for the rows of the log, before a store is opened for writing again.
const ROOM_BYTES: u64 = 1 << 20;
/// How long a change waits for those that read the store as it was.
const READERS_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A [`Store`] for a table.
pub struct LastingStore {
    path: PathBuf,
    options: KvOptions,
    spec: RwLock<KvSpec>,
    /// `None` if it could not be opened again.
    current: RwLock<Option<Arc<Store>>>,
}

impl LastingStore {
    /// [`Store::open`]; on a full disk only for reading, until there is room.
    pub fn open(path: &Path, spec: KvSpec, options: KvOptions) -> Result<LastingStore> {
        let store = open(path, &spec, &options)?;
        Ok(LastingStore {
            path: path.to_owned(),
            options,
            spec: RwLock::new(spec),
            current: RwLock::new(Some(Arc::new(store))),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store as it is, to read.
    pub fn readable(&self) -> Result<Arc<Store>> {
        if let Some(store) = self.current.read().as_ref() {
            return Ok(Arc::clone(store));
        }
        self.reopen()
    }

    /// The store, to change it.
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
        store.ran_out_of_space() || (store.is_read_only() && !self.options.read_only)
    }

    /// What opening for writing needs: the rows of the log become a sorted file.
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

    /// Closes the store when nobody reads it any more, and opens it again.
    fn reopen(&self) -> Result<Arc<Store>> {
        let mut current = self.current.write();
        if let Some(store) = current.as_ref() {
            if !self.has_stopped(store) {
                return Ok(Arc::clone(store));
            }
            // New readers wait at the lock. Nobody else makes one of a store that is locked.
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
            // Where not even that works, what failed first says why.
            Store::open(path, spec.clone(), options).map_err(|_| error)
        }
        other => other,
    }
}
