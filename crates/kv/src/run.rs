//! A run of rows on its way into sorted files: collected in any order, sorted, written by several threads.

use std::path::{Path, PathBuf};

use basalt_base::{Result, parallel};
use rocksdb::{Options, SstFileWriter};

use crate::error::failed;

const LENGTH_BYTES: usize = size_of::<u32>();
/// The length of the value of a deleted key.
const DELETED: u32 = u32::MAX;
/// A run counts as nearly sorted if its ascending sequences have this length on average. Several threads that read
/// a sorted source produce such blocks.
const ASCENDING_ROWS_MIN: usize = 1024;

/// Rows in the order of arrival, or in key order after [`Run::sort`].
///
/// # Layout of a row
///
/// ```text
/// length of the key    u32, little-endian
/// length of the value  u32, little-endian; all bits set: the key is deleted
/// key, value
/// ```
#[derive(Default)]
pub(crate) struct Run {
    bytes: Vec<u8>,
    rows: Vec<RunRow>,
    /// First rows of ascending sequences: a block's rows, or some of them.
    stretches: Vec<usize>,
    /// Number of keys that are not greater than the previous one.
    descents: usize,
}

#[derive(Clone, Copy)]
struct RunRow {
    /// The first bytes of the key, which decide most comparisons.
    key_head: u64,
    start: usize,
}

/// Where the files of a run are written.
pub(crate) struct RunFiles {
    pub(crate) options: Options,
    /// The store's path, for errors.
    pub(crate) store: PathBuf,
    pub(crate) directory: PathBuf,
    /// The number of the run, part of the file names.
    pub(crate) number: usize,
    pub(crate) threads_max: usize,
    /// Bytes of encoded rows that justify a file and a thread of their own.
    pub(crate) file_bytes_min: usize,
}

impl Run {
    /// Marks that the next rows may not follow the last ones in key order.
    pub(crate) fn begin_block(&mut self) {
        if self.stretches.last() != Some(&self.rows.len()) {
            self.stretches.push(self.rows.len());
        }
    }

    /// Adds a row; no value deletes the key.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        let row = RunRow { key_head: head(key), start: self.bytes.len() };
        let is_greater = |last: &RunRow| {
            last.key_head < row.key_head || (last.key_head == row.key_head && self.key(last) < key)
        };
        if !self.rows.last().is_some_and(is_greater) {
            self.descents += usize::from(!self.rows.is_empty());
            self.begin_block();
        }
        self.rows.push(row);
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        let value_bytes = value.map_or(DELETED, |value| value.len() as u32);
        self.bytes.extend_from_slice(&value_bytes.to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// Bytes of encoded rows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether every key is greater than the previous one.
    pub(crate) fn is_sorted(&self) -> bool {
        self.descents == 0
    }

    pub(crate) fn is_nearly_sorted(&self) -> bool {
        self.descents * ASCENDING_ROWS_MIN <= self.rows.len()
    }

    /// Key and value of every row; a deleted key has no value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|row| self.row(row))
    }

    /// An empty run with the memory of this one.
    pub(crate) fn cleared(mut self) -> Run {
        self.bytes.clear();
        self.rows.clear();
        self.stretches.clear();
        self.descents = 0;
        self
    }

