//! Mutations and lightweight deletes against a list of numbers.

use std::path::Path;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::fs::{Crash, Storage};
use std::sync::Arc;

use super::{DIR, TableParts, TestTable, files, number_spec, numbers, open, read_numbers, sorted};
use crate::error::Result;
use crate::table::{RowChange, RowsAfter, WorkControl};

/// `DELETE WHERE n % 3 = 0`, in the files or in the mask.
#[derive(Clone, Copy)]
pub(super) struct DeleteThirds {
    pub(super) is_light: bool,
}

impl RowChange for DeleteThirds {
    fn reads(&self) -> &[String] {
        static READS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| vec!["n".to_owned()]);
        &READS
    }

    fn writes(&self) -> &[String] {
        &[]
    }

    fn is_light(&self) -> bool {
        self.is_light
    }

    fn deletes_rows(&self) -> bool {
        true
    }

    fn apply(&self, rows: &RecordBatch) -> basalt_base::Result<RowsAfter> {
        let numbers = rows.column(0).as_primitive::<UInt64Type>();
        let keep = BooleanArray::from_unary(numbers, |n| n % 3 != 0);
        Ok(RowsAfter { is_touched: keep.true_count() < keep.len(), keep: Some(keep), columns: Vec::new() })
    }
}

/// `UPDATE v = v + 1 WHERE v = 7` of a table with a second column `v`.
pub(super) struct AddOneToSevens(pub(super) Vec<String>);

impl RowChange for AddOneToSevens {
    fn reads(&self) -> &[String] {
        &self.0
    }

    fn writes(&self) -> &[String] {
        &self.0
    }

    fn is_light(&self) -> bool {
        false
    }

    fn deletes_rows(&self) -> bool {
        false
    }

    fn apply(&self, rows: &RecordBatch) -> basalt_base::Result<RowsAfter> {
        let values = rows.column(0).as_primitive::<UInt64Type>();
        let is_touched = values.values().contains(&7);
        let changed: ArrayRef =
            Arc::new(UInt64Array::from_iter_values(values.values().iter().map(|v| v + u64::from(*v == 7))));
        Ok(RowsAfter { is_touched, keep: None, columns: vec![changed] })
    }
}

/// Applies all waiting mutations.
pub(super) fn run(parts: &TableParts, change: &dyn RowChange) -> Result<()> {
    while let Some((part, waiting)) = parts.select_mutation() {
        let version = waiting.last().unwrap().0;
        parts.mutate(&part, version, change, &WorkControl::default())?;
    }
    Ok(())
}

fn without_thirds(range: std::ops::Range<u64>) -> Vec<u64> {
    range.filter(|n| n % 3 != 0).collect()
}

#[test]
fn mutation_is_for_the_rows_before_it_and_survives_a_restart() {
    for is_light in [false, true] {
        let change = DeleteThirds { is_light };
        let table = TestTable::new();
        table.parts.insert(numbers(0..10)).unwrap();
        table.parts.insert(numbers(10..20)).unwrap();
        let version = table.parts.begin_mutation("DELETE WHERE n % 3 = 0").unwrap();
        table.parts.insert(numbers(20..30)).unwrap();
        let (first, waiting) = table.parts.select_mutation().unwrap();
        assert_eq!((waiting.len(), &*waiting[0].1), (1, "DELETE WHERE n % 3 = 0"));
        let name = table.parts.mutate(&first, version, &change, &Default::default()).unwrap().unwrap();
        assert_eq!(name.to_string(), "all_1_1_0_3");
        let table = table.reopen();
        assert_eq!(table.parts.mutations()[0].parts_to_do.len(), 1);
        run(&table.parts, &change).unwrap();
        assert!(table.parts.mutations()[0].is_done());
        let expected: Vec<u64> = without_thirds(0..20).into_iter().chain(20..30).collect();
        let table = table.reopen();
        assert_eq!(read_numbers(&table.parts).unwrap(), expected);
        assert_eq!(table.parts.row_count(), expected.len() as u64);
        table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        assert_eq!(read_numbers(&table.parts).unwrap(), expected);
        assert_eq!(table.parts.snapshot()[0].deleted_count(), 0, "a merge drops deleted rows");
        table.parts.insert(numbers(40..41)).unwrap();
        let next = table.parts.begin_mutation("x").unwrap();
        assert!(next > version);
    }
}

#[test]
fn light_deletes_add_up_and_readers_of_files_see_the_mask() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    let old = table.parts.snapshot();
    table.parts.begin_mutation("1").unwrap();
    run(&table.parts, &DeleteThirds { is_light: true }).unwrap();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    assert_eq!((part.row_count(), part.live_row_count()), (10, 6));
    let mask = part.deleted().unwrap().unwrap();
    assert_eq!(mask.set_indices().collect::<Vec<_>>(), [0, 3, 6, 9]);
    assert!(old[0].deleted().unwrap().is_none(), "a snapshot keeps its rows");
    let before = table.storage.list(Path::new(DIR)).unwrap().len();
    table.parts.begin_mutation("2").unwrap();
    run(&table.parts, &DeleteThirds { is_light: true }).unwrap();
    assert_eq!(table.parts.snapshot()[0].live_row_count(), 6);
    drop((old, part));
    assert!(table.storage.list(Path::new(DIR)).unwrap().len() <= before + 1);
    table.parts.snapshot()[0].check().unwrap();
}

