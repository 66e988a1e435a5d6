//! Reads every block of a store and compares it with its checksum.

use basalt_base::Result;
use rocksdb::{DEFAULT_COLUMN_FAMILY_NAME, ReadOptions};

use crate::database::Database;
use crate::store::Store;

/// Rows between two calls of `go_on`.
const ROWS_A_LOOK: u64 = 65_536;

impl Store {
    /// [`Database::check_family`] of the store's rows.
    pub fn check(&self, go_on: &dyn Fn() -> Result<()>) -> Result<Option<String>> {
        self.database().check_family(DEFAULT_COLUMN_FAMILY_NAME, go_on)
    }
}

impl Database {
    /// A description of the first damage in the files of a family; `None` if all blocks are intact. `go_on` is called
    /// now and then, and its error ends the check.
    pub fn check_family(&self, family: &str, go_on: &dyn Fn() -> Result<()>) -> Result<Option<String>> {
        let mut options = ReadOptions::default();
        options.set_verify_checksums(true);
        options.fill_cache(false);
        let mut rows = self.db().raw_iterator_cf_opt(&self.family(family)?, options);
        rows.seek_to_first();
        let mut count: u64 = 0;
        while rows.valid() {
            count += 1;
            if count.is_multiple_of(ROWS_A_LOOK) {
                go_on()?;
            }
            rows.next();
        }
        let damage = rows.status().err();
        Ok(damage.map(|error| self.failed("checking", &error).message().to_owned()))
    }
}
