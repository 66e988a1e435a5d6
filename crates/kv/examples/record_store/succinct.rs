//! Engine Succinct through its crate: each write is durable, as its tables are in SQL.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use basalt_base::fs::RealStorage;
use basalt_kv::encoding::KeyEncoder;
use basalt_kv::{ByteRange, Direction, KvOptions, KvSpec, SharedCache};
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;
use basalt_succinct::{ColumnGroup, RecordReader, Step, Table, TableOptions, TableSpec, WorkWatch};

use crate::arguments::Arguments;
use crate::columns::{Typed, bytes};
use crate::file::Records;
use crate::store::{RecordRead, RecordStore, Result, Scanned};

const BATCH_ROWS: usize = 8192;
const CHANGE_ROWS: u64 = 1 << 17;
/// The defaults of a table in SQL.
const SEGMENT_BYTES: u64 = 256 << 20;
const SEGMENTS_MAX: usize = 5;
const DEAD_SHARE_MAX: f64 = 0.1;
/// How often the background looks whether there is work.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(crate) struct SuccinctStore {
    table: Arc<Table>,
    columns: Typed,
    key: Typed,
    encoder: KeyEncoder,
    is_over: Arc<AtomicBool>,
    background: Option<JoinHandle<()>>,
}

impl SuccinctStore {
    pub(crate) fn open(directory: &Path, arguments: &Arguments) -> Result<SuccinctStore> {
        let columns = Typed::parse(&arguments.succinct.columns)?;
        let key_columns: Vec<usize> = (0..arguments.key_columns).collect();
        let key = Typed { columns: columns.columns.project(&key_columns) };
        let mut spec = TableSpec::new(KvSpec::new(columns.columns.clone(), key_columns)?);
        let encoder = spec.rows.key_encoder()?;
        if arguments.succinct.grouped {
            spec.groups = vec![ColumnGroup { name: "values".into(), columns: spec.rows.value_positions() }];
        }
        let cache = SharedCache::new(arguments.rocks.cache_bytes, arguments.rocks.write_buffer_bytes);
        let options = TableOptions {
            storage: Arc::new(RealStorage),
            kv: KvOptions { cache, ..KvOptions::default() },
            access: if arguments.rocks.direct { Access::Read } else { Access::Mapped },
            build: BuildOptions::default(),
            segment_bytes: SEGMENT_BYTES,
            segments_max: SEGMENTS_MAX,
            dead_share_max: DEAD_SHARE_MAX,
        };
        let table = Arc::new(Table::open(directory, spec, options)?);
        let is_over = Arc::new(AtomicBool::new(false));
        let background = Some(spawn_background(Arc::clone(&table), Arc::clone(&is_over)));
        Ok(SuccinctStore { table, columns, key, encoder, is_over, background })
    }
}

fn spawn_background(table: Arc<Table>, is_over: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            if !matches!(table.step(&Until(&is_over)), Ok(true)) {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    })
}

impl Drop for SuccinctStore {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.background.take().map(JoinHandle::join);
    }
}

impl RecordStore for SuccinctStore {
    fn load(&self, records: &mut Records) -> Result<u64> {
        let (mut count, mut is_at_end) = (0, false);
        while !is_at_end {
            let mut change = self.table.begin_change(1)?;
            let end = count + CHANGE_ROWS;
            while count < end && !is_at_end {
                let mut rows = self.columns.rows();
                while rows.count < BATCH_ROWS {
                    let Some((key, value)) = records.next()? else {
                        is_at_end = true;
                        break;
                    };
                    rows.push(key, value)?;
                }
                count += rows.count as u64;
                change.write(&self.columns.batch(&mut rows)?)?;
            }
            change.commit()?;
        }
        self.table.optimize(true, &Until(&AtomicBool::new(false)))?;
        Ok(count)
    }

    fn reader(&self) -> Box<dyn RecordRead + '_> {
        let (records, columns) = (self.table.records(), &self.key);
        Box::new(SuccinctReader {
            records,
            columns,
            encoder: &self.encoder,
            key: Vec::new(),
            row: Vec::new(),
        })
    }

    fn write(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut rows = self.columns.rows();
        rows.push(key, value)?;
        let mut change = self.table.begin_change(0)?;
        change.write(&self.columns.batch(&mut rows)?)?;
        Ok(change.commit()?)
    }

    fn scan(&self) -> Result<Scanned> {
        let all: Vec<usize> = (0..self.columns.columns.len()).collect();
        let mut scanned = Scanned::default();
        for batch in self.table.snapshot().ordered(&ByteRange::default(), &all, Direction::Ascending)? {
            let batch = batch?;
            scanned.records += batch.num_rows() as u64;
            scanned.bytes += batch.columns().iter().map(bytes).sum::<u64>();
        }
        Ok(scanned)
    }
}

/// Reads single rows by the texts of their keys.
struct SuccinctReader<'a> {
    records: RecordReader,
    columns: &'a Typed,
    encoder: &'a KeyEncoder,
    key: Vec<u8>,
    row: Vec<u8>,
}

impl RecordRead for SuccinctReader<'_> {
    fn read(&mut self, key: &[u8]) -> Result<Option<usize>> {
        self.key.clear();
        self.row.clear();
        self.columns.encode_key(key, self.encoder, &mut self.key)?;
        Ok(self.records.read(&self.key, &mut self.row)?.then_some(self.row.len()))
    }
}

/// Ends work when it is over.
struct Until<'a>(&'a AtomicBool);

impl WorkWatch for Until<'_> {
    fn begins(&self, _: &Step) {}

    fn reads(&self, _: u64) -> basalt_base::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            basalt_base::bail!(QueryWasCancelled, "the store is closed");
        }
        Ok(())
    }

    fn ends(&self) {}
}
