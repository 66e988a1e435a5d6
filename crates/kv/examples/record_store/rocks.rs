//! RocksDB with the options of the comparison: bloom filters, one block cache, a log that is not synced.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, DBCompressionType, Options,
    ReadOptions, WaitForCompactOptions, WriteBatch, WriteOptions,
};

use crate::arguments::RocksArguments;
use crate::file::Records;
use crate::store::{RecordRead, RecordStore, Result, Scanned};

const BLOOM_BITS_PER_KEY: f64 = 10.0;
const BACKGROUND_JOBS: i32 = 2;
const BATCH_RECORDS: usize = 1000;
const READAHEAD_BYTES: usize = 2 << 20;

/// Reads single records.
struct RocksReader<'a>(&'a DB);

impl RecordRead for RocksReader<'_> {
    fn read(&mut self, key: &[u8]) -> Result<Option<usize>> {
        Ok(self.0.get_pinned(key)?.map(|value| value.len()))
    }
}

pub(crate) struct RocksStore {
    db: DB,
    writing: WriteOptions,
}

impl RocksStore {
    pub(crate) fn open(directory: &Path, arguments: &RocksArguments) -> Result<RocksStore> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_size(arguments.block_bytes);
        blocks.set_block_cache(&Cache::new_lru_cache(arguments.cache_bytes));
        blocks.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(compression(&arguments.compression)?);
        options.set_write_buffer_size(arguments.write_buffer_bytes);
        options.set_max_background_jobs(BACKGROUND_JOBS);
        options.set_use_direct_reads(arguments.direct);
        let mut writing = WriteOptions::default();
        writing.set_sync(arguments.sync);
        Ok(RocksStore { db: DB::open(&options, directory)?, writing })
    }
}

impl RecordStore for RocksStore {
    fn load(&self, records: &mut Records) -> Result<u64> {
        let mut without_log = WriteOptions::default();
        without_log.disable_wal(true);
        let (mut batch, mut count) = (WriteBatch::default(), 0);
        while let Some((key, value)) = records.next()? {
            batch.put(key, value);
            count += 1;
            if batch.len() == BATCH_RECORDS {
                self.db.write_opt(std::mem::take(&mut batch), &without_log)?;
            }
        }
        self.db.write_opt(batch, &without_log)?;
        self.db.flush()?;
        let mut all = CompactOptions::default();
        all.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        self.db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &all);
        self.db.wait_for_compact(&WaitForCompactOptions::default())?;
        Ok(count)
    }

    fn reader(&self) -> Box<dyn RecordRead + '_> {
        Box::new(RocksReader(&self.db))
    }

    fn write(&self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.db.put_opt(key, value, &self.writing)?)
    }

    fn scan(&self) -> Result<Scanned> {
        let mut reading = ReadOptions::default();
        reading.set_readahead_size(READAHEAD_BYTES);
        reading.fill_cache(false);
        let mut found = self.db.raw_iterator_opt(reading);
        let mut scanned = Scanned::default();
        found.seek_to_first();
        while let Some((key, value)) = found.item() {
            scanned.records += 1;
            scanned.bytes += (key.len() + value.len()) as u64;
            found.next();
        }
        found.status()?;
        Ok(scanned)
    }
}

fn compression(name: &str) -> Result<DBCompressionType> {
    match name {
        "none" => Ok(DBCompressionType::None),
        "lz4" => Ok(DBCompressionType::Lz4),
        "zstd" => Ok(DBCompressionType::Zstd),
        other => Err(format!("there is no compression `{other}`; none, lz4 and zstd are compiled in").into()),
    }
}
