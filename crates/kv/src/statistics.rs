//! Statistics of a store: sizes, row counts, RocksDB's tickers.

use basalt_base::Result;
use rocksdb::properties;
use rocksdb::statistics::Ticker;

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
        Ticker::iter()
            .map(|&ticker| (ticker.name(), self.database().rocksdb_options().get_ticker_count(ticker)))
            .collect()
    }

    fn property(&self, name: &rocksdb::properties::PropName) -> Result<u64> {
        let value = self.db().property_int_value(name);
        Ok(value.map_err(|error| self.failed("reading a property", &error))?.unwrap_or_default())
    }
}