#[test]
fn part_without_a_matching_row_is_linked() {
    let table = TestTable::new();
    table.parts.insert(numbers(1..2)).unwrap();
    table.parts.begin_mutation("1").unwrap();
    let written = table.storage.sync_count();
    run(&table.parts, &DeleteThirds { is_light: false }).unwrap();
    assert!(table.storage.sync_count() > written);
    let part = Arc::clone(&table.parts.snapshot()[0]);
    assert_eq!(part.name().to_string(), "all_1_1_0_2");
    assert_eq!(read_numbers(&table.parts).unwrap(), [1]);
}

#[test]
fn update_changes_the_rows_that_match() {
    let table = TestTable::new();
    let column = basalt_base::Column::new("v", basalt_base::SqlType::UInt64);
    super::with_column(&table.parts, column, 1);
    let columns: Vec<ArrayRef> =
        vec![Arc::new(UInt64Array::from(vec![1, 2, 3])), Arc::new(UInt64Array::from(vec![7, 8, 7]))];
    let block = RecordBatch::try_new(table.parts.spec().schema(), columns).unwrap();
    table.parts.insert(block).unwrap();
    table.parts.begin_mutation("UPDATE").unwrap();
    run(&table.parts, &AddOneToSevens(vec!["v".to_owned()])).unwrap();
    let read = table.parts.snapshot()[0].read(&[0, 1], 0..1, &Default::default()).unwrap();
    assert_eq!(read.column(0).as_primitive::<UInt64Type>().values(), &[1, 2, 3]);
    assert_eq!(read.column(1).as_primitive::<UInt64Type>().values(), &[8, 8, 8]);
}

#[test]
fn parts_of_different_mutations_are_not_merged() {
    let table = TestTable::new();
    for insert in 0..3 {
        table.parts.insert(numbers(insert * 10..insert * 10 + 10)).unwrap();
    }
    let version = table.parts.begin_mutation("1").unwrap();
    let (part, _) = table.parts.select_mutation().unwrap();
    table.parts.mutate(&part, version, &DeleteThirds { is_light: false }, &Default::default()).unwrap();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.parts.snapshot().len(), 2);
    run(&table.parts, &DeleteThirds { is_light: false }).unwrap();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.parts.snapshot().len(), 1);
    assert_eq!(read_numbers(&table.parts).unwrap(), without_thirds(0..30));
}

#[test]
fn deleting_every_row_leaves_no_part_and_killing_leaves_no_record() {
    let table = TestTable::new();
    table.parts.insert(super::batch_of(vec![3, 6])).unwrap();
    let version = table.parts.begin_mutation("1").unwrap();
    run(&table.parts, &DeleteThirds { is_light: false }).unwrap();
    assert!(table.parts.snapshot().is_empty());
    assert!(table.parts.kill_mutation(version).unwrap() && !table.parts.kill_mutation(version).unwrap());
    let table = table.reopen();
    assert!(table.parts.mutations().is_empty());
    assert_eq!(files(&table.storage, Path::new(DIR)), Vec::<std::path::PathBuf>::new());
}

/// At every sync: a row is changed exactly if the mutation was acknowledged, and after the mutation has finished
/// all old rows are changed.
#[test]
fn mutation_survives_a_crash_at_every_sync() {
    for is_light in [false, true] {
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            let mut sync = 0;
            while !check_crash(crash, sync, is_light) {
                sync += 1;
            }
            assert!(sync > 5, "{sync} syncs");
        }
    }
}

/// Whether the workload ran to its end.
fn check_crash(crash: Crash, sync: u64, is_light: bool) -> bool {
    let change = DeleteThirds { is_light };
    let TestTable { storage, parts } = TestTable::new();
    parts.insert(numbers(0..10)).unwrap();
    parts.insert(numbers(10..20)).unwrap();
    storage.stop_at_sync(storage.sync_count() + sync);
    let begun = parts.begin_mutation("1").is_ok();
    let finished = begun && run(&parts, &change).is_ok();
    drop(parts);
    storage.crash(crash);
    let parts = open(&storage, number_spec()).unwrap();
    assert!(parts.detached().is_empty(), "{crash:?} at sync {sync}: {:?}", parts.detached());
    let is_recorded = !parts.mutations().is_empty();
    assert!(is_recorded || !begun, "{crash:?} at sync {sync}: an acknowledged mutation is lost");
    run(&parts, &change).unwrap();
    let expected = if is_recorded { without_thirds(0..20) } else { (0..20).collect() };
    assert_eq!(sorted(read_numbers(&parts).unwrap()), expected, "{crash:?} at sync {sync}");
    parts.insert(numbers(20..21)).unwrap();
    assert_eq!(parts.row_count(), expected.len() as u64 + 1);
    finished
}
