//! The changes of one statement: a synced batch if they are few, otherwise sorted files that are ingested together.
//!
//! Many rows bypass the log and the write buffers. They are collected up to a limit, sorted and written as sorted
//! files by other threads while the next ones are collected. RocksDB then ingests all files in one step, later
//! files over earlier ones. Either way the change is atomic.
//!
//! # Cost
//!
//! Memory for two runs: one is collected while the other is written. Rows in key order make files whose keys do not
//! overlap, so their runs end early; for other rows a larger run makes fewer files for a lookup to read. Blocks of
//! rows may change places when several threads read them, so the greatest rows of a run move to the next one, which
//! may contain rows that precede them.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::query::carried;
use basalt_base::{Error, FileAction, Result, bail};
use rocksdb::{DEFAULT_COLUMN_FAMILY_NAME, IngestExternalFileOptions, WriteBatch};

use crate::database::Database;
use crate::row_encoding::TOMBSTONE;
use crate::run::{Run, RunFiles};
use crate::spec::KvSpec;
use crate::store::Store;
use crate::write::{check_whole_key, for_each_row};

const LIMITS: LoadLimits = LoadLimits {
    batch_rows: 100_000,
    batch_bytes: 16 << 20,
    ordered_bytes: 32 << 20,
    run_bytes: 128 << 20,
    file_bytes: 16 << 20,
};

/// A change in progress. Dropping it without [`Load::commit`] cancels it.
pub struct Load {
    database: Arc<Database>,
    spec: Arc<KvSpec>,
    deletes: Deletes,
    key_bytes_max: usize,
    threads_max: usize,
    limits: LoadLimits,
    /// The write time to store in rows, if they expire.
    written: Option<u32>,
    run: Run,
    rows: u64,
    files: Option<LoadFiles>,
}

/// What becomes of a deleted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deletes {
    /// It is removed.
    Removed,
    /// It gets a tombstone, because older places may have it.
    Tombstones,
}

/// The limits at which rows become files.
#[derive(Clone, Copy)]
pub(crate) struct LoadLimits {
    /// More rows or bytes than these are written as files.
    pub(crate) batch_rows: usize,
    pub(crate) batch_bytes: usize,
    /// Bytes of a run of (nearly) sorted rows at the beginning of a load; later runs are as long as unsorted ones.
    pub(crate) ordered_bytes: usize,
    /// Bytes of a run of unsorted rows.
    pub(crate) run_bytes: usize,
    /// The smallest part of a run that gets a file of its own.
    pub(crate) file_bytes: usize,
}

/// The files of a load. One run is written while the next is collected.
struct LoadFiles {
    directory: PathBuf,
    paths: Vec<PathBuf>,
    /// Bytes of encoded rows in all runs.
    bytes: usize,
    runs: usize,
    writing: Option<JoinHandle<Result<WrittenRun>>>,
}

/// The place of a run in its load.
#[derive(PartialEq)]
enum RunPosition {
    Middle,
    Last,
}

struct WrittenRun {
    /// An empty run, kept for its memory.
    run: Run,
    paths: Vec<PathBuf>,
}

impl Store {
    /// Begins a change that may use up to `threads_max` threads besides the caller's.
    pub fn begin_load(self: &Arc<Self>, threads_max: usize) -> Result<Load> {
        self.begin_load_within(threads_max, LIMITS)
    }

    pub(crate) fn begin_load_within(
        self: &Arc<Self>,
        threads_max: usize,
        limits: LoadLimits,
    ) -> Result<Load> {
        Load::new(self.database(), self.spec(), Deletes::Removed, threads_max, limits)
    }
}

impl Load {
    /// Begins a change of a family that is chosen when it is committed; deleted keys get tombstones. It may use up to
    /// `threads_max` threads besides the caller's.
    pub fn begin(database: &Arc<Database>, spec: Arc<KvSpec>, threads_max: usize) -> Result<Load> {
        Load::new(database, spec, Deletes::Tombstones, threads_max, LIMITS)
    }

    /// Refuses rows whose encoded keys are longer than this.
    #[must_use]
    pub fn with_keys_up_to(self, key_bytes_max: usize) -> Load {
        Load { key_bytes_max, ..self }
    }

    fn new(
        database: &Arc<Database>,
        spec: Arc<KvSpec>,
        deletes: Deletes,
        threads_max: usize,
        limits: LoadLimits,
    ) -> Result<Load> {
        database.check_writable()?;
        let ttl = database.options().ttl_seconds;
        Ok(Load {
            written: ttl.map(|_| database.options().now_seconds()),
            database: Arc::clone(database),
            spec,
            deletes,
            key_bytes_max: usize::MAX,
            threads_max,
            limits,
            run: Run::default(),
            rows: 0,
            files: None,
        })
    }

