//! A store of records as the verbs see it.

use std::error::Error;

use crate::arguments::Arguments;
use crate::file::Records;
use crate::rocks::RocksStore;
use crate::succinct::SuccinctStore;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Records by key.
pub(crate) trait RecordStore: Sync {
    /// Puts all records into the empty store and brings it into the form in which it stays; has their number.
    fn load(&self, records: &mut Records) -> Result<u64>;

    /// What a thread reads single records with.
    fn reader(&self) -> Box<dyn RecordRead + '_>;

    /// Inserts or replaces one record.
    fn write(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Reads all records in the order of their keys.
    fn scan(&self) -> Result<Scanned>;
}

/// Reads single records.
pub(crate) trait RecordRead: Send {
    /// Reads the value of `key` to its end and has its length, or `None` if it is not there.
    fn read(&mut self, key: &[u8]) -> Result<Option<usize>>;
}

/// What a scan has read.
#[derive(Default)]
pub(crate) struct Scanned {
    pub(crate) records: u64,
    /// Bytes of keys and values.
    pub(crate) bytes: u64,
}

pub(crate) fn open(arguments: &Arguments) -> Result<Box<dyn RecordStore>> {
    match arguments.store.as_str() {
        "rocksdb" => Ok(Box::new(RocksStore::open(&arguments.directory, &arguments.rocks)?)),
        "succinct" => Ok(Box::new(SuccinctStore::open(&arguments.directory, arguments)?)),
        other => Err(format!("there is no store `{other}`").into()),
    }
}
