//! Tests of tables of parts, on in-memory disks that may fail.

mod alters;
mod blocks;
mod broken;
mod column_wise;
mod compact;
mod compat;
mod crash;
mod damage;
mod events;
mod faults;
mod final_layers;
mod granules;
mod model;
mod modes;
mod mutations;
mod partition_commands;
mod partitions;
mod pieces;
mod read;
mod size;
mod skip_indexes;
mod strings;
mod ttl;
mod vertical;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::clock::ManualClock;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};

use super::{DiskSpace, TableParts, WorkControl};
use crate::error::Result;
use crate::history::{ColumnHistory, NameChange};
use crate::key::element::KeyElement;
use crate::key::prune::MarkRanges;
use crate::metrics::ReadMetrics;
use crate::part::scan::PartScan;
use crate::spec::PartSpec;

pub(super) const DIR: &str = "/store/table";

/// A table `n UInt64` sorted by `n`, in granules of four rows, on an in-memory disk.
pub(super) struct TestTable {
    pub(super) storage: FaultyStorage,
    pub(super) parts: TableParts,
}

impl TestTable {
    pub(super) fn new() -> TestTable {
        TestTable::with_spec(number_spec())
    }

    pub(super) fn with_spec(spec: PartSpec) -> TestTable {
        let storage = FaultyStorage::new();
        let parts = open(&storage, spec).unwrap();
        TestTable { storage, parts }
    }

    pub(super) fn reopen(self) -> TestTable {
        let limits = self.parts.spec();
        let spec = PartSpec {
            wide_bytes_min: limits.wide_bytes_min,
            history: limits.history.clone(),
            ..number_spec()
        };
        drop(self.parts);
        let parts = open(&self.storage, spec).unwrap();
        TestTable { storage: self.storage, parts }
    }
}

pub(super) fn open(storage: &FaultyStorage, spec: PartSpec) -> Result<TableParts> {
    let clock = Arc::new(ManualClock::at(1_000_000));
    TableParts::open_with_clock(Arc::new(storage.clone()), clock, PathBuf::from(DIR), spec)
}

pub(super) fn number_spec() -> PartSpec {
    let columns = Columns::new(vec![Column::new("n", SqlType::UInt64)]);
    PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min: 0,
        ..PartSpec::new(columns)
    }
}

/// The same with compact parts.
pub(super) fn compact_spec() -> PartSpec {
    PartSpec { wide_bytes_min: u64::MAX, ..number_spec() }
}

pub(super) fn numbers(range: Range<u64>) -> RecordBatch {
    batch_of(range.collect())
}

pub(super) fn batch_of(values: Vec<u64>) -> RecordBatch {
    RecordBatch::try_new(number_spec().schema(), vec![Arc::new(UInt64Array::from(values))]).unwrap()
}

/// The first column of all parts, part by part.
pub(super) fn read_numbers(parts: &TableParts) -> Result<Vec<u64>> {
    let mut values = Vec::new();
    for part in parts.snapshot().iter() {
        let marks = MarkRanges::all(part.mark_count());
        for batch in PartScan::new(Arc::clone(part), vec![0], marks, 100, Arc::new(ReadMetrics::default())) {
            values.extend(batch?.column(0).as_primitive::<UInt64Type>().values());
        }
    }
    Ok(values)
}

pub(super) fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

/// Adds a column at `position`.
pub(super) fn with_column(parts: &TableParts, column: Column, position: usize) {
    let mut spec = PartSpec::clone(&parts.spec());
    let mut columns = spec.columns.to_vec();
    columns.insert(position, column);
    spec.columns = Columns::new(columns);
    spec.codecs.insert(position, Default::default());
    spec.fills.insert(position, None);
    spec.sort_key = vec![KeyElement::column(usize::from(position == 0))];
    parts.change_spec(spec).unwrap();
}

/// Drops a column outside the key.
pub(super) fn without_column(parts: &TableParts, name: &str) {
    let mut spec = PartSpec::clone(&parts.spec());
    let position = spec.columns.position(name).unwrap();
    let mut columns = spec.columns.to_vec();
    columns.remove(position);
    spec.columns = Columns::new(columns);
    spec.codecs.remove(position);
    spec.fills.remove(position);
    spec.history = dropped(&spec, name);
    parts.change_spec(spec).unwrap();
}

fn dropped(spec: &PartSpec, name: &str) -> ColumnHistory {
    let mut changes = spec.history.changes().to_vec();
    changes.push(NameChange::Dropped { name: name.to_owned() });
    ColumnHistory::new(0, changes)
}

/// The directories and files below `dir`.
pub(super) fn files(storage: &dyn Storage, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in storage.list(dir).unwrap() {
        let path = dir.join(entry.name);
        if entry.is_dir { found.extend(files(storage, &path)) } else { found.push(path) }
    }
    found
}

#[test]
fn snapshot_outlives_merge_and_truncate() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    let snapshot = table.parts.snapshot();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    table.parts.truncate().unwrap();
    assert_eq!(read_numbers(&table.parts).unwrap(), Vec::<u64>::new());
    let read = snapshot[1].read(&[0], 0..3, &Arc::default()).unwrap();
    assert_eq!(read.column(0).len(), 10);
    assert_eq!(table.parts.stats().iter().filter(|part| !part.active).count(), 2);
    drop((snapshot, read));
    assert_eq!(files(&table.storage, Path::new(DIR)), Vec::<PathBuf>::new());
}

