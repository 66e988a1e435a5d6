//! Rows on their way into sorted files: collected as they come, sorted, written by several threads.

use std::path::{Path, PathBuf};

use basalt_base::Result;
use rocksdb::{Options, SstFileWriter};

use crate::error::failed;
use crate::parallel::in_parallel;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Rows in the order of arrival, or, once sorted, of key.
///
/// # Layout of a row
///
/// ```text
/// length of the key    u32, little-endian
/// length of the value  u32, little-endian
/// key, value
/// ```
pub(crate) struct Run {
    bytes: Vec<u8>,
    rows: Vec<RunRow>,
    /// Whether every key is greater than the one before it.
    is_sorted: bool,
}

#[derive(Clone, Copy)]
struct RunRow {
    /// The first bytes of the key: most comparisons need no more.
    key_head: u64,
    start: usize,
}

/// Where a run's files go.
pub(crate) struct RunFiles {
    pub(crate) options: Options,
    /// The store's, for errors.
    pub(crate) store: PathBuf,
    pub(crate) directory: PathBuf,
    /// Says in the files' names which run they are of.
    pub(crate) number: usize,
    pub(crate) threads_max: usize,
    /// Encoded rows that are worth a file of their own, and a thread.
    pub(crate) file_bytes_min: usize,
}

impl Default for Run {
    fn default() -> Run {
        Run { bytes: Vec::new(), rows: Vec::new(), is_sorted: true }
    }
}

impl Run {
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let row = RunRow { key_head: head(key), start: self.bytes.len() };
        let is_greater = |last: &RunRow| {
            last.key_head < row.key_head || (last.key_head == row.key_head && self.key(last) < key)
        };
        self.is_sorted = self.is_sorted && self.rows.last().is_none_or(is_greater);
        self.rows.push(row);
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// Bytes of encoded rows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// Key and value of every row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|row| self.row(row))
    }

    /// Without rows, but with the memory that it has.
    pub(crate) fn cleared(mut self) -> Run {
        self.bytes.clear();
        self.rows.clear();
        self.is_sorted = true;
        self
    }

    /// In order of key, and of rows with one key the last only.
    pub(crate) fn sort(&mut self) {
        if self.is_sorted {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable_by(|left, right| {
            let heads = left.key_head.cmp(&right.key_head);
            // Rows with one key stay in the order of arrival.
            heads.then_with(|| self.key(left).cmp(self.key(right))).then(left.start.cmp(&right.start))
        });
        let mut kept = 0;
        for at in 0..rows.len() {
            let row = rows[at];
            let is_same = |next: &RunRow| next.key_head == row.key_head && self.key(next) == self.key(&row);
            if !rows.get(at + 1).is_some_and(is_same) {
                rows[kept] = row;
                kept += 1;
            }
        }
        rows.truncate(kept);
        self.rows = rows;
        self.is_sorted = true;
    }

    /// Writes the rows, which are sorted, as files whose keys do not overlap. All are synced on return.
    pub(crate) fn write(&self, files: &RunFiles) -> Result<Vec<PathBuf>> {
        assert!(self.is_sorted, "a run is written before it is sorted");
        let count = (self.bytes.len() / files.file_bytes_min.max(1)).clamp(1, files.threads_max.max(1));
        let rows_each = self.rows.len().div_ceil(count).max(1);
        let parts: Vec<(PathBuf, &[RunRow])> = self
            .rows
            .chunks(rows_each)
            .enumerate()
            .map(|(part, rows)| (files.directory.join(format!("{}-{part}.sst", files.number)), rows))
            .collect();
        let write = |(path, rows): &(PathBuf, &[RunRow])| {
            self.write_file(files, path, rows).map(|()| path.clone()).map_err(|error| {
                failed(&files.store, &format!("writing the sorted file {}", path.display()), &error)
            })
        };
        match parts.as_slice() {
            [one] => Ok(vec![write(one)?]),
            several => in_parallel(several, write).into_iter().collect(),
        }
    }

    fn write_file(&self, files: &RunFiles, path: &Path, rows: &[RunRow]) -> Result<(), rocksdb::Error> {
        let mut file = SstFileWriter::create(&files.options);
        file.open(path)?;
        for row in rows {
            let (key, value) = self.row(row);
            file.put(key, value)?;
        }
        file.finish()
    }

    fn length(&self, at: usize) -> usize {
        let bytes = self.bytes[at..at + LENGTH_BYTES].try_into();
        u32::from_le_bytes(bytes.expect("a slice of as many bytes")) as usize
    }

    fn key(&self, row: &RunRow) -> &[u8] {
        let start = row.start + 2 * LENGTH_BYTES;
        &self.bytes[start..start + self.length(row.start)]
    }

    fn row(&self, row: &RunRow) -> (&[u8], &[u8]) {
        let key = self.key(row);
        let start = row.start + 2 * LENGTH_BYTES + key.len();
        (key, &self.bytes[start..start + self.length(row.start + LENGTH_BYTES)])
    }
}

/// The first eight bytes of a key as a number of the same order; a shorter key is filled with zeros.
pub(crate) fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    let length = key.len().min(bytes.len());
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorted_rows_are_those_that_came_last(
            rows in prop::collection::vec((prop::collection::vec(0..3_u8, 0..12), any::<Vec<u8>>()), 0..40),
        ) {
            let mut run = Run::default();
            rows.iter().for_each(|(key, value)| run.push(key, value));
            let came = run.iter().map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert!(came.eq(rows.iter().cloned()));
            prop_assert_eq!(run.is_sorted(), rows.is_sorted_by(|left, right| left.0 < right.0));
            run.sort();
            let sorted = run.iter().map(|(key, value)| (key.to_vec(), value.to_vec()));
            prop_assert!(sorted.eq(rows.into_iter().collect::<BTreeMap<_, _>>()));
        }
    }
}
