//! Columns read by piece, by selection, and through a cache equal the inserted columns.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use basalt_base::fs::{FaultyStorage, Storage};

use super::{TableParts, open};
use crate::column::plain::plain;
use crate::sample::{self, Noise};
use crate::{BlockCache, PartReader, PartSpec, ReadMetrics};

/// Granules of 16 rows; the last piece and its last granule are not full.
const ROWS: usize = 16 * 8 * 2 + 16 * 3 + 5;

fn table() -> (FaultyStorage, TableParts, RecordBatch) {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let spec = PartSpec { granule_rows: 16, ..PartSpec::new(sample::all_columns()) };
    let batch = sample::batch(&spec.columns, ROWS, 5);
    let parts = open(&storage, spec).unwrap();
    parts.set_insert_threads(3);
    parts.insert(batch.clone()).unwrap();
    (storage, parts, batch)
}

fn check(reader: &mut PartReader, batch: &RecordBatch, marks: Range<usize>, noise: &mut Noise) {
    let rows = marks.start * 16..(marks.end * 16).min(ROWS);
    let sparse = noise.below(20);
    let selected = BooleanBuffer::collect_bool(rows.len(), |_| noise.below(40) <= sparse);
    for (column, expected) in batch.columns().iter().enumerate() {
        let expected = expected.slice(rows.start, rows.len());
        let found = plain(&reader.read(column, marks.clone()).unwrap());
        assert_eq!(&found, &expected, "column {column}, marks {marks:?}");
        let expected: ArrayRef = filter(&expected, &BooleanArray::new(selected.clone(), None)).unwrap();
        let found = plain(&reader.read_rows(column, marks.clone(), &selected).unwrap());
        assert_eq!(&found, &expected, "selected rows of column {column}, marks {marks:?}");
    }
}

#[test]
fn any_marks_are_read_with_and_without_a_cache() {
    let (_storage, parts, batch) = table();
    let part = Arc::clone(&parts.snapshot()[0]);
    let metrics = Arc::new(ReadMetrics::default());
    let cache = Arc::new(BlockCache::new(1 << 20));
    let mut noise = Noise(1);
    for cache in [None, Some(&cache)] {
        let mut reader = PartReader::open(&part, cache, &metrics);
        for _ in 0..60 {
            let (a, b) = (noise.below(20) as usize, noise.below(20) as usize);
            check(&mut reader, &batch, a.min(b)..a.max(b), &mut noise);
        }
    }
}

#[test]
fn second_read_of_a_piece_is_the_same_memory_and_no_file_is_read() {
    let (storage, parts, _) = table();
    let part = Arc::clone(&parts.snapshot()[0]);
    let metrics = Arc::new(ReadMetrics::default());
    let cache = Arc::new(BlockCache::new(64 << 20));
    let first = PartReader::open(&part, Some(&cache), &metrics).read(3, 8..16).unwrap();
    for path in super::files(&storage, Path::new(super::DIR)) {
        storage.damage(&path, |bytes| bytes.clear());
    }
    let mut reader = PartReader::open(&part, Some(&cache), &metrics);
    assert_eq!((reader.piece_end(8), reader.piece_end(17)), (16, part.mark_count()));
    let second = reader.read(3, 8..16).unwrap();
    assert_eq!(first.to_data().buffers()[0].as_ptr(), second.to_data().buffers()[0].as_ptr());
    assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
}

#[test]
fn blocks_of_a_part_that_is_gone_leave_the_cache() {
    let (_storage, parts, _) = table();
    let metrics = Arc::new(ReadMetrics::default());
    let cache = Arc::new(BlockCache::new(64 << 20));
    let part = Arc::clone(&parts.snapshot()[0]);
    PartReader::open(&part, Some(&cache), &metrics).read(0, 0..part.mark_count()).unwrap();
    assert!(cache.stats().bytes > 0);
    parts.truncate().unwrap();
    assert!(cache.stats().bytes > 0, "a snapshot still reads it");
    drop(part);
    assert_eq!((cache.stats().bytes, cache.stats().entries), (0, 0));
}

#[test]
fn only_blocks_with_a_selected_row_are_decoded() {
    let (_storage, parts, _) = table();
    let part = Arc::clone(&parts.snapshot()[0]);
    let metrics = Arc::new(ReadMetrics::default());
    let mut reader = PartReader::open(&part, None, &metrics);
    let marks = 0..part.mark_count();
    let none = BooleanBuffer::new_unset(ROWS);
    assert_eq!(reader.read_rows(3, marks.clone(), &none).unwrap().len(), 0);
    assert_eq!(metrics.snapshot().compressed_bytes, 0);
    let last = BooleanBuffer::collect_bool(ROWS, |row| row == ROWS - 1);
    assert_eq!(reader.read_rows(3, marks, &last).unwrap().len(), 1);
    assert_eq!(metrics.snapshot().uncompressed_bytes, ((16 * 3 + 5) * 8) as u64);
}