#[test]
fn added_column_has_its_default_and_dropped_column_is_gone() {
    check_add_and_drop(number_spec());
    check_add_and_drop(compact_spec());
}

fn check_add_and_drop(spec: PartSpec) {
    let mut table = TestTable::with_spec(spec);
    table.parts.insert(numbers(0..10)).unwrap();
    let added = || Column::new("s", SqlType::String);
    with_column(&table.parts, added(), 1);
    let schema = table.parts.spec().schema();
    let words: Arc<dyn Array> = Arc::new(arrow::array::BinaryViewArray::from_iter_values([b"x"]));
    let row = RecordBatch::try_new(schema, vec![Arc::new(UInt64Array::from(vec![99])), words]).unwrap();
    table.parts.insert(row).unwrap();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    let read = table.parts.snapshot()[0].read(&[1, 0], 0..3, &Arc::default()).unwrap();
    let words = read.column(0).as_binary_view();
    assert_eq!((words.value(0), words.value(10)), (&b""[..], &b"x"[..]));

    without_column(&table.parts, "s");
    with_column(&table.parts, added(), 0);
    let read = table.parts.snapshot()[0].read(&[0], 0..3, &Arc::default()).unwrap();
    assert_eq!(read.column(0).as_binary_view().value(10), b"", "the old column does not come back");
    drop(read);
    table = table.reopen();
    assert_eq!(read_numbers(&table.parts).unwrap().len(), 11);
    assert!(files(&table.storage, Path::new(DIR)).iter().all(|path| !path.ends_with("s.col")));
}

#[test]
fn column_that_the_table_lost_is_dropped_at_open() {
    check_lost_column(number_spec());
    check_lost_column(compact_spec());
}

fn check_lost_column(spec: PartSpec) {
    let table = TestTable::with_spec(spec.clone());
    with_column(&table.parts, Column::new("s", SqlType::UInt8), 1);
    let columns: Vec<Arc<dyn Array>> =
        vec![Arc::new(UInt64Array::from(vec![1])), Arc::new(arrow::array::UInt8Array::from(vec![2]))];
    table.parts.insert(RecordBatch::try_new(table.parts.spec().schema(), columns).unwrap()).unwrap();
    // The definition was written before the crash.
    let history = dropped(&table.parts.spec(), "s");
    let TestTable { storage, parts } = table;
    drop(parts);
    let parts = open(&storage, PartSpec { history, ..spec.clone() }).unwrap();
    let table = TestTable { storage, parts };
    assert_eq!(read_numbers(&table.parts).unwrap(), [1]);
    assert!(files(&table.storage, Path::new(DIR)).iter().all(|path| !path.ends_with("s.col")));
}

#[test]
fn full_disk_refuses_the_insert_and_keeps_the_table() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.storage.set_space_left(Some(20));
    let error = basalt_base::Error::from(table.parts.insert(numbers(10..20)).unwrap_err());
    assert_eq!(error.code(), basalt_base::ErrorCode::NotEnoughSpace);
    table.storage.set_space_left(None);
    table.parts.insert(numbers(20..30)).unwrap();
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..10).chain(20..30).collect::<Vec<_>>());
}

#[test]
fn full_disk_ends_a_merge_and_keeps_the_parts() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    table.storage.set_space_left(Some(20));
    let error = table.parts.optimize_final(&Default::default(), &Default::default()).unwrap_err();
    assert!(error.to_string().contains("/store/table/tmp/"), "{error}");
    let error = basalt_base::Error::from(error);
    assert_eq!(error.code(), basalt_base::ErrorCode::NotEnoughSpace);
    table.storage.set_space_left(None);
    assert_eq!(table.parts.snapshot().len(), 2);
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..20).collect::<Vec<_>>());
}

#[test]
fn merge_without_room_is_refused_before_it_writes() {
    let table = TestTable::new();
    table.parts.share_space(&DiskSpace::default());
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    let bytes: u64 = table.parts.snapshot().iter().map(|part| part.bytes_on_disk()).sum();
    table.storage.set_space_left(Some(bytes as usize));
    let error = table.parts.optimize_final(&Default::default(), &Default::default()).unwrap_err();
    let text = format!("{DIR} has room for {bytes} bytes, a merge or mutation needs {}", bytes + bytes / 10);
    assert!(error.to_string().starts_with(&text), "{error}");
    assert_eq!(basalt_base::Error::from(error).code(), basalt_base::ErrorCode::NotEnoughSpace);
    assert!(table.parts.select_merge(table.parts.mergeable_bytes().unwrap().unwrap()).is_none());
    table.storage.set_space_left(Some(bytes as usize * 2));
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..20).collect::<Vec<_>>());
    assert_eq!(table.parts.mergeable_bytes().unwrap().map(|bytes| bytes > 0), Some(true));
}

#[test]
fn cancelled_merge_changes_nothing() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(5..15)).unwrap();
    let control = WorkControl::default();
    control.cancel();
    assert!(table.parts.optimize_final(&Default::default(), &control).is_err());
    assert_eq!(table.parts.snapshot().len(), 2);
}
