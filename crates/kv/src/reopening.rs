//! Something over a RocksDB that recovers from a full disk.
//!
//! After a change that failed with a full disk, RocksDB accepts no other change, and it does not open for writing
//! on such a disk. The rows then stay readable, and the next change reopens RocksDB once there is room.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_base::fs::{RealStorage, Storage};
use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use parking_lot::RwLock;

use crate::options::KvOptions;
use crate::spec::KvSpec;
use crate::store::Store;

/// Free space required before RocksDB is reopened for writing, in addition to the rows of the log.
const ROOM_BYTES: u64 = 1 << 20;
/// How long a change waits for readers of what is closed.
const READERS_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Something that has a RocksDB open.
pub trait OverRocksdb {
    /// Whether a change met a full disk, or it was opened for reading because of one.
    fn has_stopped(&self) -> bool;

    /// Whether readers have RocksDB open beside it.
    fn is_read(&self) -> bool {
        false
    }
}

/// Opens `T` for reading and writing, or only for reading.
type Open<T> = Box<dyn Fn(OpenFor) -> Result<T> + Send + Sync>;

/// What something is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFor {
    Changes,
    Reading,
}

/// A `T` that a table keeps open.
pub struct Reopening<T> {
    /// RocksDB's directory.
    path: PathBuf,
    open: Open<T>,
    /// `None` if reopening failed.
    current: RwLock<Option<Arc<T>>>,
}

impl<T: OverRocksdb> Reopening<T> {
    /// Opens it with `open`; on a full disk only for reading, until there is room. RocksDB's files are in `path`.
    pub fn open(
        path: &Path,
        open: impl Fn(OpenFor) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Reopening<T>> {
        let reopening = Reopening { path: path.to_owned(), open: Box::new(open), current: RwLock::new(None) };
        let opened = reopening.open_or_read()?;
        *reopening.current.write() = Some(Arc::new(opened));
        Ok(reopening)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It for reading.
    pub fn readable(&self) -> Result<Arc<T>> {
        if let Some(opened) = self.current.read().as_ref() {
            return Ok(Arc::clone(opened));
        }
        self.reopen()
    }

    /// It for a change.
    pub fn writable(&self) -> Result<Arc<T>> {
        if let Some(opened) = self.current.read().as_ref().filter(|opened| !opened.has_stopped()) {
            return Ok(Arc::clone(opened));
        }
        self.check_room()?;
        let opened = self.reopen()?;
        if opened.has_stopped() {
            bail!(NotEnoughSpace, "{}: the disk is full; only reading works", self.path.display());
        }
        Ok(opened)
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

    /// Closes it once it has no reader, and reopens it.
    fn reopen(&self) -> Result<Arc<T>> {
        let mut current = self.current.write();
        if let Some(opened) = current.as_ref() {
            if !opened.has_stopped() {
                return Ok(Arc::clone(opened));
            }
            // New readers wait for the lock, so nobody else clones the `Arc` meanwhile.
            let end = Instant::now() + READERS_WAIT;
            while Arc::strong_count(opened) > 1 || opened.is_read() {
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
        let opened = Arc::new(self.open_or_read()?);
        *current = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn open_or_read(&self) -> Result<T> {
        match (self.open)(OpenFor::Changes) {
            // If reading fails too, the first error is the cause.
            Err(error) if error.code() == ErrorCode::NotEnoughSpace => {
                (self.open)(OpenFor::Reading).map_err(|_| error)
            }
            other => other,
        }
    }
}

/// A [`Store`] that a table keeps open.
pub struct ReopeningStore {
    spec: Arc<RwLock<KvSpec>>,
    store: Reopening<Store>,
}

impl OverRocksdb for Store {
    fn has_stopped(&self) -> bool {
        let database = self.database();
        database.ran_out_of_space() || database.is_read_only()
    }
}

impl ReopeningStore {
    /// Like [`Store::open`] with `options`, which allow changes; on a full disk opens read-only until there is room.
    pub fn open(path: &Path, spec: KvSpec, options: KvOptions) -> Result<ReopeningStore> {
        let spec = Arc::new(RwLock::new(spec));
        let (directory, columns) = (path.to_owned(), Arc::clone(&spec));
        let store = Reopening::open(path, move |what| {
            let options = KvOptions { read_only: what == OpenFor::Reading, ..options.clone() };
            Store::open(&directory, columns.read().clone(), options)
        })?;
        Ok(ReopeningStore { spec, store })
    }

    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// The store for reading.
    pub fn readable(&self) -> Result<Arc<Store>> {
        self.store.readable()
    }

    /// The store for a change.
    pub fn writable(&self) -> Result<Arc<Store>> {
        self.store.writable()
    }

    /// [`Store::add_columns`].
    pub fn add_columns(&self, spec: KvSpec) -> Result<()> {
        self.readable()?.add_columns(spec.clone())?;
        *self.spec.write() = spec;
        Ok(())
    }
}