    /// Sorts the rows by key, and keeps only the last row of each key.
    pub(crate) fn sort(&mut self) {
        if self.sort_stretches() {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable_by(|left, right| {
            let heads = left.key_head.cmp(&right.key_head);
            // Rows with the same key stay in the order of arrival.
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
        self.set_sorted(rows, vec![0]);
    }

    /// Sorts the run by ordering its ascending sequences, if that is enough; `false` if it is not.
    fn sort_stretches(&mut self) -> bool {
        if self.is_sorted() || !self.is_nearly_sorted() {
            return self.is_sorted();
        }
        let ends = self.stretches[1..].iter().copied().chain([self.rows.len()]);
        let stretches = self.stretches.iter().zip(ends).map(|(&start, end)| &self.rows[start..end]);
        let mut stretches: Vec<&[RunRow]> = stretches.filter(|rows| !rows.is_empty()).collect();
        stretches.sort_unstable_by(|left, right| self.key(&left[0]).cmp(self.key(&right[0])));
        let is_before = |left: &&[RunRow], right: &&[RunRow]| {
            left.last().is_some_and(|last| self.key(last) < self.key(&right[0]))
        };
        if !stretches.is_sorted_by(is_before) {
            return false;
        }
        let rows = stretches.concat();
        let starts = stretches.iter().scan(0, |next, rows| Some(std::mem::replace(next, *next + rows.len())));
        let starts = starts.collect();
        self.set_sorted(rows, starts);
        true
    }

    /// Moves the greatest quarter of the sorted rows to `next`.
    pub(crate) fn move_greatest(&mut self, next: &mut Run) {
        assert!(self.is_sorted(), "the greatest rows are taken of a run before it is sorted");
        let first = self.rows.len() - self.rows.len() / 4;
        let moved = self.rows.split_off(first);
        let begun = self.stretches.partition_point(|&start| start < first);
        let mut starts = self.stretches.split_off(begun).into_iter().peekable();
        for (at, row) in moved.iter().enumerate() {
            if starts.next_if_eq(&(first + at)).is_some() {
                next.begin_block();
            }
            let (key, value) = self.row(row);
            next.push(key, value);
        }
    }

    fn set_sorted(&mut self, rows: Vec<RunRow>, stretches: Vec<usize>) {
        self.rows = rows;
        self.stretches = stretches;
        self.descents = 0;
    }

    /// Writes the sorted rows as files whose keys do not overlap. All are synced on return.
    pub(crate) fn write(&self, files: &RunFiles) -> Result<Vec<PathBuf>> {
        assert!(self.is_sorted(), "a run is written before it is sorted");
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
        parallel::map(parts.iter(), parts.len(), write).into_iter().collect()
    }

    fn write_file(&self, files: &RunFiles, path: &Path, rows: &[RunRow]) -> Result<(), rocksdb::Error> {
        let mut file = SstFileWriter::create(&files.options);
        file.open(path)?;
        for row in rows {
            match self.row(row) {
                (key, Some(value)) => file.put(key, value)?,
                (key, None) => file.delete(key)?,
            }
        }
        file.finish()
    }

    fn length(&self, at: usize) -> u32 {
        let bytes = self.bytes[at..at + LENGTH_BYTES].try_into();
        u32::from_le_bytes(bytes.expect("a slice of as many bytes"))
    }

    fn key(&self, row: &RunRow) -> &[u8] {
        let start = row.start + 2 * LENGTH_BYTES;
        &self.bytes[start..start + self.length(row.start) as usize]
    }

    fn row(&self, row: &RunRow) -> (&[u8], Option<&[u8]>) {
        let key = self.key(row);
        let start = row.start + 2 * LENGTH_BYTES + key.len();
        match self.length(row.start + LENGTH_BYTES) {
            DELETED => (key, None),
            bytes => (key, Some(&self.bytes[start..start + bytes as usize])),
        }
    }
}

/// The first eight bytes of a key, zero-padded, as a number with the same order.
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
            rows in prop::collection::vec((prop::collection::vec(0..3_u8, 0..12), any::<Option<Vec<u8>>>()), 0..40),
        ) {
            let mut run = Run::default();
            rows.iter().for_each(|(key, value)| run.push(key, value.as_deref()));
            let came = run.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
            prop_assert!(came.eq(rows.iter().cloned()));
            prop_assert_eq!(run.is_sorted(), rows.is_sorted_by(|left, right| left.0 < right.0));
            run.sort();
            prop_assert!(run.is_sorted());
            let sorted = run.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
            prop_assert!(sorted.eq(rows.into_iter().collect::<BTreeMap<_, _>>()));
        }
    }

    fn numbers(run: &Run) -> Vec<u32> {
        run.iter().map(|(key, _)| u32::from_be_bytes(key.try_into().expect("four bytes"))).collect()
    }

    fn run_of(blocks: &[std::ops::Range<u32>]) -> Run {
        let mut run = Run::default();
        for block in blocks {
            run.begin_block();
            block.clone().for_each(|number| run.push(&number.to_be_bytes(), Some(b"value")));
        }
        run
    }

    #[test]
    fn blocks_that_do_not_overlap_are_put_in_order() {
        let mut run = run_of(&[2000..4000, 6000..8000, 0..2000, 4000..6000, 7..7]);
        assert!(!run.is_sorted() && run.is_nearly_sorted() && run.sort_stretches() && run.is_sorted());
        assert_eq!(numbers(&run), Vec::from_iter(0..8000));
        let mut next = Run::default();
        run.move_greatest(&mut next);
        assert_eq!(numbers(&run), Vec::from_iter(0..6000));
        assert_eq!(numbers(&next), Vec::from_iter(6000..8000));
        assert_eq!(run.cleared().len(), 0);
    }

    #[test]
    fn a_block_may_come_late() {
        let mut run = run_of(&[0..2000, 2000..3000, 4000..5000, 1_000_000..1_000_001]);
        run.push(&3999_u32.to_be_bytes(), Some(b"value"));
        run.sort();
        let mut next = Run::default();
        run.move_greatest(&mut next);
        assert_eq!((run.len(), next.len()), (3002, 1000));
        next.begin_block();
        (3000..3999_u32).for_each(|number| next.push(&number.to_be_bytes(), Some(b"value")));
        assert!(next.sort_stretches());
        let expected = (3000..3999).chain(4001..5000).chain([1_000_000]);
        assert_eq!(numbers(&next), Vec::from_iter(expected));
    }

    #[test]
    fn blocks_that_overlap_are_merged() {
        let mut run = run_of(&[0..2000, 1999..4000, 10..3000]);
        assert!(run.is_nearly_sorted() && !run.sort_stretches() && !run.is_sorted());
        run.sort();
        assert_eq!(numbers(&run), Vec::from_iter(0..4000));
        assert!(!run_of(&[5..6, 4..5, 3..4]).is_nearly_sorted());
    }
}
