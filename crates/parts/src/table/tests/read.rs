//! Round trips of every type, through blocks, granules, scans and merges.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use arrow::compute::concat_batches;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use basalt_codec::{CodecChain, CodecSpec};
use proptest::prelude::*;

use super::{TestTable, batch_of, numbers, open};
use crate::index::predicate::Predicate;
use crate::key::element::KeyElement;
use crate::key::prune::MarkRanges;
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::metrics::ReadMetrics;
use crate::part::scan::PartScan;
use crate::sample;
use crate::spec::PartSpec;

fn storage() -> FaultyStorage {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    storage
}

fn chains() -> [CodecChain; 4] {
    let delta = CodecSpec::Delta { width: 0 };
    let double_delta = CodecSpec::DoubleDelta { width: 0 };
    [
        CodecChain::default(),
        CodecChain::from(CodecSpec::None),
        CodecChain::new(vec![delta, CodecSpec::Zstd { level: 1 }]),
        CodecChain::new(vec![double_delta, CodecSpec::Lz4hc { level: 0 }]),
    ]
}

/// Writes and reads back: as a whole, granule by granule, and as a scan.
fn check(columns: Columns, chain: CodecChain, granule_rows: usize, rows: usize, seed: u64) {
    let storage = storage();
    let wide_bytes_min = if seed.is_multiple_of(2) { 0 } else { u64::MAX };
    let codecs = vec![chain; columns.len()];
    let spec = PartSpec { codecs, granule_rows, wide_bytes_min, ..PartSpec::new(columns) };
    let batch = sample::batch(&spec.columns, rows, seed);
    let parts = open(&storage, spec.clone()).unwrap();
    parts.insert(batch.clone()).unwrap();
    let part = Arc::clone(&parts.snapshot()[0]);
    let all: Vec<usize> = (0..spec.columns.len()).collect();
    let metrics = Arc::new(ReadMetrics::default());
    assert_eq!(part.read(&all, 0..part.mark_count(), &metrics).unwrap(), batch);
    for mark in 0..part.mark_count() {
        let read = part.read(&all, mark..mark + 1, &metrics).unwrap();
        let rows = part.mark_rows(&(mark..mark + 1));
        assert_eq!(read, batch.slice(rows.start as usize, (rows.end - rows.start) as usize), "mark {mark}");
    }
    let marks = MarkRanges::all(part.mark_count());
    let scanned: Vec<RecordBatch> =
        PartScan::new(part, all, marks, 7, metrics).collect::<Result<_, _>>().unwrap();
    assert!(scanned.iter().all(|batch| (1..=7).contains(&batch.num_rows())));
    assert_eq!(concat_batches(&batch.schema(), &scanned).unwrap(), batch);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_type_round_trips(
        chain in 0..4_usize, granule_rows in 1..40_usize, rows in 1..200_usize, seed in any::<u64>(),
    ) {
        check(sample::all_columns(), chains()[chain].clone(), granule_rows, rows, seed);
    }
}

#[test]
fn blocks_of_several_granules_round_trip() {
    let columns = Columns::new(vec![
        Column::new("narrow", SqlType::UInt8),
        Column::new("wide", SqlType::UInt64.into_nullable()),
        Column::new("text", SqlType::String),
    ]);
    check(columns, CodecChain::default(), 8192, 100_000, 5);
}

#[test]
fn insert_sorts_and_a_merge_keeps_the_order_of_equal_keys() {
    let storage = storage();
    let columns: Columns =
        [Column::new("k", SqlType::String.into_nullable()), Column::new("order", SqlType::UInt64)]
            .into_iter()
            .collect();
    let spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 8,
        ..PartSpec::new(columns)
    };
    let parts = open(&storage, spec.clone()).unwrap();
    let mut inserted = Vec::new();
    for seed in 0..5 {
        let batch = sample::batch(&spec.columns, 50, seed);
        parts.insert(batch.clone()).unwrap();
        inserted.push(batch);
    }
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    let all = concat_batches(&spec.schema(), &inserted).unwrap();
    let expected = crate::table::sort::sort(all, &spec, 2).unwrap();
    let part = Arc::clone(&parts.snapshot()[0]);
    assert_eq!(part.read(&[0, 1], 0..part.mark_count(), &Arc::default()).unwrap(), expected);
}

#[test]
fn pruning_reads_what_the_key_and_the_bounds_allow() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..400)).unwrap();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    let points = |values: Vec<u64>| {
        let ranges = KeyRanges::points(batch_of(values).column(0)).unwrap();
        part.prune(&[KeyCondition { column: 0, ranges }], &Predicate::Any).unwrap()
    };
    assert_eq!(points(vec![201, 399]).ranges, [50..51, 99..100]);
    assert_eq!(points(vec![400]).selected(), 0);
    assert_eq!(part.prune(&[], &Predicate::Any).unwrap().selected(), 100);
    let metrics = Arc::new(ReadMetrics::default());
    part.read(&[0], 50..51, &metrics).unwrap();
    assert_eq!((metrics.snapshot().rows, metrics.snapshot().marks), (4, 1));
}

/// Zone maps of columns outside the sorting key: granules without a matching value are skipped.
#[test]
fn zone_maps_leave_out_granules_by_any_column() {
    let storage = storage();
    let columns = Columns::new(vec![
        Column::new("k", SqlType::UInt64),
        Column::new("s", SqlType::String.into_nullable()),
    ]);
    let spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        ..PartSpec::new(columns)
    };
    let parts = open(&storage, spec.clone()).unwrap();
    let words = ["a", "b", "a", "c", "x", "y", "x", "z", "m", "m", "m", "m"];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..12)),
        Arc::new(words.iter().map(|word| (*word != "z").then_some(word)).collect::<BinaryViewArray>()),
    ];
    parts.insert(RecordBatch::try_new(spec.schema(), columns).unwrap()).unwrap();
    let check = |word: Option<&str>, kept: &[usize]| {
        for part in parts.snapshot().iter() {
            let value: ArrayRef = Arc::new([word].into_iter().collect::<BinaryViewArray>());
            let ranges = KeyRanges::points(&value).unwrap();
            let marks = part.prune(&[KeyCondition { column: 1, ranges }], &Predicate::Any).unwrap();
            assert_eq!(marks.ranges.into_iter().flatten().collect::<Vec<_>>(), kept, "{word:?}");
        }
    };
    check(Some("b"), &[0]);
    check(Some("m"), &[2]);
    check(Some("y"), &[1]);
    // NULL is above every value, and unknown zones are read.
    check(None, &[1]);
    check(Some("zz"), &[1]);
    check(Some("n"), &[]);
}
