//! Strings read back, coded or plain; the codes of a part share one dictionary.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::{TableParts, open};
use crate::column::plain::plain;
use crate::sample::Noise;
use crate::{BlockCache, Part, PartReader, PartSpec, ReadMetrics};

const GRANULE_ROWS: usize = 1024;

fn low_cardinality(inner: SqlType) -> SqlType {
    SqlType::LowCardinality(Arc::new(inner))
}

/// A table with one column, and a part for each of `strings`.
fn table(ty: &SqlType, strings: &[ArrayRef]) -> TableParts {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let columns = Columns::new(vec![Column::new("s", ty.clone())]);
    let spec = PartSpec { granule_rows: GRANULE_ROWS, ..PartSpec::new(columns) };
    let parts = open(&storage, spec.clone()).unwrap();
    parts.set_insert_threads(2);
    for strings in strings {
        let batch = RecordBatch::try_new(spec.schema(), vec![Arc::clone(strings)]).unwrap();
        parts.insert(batch).unwrap();
    }
    parts
}

fn read(part: &Arc<Part>) -> Vec<ArrayRef> {
    let mut reader = PartReader::open(part, None, &Arc::new(ReadMetrics::default()));
    let (mut arrays, mut mark) = (Vec::new(), 0);
    while mark < part.mark_count() {
        let end = reader.piece_end(mark);
        arrays.push(reader.read(0, mark..end).unwrap());
        mark = end;
    }
    arrays
}

/// Checks that the part's strings are the expected ones; returns whether they are coded.
fn check(part: &Arc<Part>, expected: &ArrayRef) -> bool {
    let arrays = read(part);
    let mut row = 0;
    for array in &arrays {
        assert_eq!(&plain(array), &expected.slice(row, array.len()), "from row {row}");
        row += array.len();
    }
    assert_eq!(row, expected.len());
    let is_coded = |array: &ArrayRef| matches!(array.data_type(), DataType::Dictionary(..));
    let coded = arrays.iter().filter(|array| is_coded(array)).count();
    assert!(coded == 0 || coded == arrays.len(), "all arrays of a part are of one kind");
    if coded > 0 {
        let values = |array: &ArrayRef| Arc::clone(array.as_dictionary::<UInt32Type>().values());
        assert!(arrays.iter().all(|array| Arc::ptr_eq(&values(array), &values(&arrays[0]))));
    }
    coded > 0
}

/// The first two pieces, as a whole and every third row.
fn read_across_pieces(part: &Arc<Part>, cache: Option<&Arc<BlockCache>>) -> [ArrayRef; 2] {
    let mut reader = PartReader::open(part, cache, &Arc::new(ReadMetrics::default()));
    let marks = 3..13;
    let selected = BooleanBuffer::collect_bool(marks.len() * GRANULE_ROWS, |row| row % 3 == 0);
    [reader.read(0, marks.clone()).unwrap(), reader.read_rows(0, marks, &selected).unwrap()]
}

#[test]
fn arrays_over_several_pieces_share_the_dictionary() {
    let parts = table(&SqlType::String.into_nullable(), &[nullable(few(70_000, 500, 11))]);
    let part = &parts.snapshot()[0];
    let cache = Arc::new(BlockCache::new(64 << 20));
    let piece = PartReader::open(part, Some(&cache), &Arc::default()).read(0, 0..8).unwrap();
    let values = |array: &ArrayRef| Arc::clone(array.as_dictionary::<UInt32Type>().values());
    for cache in [None, Some(&cache)] {
        for array in read_across_pieces(part, cache) {
            assert!(Arc::ptr_eq(&values(&array), &values(&piece)));
        }
    }
}

fn few(rows: usize, kinds: u64, seed: u64) -> Vec<Option<Vec<u8>>> {
    let mut noise = Noise(seed);
    let string =
        |kind: u64| format!("https://example.org/{kind}").into_bytes()[..(kind as usize % 23)].to_vec();
    (0..rows).map(|_| Some(noise.below(kinds)).filter(|kind| kind % 5 > 0).map(string)).collect()
}

