//! A key/value table: the default family of a database, and its columns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use basalt_base::{Error, Result, bail};
use parking_lot::RwLock;
use rocksdb::{BoundColumnFamily, DB, DEFAULT_COLUMN_FAMILY_NAME};

use crate::database::Database;
use crate::options::KvOptions;
use crate::row_encoding::is_expired;
use crate::spec::KvSpec;

/// A table of rows by key, in a database that has no other rows. Thread-safe; all methods may run concurrently.
pub struct Store {
    spec: RwLock<Arc<KvSpec>>,
    database: Arc<Database>,
    /// Number of running lookups.
    lookups: AtomicUsize,
}

impl Store {
    /// Opens the store at `path`, and creates it if it does not exist; see [`Database::open`].
    pub fn open(path: &Path, spec: KvSpec, options: KvOptions) -> Result<Store> {
        spec.check()?;
        let database = Arc::new(Database::open(path, options)?);
        Ok(Store { spec: RwLock::new(Arc::new(spec)), database, lookups: AtomicUsize::new(0) })
    }

    pub fn path(&self) -> &Path {
        self.database.path()
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
        if !spec.adds_columns_to(&current) {
            bail!(
                NotImplemented,
                "changing {} other than by columns added at the end is not implemented",
                self.path().display()
            );
        }
        *current = Arc::new(spec);
        Ok(())
    }

    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    pub(crate) fn options(&self) -> &KvOptions {
        self.database.options()
    }

    pub(crate) fn db(&self) -> &DB {
        self.database.db()
    }

    pub(crate) fn family(&self) -> Arc<BoundColumnFamily<'_>> {
        self.db()
            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
            .expect("every database is opened with this column family")
    }

    pub(crate) fn failed(&self, doing: &str, source: &rocksdb::Error) -> Error {
        self.database.failed(doing, source)
    }

    pub(crate) fn is_expired(&self, row: &[u8]) -> bool {
        let options = self.options();
        options.ttl_seconds.is_some_and(|ttl_seconds| is_expired(row, ttl_seconds, options.now_seconds()))
    }

    pub(crate) fn lookups(&self) -> &AtomicUsize {
        &self.lookups
    }
}