    /// Adds every row of `batch`, which has all columns in order.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.run.begin_block();
        let mut longest = 0;
        for_each_row(&self.spec, batch, self.written, |key, row| {
            longest = longest.max(key.len());
            self.run.push(key, Some(row));
        })?;
        if longest > self.key_bytes_max {
            bail!(
                ArgumentOutOfBound,
                "a key of {longest} bytes is too long to store, at most {} are possible",
                self.key_bytes_max
            );
        }
        self.wrote(batch.num_rows())
    }

    /// Deletes the rows with `keys`: one array for each key column. Missing keys are ignored.
    pub fn delete(&mut self, keys: &[ArrayRef]) -> Result<()> {
        let encoder = self.spec.key_encoder()?;
        check_whole_key(&encoder, keys)?;
        let encoded = encoder.encode(keys)?;
        let value = match self.deletes {
            Deletes::Removed => None,
            Deletes::Tombstones => Some(TOMBSTONE),
        };
        self.run.begin_block();
        (0..encoded.len()).for_each(|row| self.run.push(encoded.get(row), value));
        self.wrote(encoded.len())
    }

    fn wrote(&mut self, rows: usize) -> Result<()> {
        self.rows += rows as u64;
        if self.run.bytes() >= self.run_bytes_max() { self.end_run(RunPosition::Middle) } else { Ok(()) }
    }

    /// The encoded bytes of the change.
    pub fn bytes(&self) -> u64 {
        (self.run.bytes() + self.files.as_ref().map_or(0, |files| files.bytes)) as u64
    }

    /// [`Load::commit_to`] the default family.
    pub fn commit(self) -> Result<u64> {
        self.commit_to(DEFAULT_COLUMN_FAMILY_NAME)
    }

    /// Makes the changes to `family`: rows replace those with the same keys. Of several changes of one key the last
    /// wins. Atomic, and durable on return. Returns the number of changes.
    pub fn commit_to(mut self, family: &str) -> Result<u64> {
        let is_batch = self.files.is_none()
            && self.run.len() < self.limits.batch_rows
            && self.run.bytes() < self.limits.batch_bytes;
        let doing = format!("changing {} rows", self.rows);
        if is_batch {
            self.write_batch(family, &doing)?;
            return Ok(self.rows);
        }
        self.end_run(RunPosition::Last)?;
        if let Some(mut files) = self.files.take() {
            files.written()?;
            let mut options = IngestExternalFileOptions::default();
            options.set_move_files(true);
            let database = &self.database;
            let handle = database.family(family)?;
            let ingested = database.db().ingest_external_file_cf_opts(&handle, &options, files.paths.clone());
            ingested.map_err(|error| database.refused(&doing, &error))?;
            database.acknowledge_files()?;
        }
        Ok(self.rows)
    }

    fn write_batch(&self, family: &str, doing: &str) -> Result<()> {
        let handle = self.database.family(family)?;
        let mut changes = WriteBatch::default();
        for (key, value) in self.run.iter() {
            match value {
                Some(row) => changes.put_cf(&handle, key, row),
                None => changes.delete_cf(&handle, key),
            }
        }
        self.database.write(changes, doing)
    }

    /// The runs of a long load are larger, so that the number of files stays small.
    fn run_bytes_max(&self) -> usize {
        let LoadLimits { ordered_bytes, run_bytes, .. } = self.limits;
        if !self.run.is_nearly_sorted() {
            return run_bytes;
        }
        let before = self.files.as_ref().map_or(0, |files| files.bytes);
        (before / 2).clamp(ordered_bytes, run_bytes)
    }

    /// Ends the current run and writes it.
    fn end_run(&mut self, position: RunPosition) -> Result<()> {
        if self.run.len() == 0 {
            return Ok(());
        }
        let mut files = match self.files.take() {
            Some(files) => files,
            None => LoadFiles::create(self.database.next_load_directory())?,
        };
        let fresh = files.written()?;
        let mut run = std::mem::replace(&mut self.run, fresh);
        if position == RunPosition::Middle && run.is_nearly_sorted() {
            run.sort();
            run.move_greatest(&mut self.run);
        }
        let file_options = RunFiles {
            options: self.database.rocksdb_options().clone(),
            store: self.database.path().to_owned(),
            directory: files.directory.clone(),
            number: files.runs,
            threads_max: self.threads_max,
            file_bytes_min: self.limits.file_bytes,
        };
        files.write(run, file_options)?;
        self.files = Some(files);
        Ok(())
    }
}

impl LoadFiles {
    fn create(directory: PathBuf) -> Result<LoadFiles> {
        std::fs::create_dir_all(&directory)
            .map_err(|error| Error::io(FileAction::CreateDirectory, &directory, &error))?;
        Ok(LoadFiles { directory, paths: Vec::new(), bytes: 0, runs: 0, writing: None })
    }

    /// Begins to write a run.
    fn write(&mut self, mut run: Run, files: RunFiles) -> Result<()> {
        self.bytes += run.bytes();
        self.runs += 1;
        let write = move || {
            run.sort();
            let paths = run.write(&files)?;
            Ok(WrittenRun { run: run.cleared(), paths })
        };
        let thread = std::thread::Builder::new().name("kv-load".to_owned()).spawn(carried(write));
        self.writing =
            Some(thread.map_err(|error| Error::logical(format!("no thread for a load: {error}")))?);
        Ok(())
    }

    /// Waits for the run that is being written, if there is one; returns an empty run.
    fn written(&mut self) -> Result<Run> {
        let Some(writing) = self.writing.take() else { return Ok(Run::default()) };
        let ended = writing.join();
        let ended = ended.map_err(|_| Error::logical("a thread of a load panicked"))??;
        self.paths.extend(ended.paths);
        Ok(ended.run)
    }
}

impl Drop for LoadFiles {
    fn drop(&mut self) {
        // Its result does not matter any more, but it must stop writing into the directory.
        let _ = self.written();
        // A leftover is removed when the store is opened again.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