fn many(rows: usize, seed: u64) -> Vec<Option<Vec<u8>>> {
    let mut noise = Noise(seed);
    (0..rows).map(|_| Some(format!("{:x}", noise.next()).into_bytes())).collect()
}

fn nullable(strings: Vec<Option<Vec<u8>>>) -> ArrayRef {
    Arc::new(BinaryViewArray::from_iter(strings))
}

fn full(strings: Vec<Option<Vec<u8>>>) -> ArrayRef {
    Arc::new(BinaryViewArray::from_iter_values(strings.into_iter().map(Option::unwrap_or_default)))
}

#[test]
fn few_distinct_strings_are_codes_over_one_dictionary() {
    for (rows, kinds) in [(300, 90), (70_000, 300), (200_000, 40_000)] {
        let strings = full(few(rows, kinds, 1));
        assert!(check(&table(&SqlType::String, &[Arc::clone(&strings)]).snapshot()[0], &strings));
        let strings = nullable(few(rows, kinds, 2));
        let ty = SqlType::String.into_nullable();
        assert!(check(&table(&ty, &[Arc::clone(&strings)]).snapshot()[0], &strings));
    }
}

#[test]
fn many_distinct_strings_are_plain_unless_the_type_asks_for_codes() {
    for rows in [7, 3000, 100_000] {
        let strings = full(many(rows, 3));
        let is_coded = |ty: &SqlType| check(&table(ty, &[Arc::clone(&strings)]).snapshot()[0], &strings);
        assert!(!is_coded(&SqlType::String));
        assert!(is_coded(&low_cardinality(SqlType::String)));
        assert!(is_coded(&low_cardinality(SqlType::String.into_nullable())));
    }
}

#[test]
fn strings_that_become_many_are_plain_arrays_throughout() {
    let strings = [few(80_000, 50, 4), many(300_000, 5)].concat();
    let array = full(strings.clone());
    assert!(!check(&table(&SqlType::String, &[Arc::clone(&array)]).snapshot()[0], &array));
    let array = nullable(strings);
    let ty = SqlType::String.into_nullable();
    assert!(!check(&table(&ty, &[Arc::clone(&array)]).snapshot()[0], &array));
}

#[test]
fn strings_too_long_for_a_dictionary_are_plain() {
    let long = |seed: u8| Some(vec![seed; 30 << 20]);
    let strings = vec![long(1), None, long(2), Some(b"a".to_vec()), None, long(3), long(1), long(2)];
    for (inner, array) in
        [(SqlType::String, full(strings.clone())), (SqlType::String.into_nullable(), nullable(strings))]
    {
        assert!(!check(&table(&low_cardinality(inner), &[Arc::clone(&array)]).snapshot()[0], &array));
    }
}

#[test]
fn nulls_alone_are_codes_too() {
    let array = nullable(vec![None; 5000]);
    check(&table(&SqlType::String.into_nullable(), &[Arc::clone(&array)]).snapshot()[0], &array);
}

#[test]
fn merge_of_coded_and_plain_parts_keeps_all_strings() {
    let inputs = [few(5000, 40, 6), many(3000, 7), few(9000, 60, 8)];
    let arrays: Vec<_> = inputs.iter().cloned().map(nullable).collect();
    let parts = table(&SqlType::String.into_nullable(), &arrays);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert!(check(&parts.snapshot()[0], &nullable(inputs.concat())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_mixture_comes_back(runs in prop::collection::vec((0..30_000_usize, 0..3_u8), 1..8)) {
        let mut strings = Vec::new();
        for (seed, (rows, kind)) in runs.into_iter().enumerate() {
            strings.extend(match kind {
                0 => few(rows, 3, seed as u64),
                1 => few(rows, 5000, seed as u64),
                _ => many(rows, seed as u64),
            });
        }
        if !strings.is_empty() {
            let array = nullable(strings);
            check(&table(&SqlType::String.into_nullable(), &[Arc::clone(&array)]).snapshot()[0], &array);
        }
    }
}
