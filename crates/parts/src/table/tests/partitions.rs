//! Partitions, computed keys and INSERTs of many blocks.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::fs::{Crash, FaultyStorage};
use basalt_base::{Column, Columns, SqlType};

use super::{TestTable, batch_of, numbers, open, read_numbers, sorted};
use crate::error::{Error, Result};
use crate::index::predicate::Predicate;
use crate::key::element::KeyElement;
use crate::key::expression::{KeyExpression, Monotonic};
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::spec::PartSpec;
use crate::table::{Deduplication, InsertOptions, TableParts};

/// `n / 10`, standing in for a planned expression.
#[derive(Debug)]
struct Tens {
    columns: Vec<String>,
}

impl KeyExpression for Tens {
    fn text(&self) -> &str {
        "intDiv(n, 10)"
    }

    fn ty(&self) -> &SqlType {
        &SqlType::UInt64
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn monotonic(&self) -> Option<Monotonic> {
        Some(Monotonic::Increasing)
    }

    fn evaluate(&self, columns: &[ArrayRef], _rows: usize) -> basalt_base::Result<ArrayRef> {
        let values = columns[0].as_primitive::<UInt64Type>();
        Ok(Arc::new(values.iter().map(|value| value.map(|value| value / 10)).collect::<UInt64Array>()))
    }
}

fn tens() -> KeyElement {
    KeyElement::expression(Arc::new(Tens { columns: vec!["n".to_owned()] }))
}

/// Partitioned by tens, in descending order inside.
pub(super) fn spec() -> PartSpec {
    let columns = Columns::new(vec![Column::new("n", SqlType::UInt64)]);
    let descending = KeyElement { descending: true, ..KeyElement::column(0) };
    PartSpec {
        partition_key: vec![tens()],
        sort_key: vec![tens(), descending],
        primary_key_len: 2,
        granule_rows: 4,
        ..PartSpec::new(columns)
    }
}

fn names(parts: &TableParts) -> Vec<String> {
    parts.snapshot().iter().map(|part| part.name().to_string()).collect()
}

fn values_where(parts: &TableParts, ranges: &KeyRanges) -> (usize, Vec<u64>) {
    let (mut marks_read, mut values) = (0, Vec::new());
    for part in parts.snapshot().iter() {
        let marks =
            part.prune(&[KeyCondition { column: 0, ranges: ranges.clone() }], &Predicate::Any).unwrap();
        marks_read += marks.selected();
        for range in marks.ranges {
            let read = part.read(&[0], range, &Default::default()).unwrap();
            values.extend(read.column(0).as_primitive::<UInt64Type>().values());
        }
    }
    (marks_read, values)
}

#[test]
fn block_is_split_by_partition_and_merges_stay_inside() {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    parts.insert(numbers(0..30)).unwrap();
    parts.insert(numbers(20..40)).unwrap();
    assert_eq!(names(&parts), ["0_1_1_0", "1_2_2_0", "2_3_3_0", "2_4_4_0", "3_5_5_0"]);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(names(&parts), ["0_1_1_0", "1_2_2_0", "2_3_4_1", "3_5_5_0"]);
    drop(parts);
    let parts = open(&storage, spec()).unwrap();
    assert_eq!(read_numbers(&parts).unwrap()[..10], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], "descending");
    let merged = &parts.snapshot()[2];
    assert_eq!(merged.partition().unwrap().id().unwrap(), "2");
    assert_eq!(
        merged.stats(true).partition_bounds[0].values.as_primitive::<UInt64Type>().values(),
        &[20, 29]
    );
}

#[test]
fn condition_on_a_column_prunes_partitions_and_computed_keys() {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    parts.insert(numbers(0..100)).unwrap();
    let array = |value: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![value])) };
    let (marks, values) = values_where(&parts, &KeyRanges::points(&array(57)).unwrap());
    assert_eq!((marks, values.contains(&57)), (1, true), "{values:?}");
    let (low, high) = (array(38), array(42));
    let range = KeyRanges::between(std::ops::Bound::Included(&low), std::ops::Bound::Excluded(&high));
    let (marks, values) = values_where(&parts, &range.unwrap());
    assert!((38..42).all(|value| values.contains(&value)), "{values:?}");
    assert!(marks <= 3, "{marks} of 30 marks");
}

#[test]
fn too_many_partitions_in_a_block_are_refused() {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    let options = InsertOptions { partitions_max: 3, ..InsertOptions::default() };
    let mut insert = parts.begin_insert(options.clone()).unwrap();
    insert.write(numbers(0..30)).unwrap();
    let error = insert.write(numbers(0..31)).unwrap_err();
    assert!(matches!(error, Error::TooManyPartitions { most: 3 }), "{error}");
    drop(insert);
    assert!(names(&parts).is_empty(), "a failed INSERT leaves nothing");
}

