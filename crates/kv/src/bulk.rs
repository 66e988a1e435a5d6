//! Big loads: sorted files written beside the table and taken in together at the end.
//!
//! Rows go neither through the log nor through write buffers. They are collected up to a limit, sorted
//! and written as one sorted file each time; RocksDB then takes all files in one step, the later over the
//! earlier, so the load is there whole or not at all.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use basalt_base::{Error, Result};
use rocksdb::{IngestExternalFileOptions, SstFileWriter};

use crate::store::Store;
use crate::write::for_each_row;

/// Encoded rows that are sorted in memory and make one file.
const RUN_BYTES: usize = 128 << 20;

/// Rows in the order of arrival.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    rows: Vec<RunRow>,
}

#[derive(Clone, Copy)]
struct RunRow {
    /// The first bytes of the key: most comparisons need no more.
    key_head: u64,
    start: usize,
    key_bytes: u32,
    row_bytes: u32,
}

/// The directory of a load's files; removed when dropped.
struct LoadDirectory(PathBuf);

impl Store {
    /// Inserts all batches, as [`Store::insert`] does, at the speed of sorted files: of rows with one key
    /// the last stays. All or none: an error of `batches` leaves the table as it was. Returns how many rows
    /// came.
    pub fn insert_bulk(&self, batches: impl IntoIterator<Item = Result<RecordBatch>>) -> Result<u64> {
        self.check_writable()?;
        let spec = self.spec();
        let directory = LoadDirectory::create(self.next_load_directory())?;
        let mut files = Vec::new();
        let mut run = Run::default();
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            for_each_row(&spec, &batch, self.written(), |key, row| run.push(key, row))?;
            if run.bytes.len() >= RUN_BYTES {
                files.push(self.write_run(std::mem::take(&mut run), &directory.0, files.len())?);
            }
        }
        if !run.rows.is_empty() {
            files.push(self.write_run(run, &directory.0, files.len())?);
        }
        if !files.is_empty() {
            let mut options = IngestExternalFileOptions::default();
            options.set_move_files(true);
            self.db()
                .ingest_external_file_opts(&options, files)
                .map_err(|error| self.failed(&format!("taking in a load of {rows} rows"), &error))?;
        }
        Ok(rows)
    }

    fn write_run(&self, mut run: Run, directory: &Path, number: usize) -> Result<PathBuf> {
        run.sort();
        let path = directory.join(format!("{number}.sst"));
        let failed = |error| self.failed(&format!("writing the sorted file {}", path.display()), &error);
        let mut file = SstFileWriter::create(self.rocksdb_options());
        file.open(&path).map_err(failed)?;
        for (at, row) in run.rows.iter().enumerate() {
            // Sorting kept the order of arrival among equal keys: the last of them stays.
            let is_replaced = run.rows.get(at + 1).is_some_and(|next| run.key(next) == run.key(row));
            if !is_replaced {
                file.put(run.key(row), run.row(row)).map_err(failed)?;
            }
        }
        file.finish().map_err(failed)?;
        Ok(path)
    }
}

impl Run {
    fn push(&mut self, key: &[u8], row: &[u8]) {
        let mut head = [0; size_of::<u64>()];
        let head_bytes = key.len().min(head.len());
        head[..head_bytes].copy_from_slice(&key[..head_bytes]);
        self.rows.push(RunRow {
            key_head: u64::from_be_bytes(head),
            start: self.bytes.len(),
            key_bytes: key.len() as u32,
            row_bytes: row.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |row: &RunRow| &bytes[row.start..row.start + row.key_bytes as usize];
        self.rows.sort_by(|left, right| {
            left.key_head.cmp(&right.key_head).then_with(|| key(left).cmp(key(right)))
        });
    }

    fn key(&self, row: &RunRow) -> &[u8] {
        &self.bytes[row.start..row.start + row.key_bytes as usize]
    }

    fn row(&self, row: &RunRow) -> &[u8] {
        let start = row.start + row.key_bytes as usize;
        &self.bytes[start..start + row.row_bytes as usize]
    }
}

impl LoadDirectory {
    fn create(path: PathBuf) -> Result<LoadDirectory> {
        std::fs::create_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
        Ok(LoadDirectory(path))
    }
}

impl Drop for LoadDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the store is opened next.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
