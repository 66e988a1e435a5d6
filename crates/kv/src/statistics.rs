//! Statistics of a store: sizes, row counts, RocksDB's tickers.

use basalt_base::Result;
use rocksdb::properties::{self, PropName};
use rocksdb::statistics::Ticker;

use crate::database::Database;
use crate::store::Store;

impl Store {
    /// The approximate number of rows: RocksDB counts a replaced row twice until compaction.
    pub fn approximate_rows(&self) -> Result<u64> {
        self.property(properties::ESTIMATE_NUM_KEYS)
    }

    /// Bytes of sorted files and of rows in write buffers.
    pub fn size_on_disk(&self) -> Result<u64> {
        Ok(self.property(properties::TOTAL_SST_FILES_SIZE)?
            + self.property(properties::CUR_SIZE_ALL_MEM_TABLES)?)
    }

    /// RocksDB's counters since the store was opened, by name, for example `rocksdb.block.cache.hit`.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.database().counters()
    }

    fn property(&self, name: &PropName) -> Result<u64> {
        let value = self.db().property_int_value(name);
        Ok(value.map_err(|error| self.failed("reading a property", &error))?.unwrap_or_default())
    }
}

impl Database {
    /// The approximate number of rows of a family: a replaced row counts twice until compaction. 0 is exact for a family
    /// whose keys are never removed.
    pub fn family_rows(&self, family: &str) -> Result<u64> {
        self.family_property(family, properties::ESTIMATE_NUM_KEYS)
    }

    /// Bytes of a family's sorted files and of its rows in write buffers.
    pub fn family_bytes(&self, family: &str) -> Result<u64> {
        Ok(self.family_property(family, properties::TOTAL_SST_FILES_SIZE)?
            + self.family_property(family, properties::CUR_SIZE_ALL_MEM_TABLES)?)
    }

    /// RocksDB's counters since the database was opened, by name, for example `rocksdb.block.cache.hit`.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        Ticker::iter()
            .map(|&ticker| (ticker.name(), self.rocksdb_options().get_ticker_count(ticker)))
            .collect()
    }

    fn family_property(&self, family: &str, name: &PropName) -> Result<u64> {
        let value = self.db().property_int_value_cf(&self.family(family)?, name);
        Ok(value.map_err(|error| self.failed("reading a property", &error))?.unwrap_or_default())
    }
}