#[test]
fn nothing_of_an_insert_is_seen_before_its_commit() {
    let table = TestTable::new();
    let mut insert = table.parts.begin_insert(InsertOptions::default()).unwrap();
    for block in 0..5 {
        insert.write(numbers(block * 10..block * 10 + 10)).unwrap();
    }
    assert_eq!(table.parts.row_count(), 0);
    insert.commit().unwrap();
    assert_eq!(sorted(read_numbers(&table.parts).unwrap()), (0..50).collect::<Vec<_>>());
    let mut dropped = table.parts.begin_insert(InsertOptions::default()).unwrap();
    dropped.write(numbers(0..10)).unwrap();
    drop(dropped);
    assert_eq!(table.reopen().parts.row_count(), 50);
}

#[test]
fn insert_of_many_blocks_makes_few_parts() {
    let table = TestTable::new();
    let mut insert = table.parts.begin_insert(InsertOptions::default()).unwrap();
    for value in 0..600 {
        insert.write(batch_of(vec![value])).unwrap();
    }
    insert.commit().unwrap();
    assert_eq!(sorted(read_numbers(&table.parts).unwrap()), (0..600).collect::<Vec<_>>());
    assert!(table.parts.snapshot().len() < 32, "{} parts", table.parts.snapshot().len());
}

fn remembered(token: &str, window: usize) -> InsertOptions {
    let deduplication = Some(Deduplication { window, token: token.to_owned() });
    InsertOptions { deduplication, ..InsertOptions::default() }
}

fn insert_all(parts: &TableParts, options: &InsertOptions, blocks: &[(u64, u64)]) -> Result<()> {
    let mut insert = parts.begin_insert(options.clone())?;
    blocks.iter().try_for_each(|&(start, end)| insert.write(numbers(start..end)))?;
    insert.commit().map(|_| ())
}

#[test]
fn repeated_insert_adds_nothing_even_after_reopening() {
    let mut table = TestTable::new();
    let options = remembered("", 4);
    for _ in 0..3 {
        insert_all(&table.parts, &options, &[(0, 10), (10, 20)]).unwrap();
        table = table.reopen();
    }
    assert_eq!(table.parts.row_count(), 20);
    // The same rows under different tokens are different INSERTs; the same token is the same INSERT.
    insert_all(&table.parts, &remembered("a", 4), &[(0, 10)]).unwrap();
    insert_all(&table.parts, &remembered("a", 4), &[(50, 60)]).unwrap();
    assert_eq!(table.parts.row_count(), 30);
    // Removed rows can be inserted again.
    table.parts.truncate().unwrap();
    insert_all(&table.parts, &options, &[(0, 10), (10, 20)]).unwrap();
    assert_eq!(table.parts.row_count(), 20);
}

/// At every sync of an INSERT of several blocks: all of its rows or none. Repeated after the crash, it is there
/// once.
#[test]
fn insert_of_many_blocks_is_whole_or_absent_after_a_crash_at_every_sync() {
    let blocks = [(0, 15), (15, 37)];
    for options in [InsertOptions::default(), remembered("", 10)] {
        let dry = FaultyStorage::new();
        let parts = open(&dry, spec()).unwrap();
        let before = dry.sync_count();
        insert_all(&parts, &options, &blocks).unwrap();
        let syncs = dry.sync_count() - before;
        assert!(syncs > 6, "{syncs} syncs");
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            for sync in 0..=syncs {
                check_crash(&options, &blocks, crash, sync);
            }
        }
    }
}

fn check_crash(options: &InsertOptions, blocks: &[(u64, u64)], crash: Crash, sync: u64) {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    parts.insert(numbers(100..103)).unwrap();
    storage.stop_at_sync(storage.sync_count() + sync);
    let acknowledged = insert_all(&parts, options, blocks).is_ok();
    drop(parts);
    storage.crash(crash);
    let mut parts = open(&storage, spec()).unwrap();
    assert!(parts.detached().is_empty(), "{crash:?} at {sync}: {:?}", parts.detached());
    for _ in 0..2 {
        let found = sorted(read_numbers(&parts).unwrap());
        let none: Vec<u64> = (100..103).collect();
        let all: Vec<u64> = (0..37).chain(100..103).collect();
        assert!(found == all || (found == none && !acknowledged), "{crash:?} at {sync}: {found:?}");
        // A second crash right after recovery changes nothing.
        drop(parts);
        storage.crash(crash);
        parts = open(&storage, spec()).unwrap();
    }
    if options.deduplication.is_some() {
        insert_all(&parts, options, blocks).unwrap();
        assert_eq!(parts.row_count(), 40, "{crash:?} at {sync}");
    }
}

#[test]
fn full_disk_while_several_parts_are_published_changes_nothing() {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    let mut insert = parts.begin_insert(InsertOptions::default()).unwrap();
    insert.write(numbers(0..30)).unwrap();
    storage.set_space_left(Some(5));
    insert.commit().unwrap_err();
    storage.set_space_left(None);
    assert_eq!(parts.row_count(), 0);
    parts.insert(numbers(0..30)).unwrap();
    assert_eq!(parts.row_count(), 30);
}
