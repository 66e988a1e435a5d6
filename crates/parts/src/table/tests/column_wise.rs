//! Mutations that rewrite some columns of a wide part and link the others.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::fs::Crash;
use basalt_base::{Column, Columns, SqlType};

use super::mutations::{AddOneToSevens, DeleteThirds, run};
use super::{DIR, TestTable, number_spec, open};
use crate::error::Result;
use crate::index::kind::IndexKind;
use crate::index::predicate::{Operand, Predicate, ValueTest};
use crate::index::skip_index::{Indexed, SkipIndex};
use crate::key::prune::MarkRanges;
use crate::part::scan::PartScan;
use crate::part::view::Part;
use crate::spec::PartSpec;
use crate::table::{PartSelection, RowChange, RowsAfter, TableParts};

/// `n`, `v` with a skip index, and `w`, in a wide part of three granules; 7 in every second `v`.
fn three_columns() -> TestTable {
    let column = |name: &str| Column::new(name, SqlType::UInt64);
    let index = |name: &str, column: &str| SkipIndex {
        name: name.to_owned(),
        elements: vec![Indexed::Column(column.to_owned())],
        kind: IndexKind::MinMax,
        granularity: 1,
    };
    let columns = Columns::new(vec![column("n"), column("v"), column("w")]);
    let spec = PartSpec {
        sort_key: number_spec().sort_key,
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min: 0,
        indexes: vec![index("of_v", "v"), index("of_w", "w")],
        ..PartSpec::new(columns)
    };
    three_columns_of(spec)
}

/// The rows of [`three_columns`] in a table of `spec`.
fn three_columns_of(spec: PartSpec) -> TestTable {
    let table = TestTable::with_spec(spec);
    let numbers = |value: fn(u64) -> u64| Arc::new(UInt64Array::from_iter_values((0..10).map(value)));
    let arrays: Vec<ArrayRef> =
        vec![numbers(|n| n), numbers(|n| if n % 2 == 0 { 7 } else { n }), numbers(|n| 100 - n)];
    table.parts.insert(RecordBatch::try_new(table.parts.spec().schema(), arrays).unwrap()).unwrap();
    table
}

fn read_column(part: &Arc<Part>, column: usize) -> Result<Vec<u64>> {
    let marks = MarkRanges::all(part.mark_count());
    let mut values = Vec::new();
    for batch in PartScan::new(Arc::clone(part), vec![column], marks, 100, Arc::default()) {
        values.extend(batch?.column(0).as_primitive::<UInt64Type>().values());
    }
    Ok(values)
}

#[test]
fn update_of_a_wide_part_writes_its_columns_and_links_the_others() {
    let TestTable { storage, parts } = three_columns();
    let old = parts.snapshot();
    parts.begin_mutation("UPDATE").unwrap();
    run(&parts, &AddOneToSevens(vec!["v".to_owned()])).unwrap();
    let part = Arc::clone(&parts.snapshot()[0]);
    part.check().unwrap();
    assert_eq!(part.name().to_string(), "all_1_1_0_2");
    assert_eq!(read_column(&part, 1).unwrap(), [8, 1, 8, 3, 8, 5, 8, 7 + 1, 8, 9]);
    assert_eq!(read_column(&part, 2).unwrap(), (91..=100).rev().collect::<Vec<_>>());
    // Bounds, zone maps and skip indexes are those of the new values for rewritten columns, and unchanged for the
    // others.
    let bounds = |at: usize| {
        let (bounds, nulls) = part.exact_bounds(at).unwrap().unwrap();
        (bounds.as_primitive::<UInt64Type>().values().to_vec(), nulls)
    };
    assert_eq!((bounds(1), bounds(2)), ((vec![1, 9], 0), (vec![91, 100], 0)));
    let zones = |at: usize| {
        let zones = part.zones(at).unwrap().unwrap();
        zones.max().as_primitive::<UInt64Type>().values().to_vec()
    };
    assert_eq!((zones(1), zones(2)), (vec![8, 8, 9], vec![100, 96, 92]));
    for index in &part.spec().indexes {
        assert!(part.stored.skip_summaries(index, &part.spec().columns).unwrap().is_some());
    }
    // A linked file is the same file: damage in one place is damage in both.
    let damage = |file: &str| {
        storage.damage(&Path::new(DIR).join("all_1_1_0_2").join(file), |bytes| bytes[10] ^= 1);
    };
    let of_old =
        |column: usize| old[0].read(&[column], 0..3, &Default::default()).map(|batch| batch.num_rows());
    damage("v.col");
    assert_eq!(of_old(1).unwrap(), 10);
    damage("w.col");
    of_old(2).unwrap_err();
}

#[test]
fn update_keeps_the_mask_and_does_not_look_at_deleted_rows() {
    let table = three_columns();
    table.parts.begin_mutation("1").unwrap();
    run(&table.parts, &DeleteThirds { is_light: true }).unwrap();
    table.parts.begin_mutation("2").unwrap();
    run(&table.parts, &AddOneToSevens(vec!["v".to_owned()])).unwrap();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    assert_eq!((part.row_count(), part.live_row_count()), (10, 6));
    assert_eq!(read_column(&part, 1).unwrap(), [1, 8, 8, 5, 8, 8]);
    assert_eq!(read_column(&part, 2).unwrap(), [99, 98, 96, 95, 93, 92]);
    part.check().unwrap();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(read_column(&table.parts.snapshot()[0], 1).unwrap(), [1, 8, 8, 5, 8, 8]);
}

/// At every sync: the old values or the new ones, in whole parts.
#[test]
fn update_of_columns_survives_a_crash_at_every_sync() {
    let change = AddOneToSevens(vec!["v".to_owned()]);
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        let mut sync = 0;
        loop {
            let TestTable { storage, parts } = three_columns();
            let spec = PartSpec::clone(&parts.spec());
            storage.stop_at_sync(storage.sync_count() + sync);
            let finished = parts.begin_mutation("1").and_then(|_| run(&parts, &change)).is_ok();
            drop(parts);
            storage.crash(crash);
            let parts = open(&storage, spec).unwrap();
            assert!(parts.detached().is_empty(), "{crash:?} at sync {sync}: {:?}", parts.detached());
            let part = Arc::clone(&parts.snapshot()[0]);
            part.check().unwrap();
            let sevens = read_column(&part, 1).unwrap().iter().filter(|v| **v == 7).count();
            assert!(sevens == 6 || sevens == 0, "{crash:?} at sync {sync}: {sevens}");
            assert!(!finished || sevens == 0);
            assert_eq!(read_column(&part, 2).unwrap().len(), 10);
            if finished {
                break;
            }
            sync += 1;
        }
        assert!(sync > 4, "{sync} syncs");
    }
}

#[test]
fn full_disk_in_an_update_leaves_the_old_part_and_names_the_path() {
    let TestTable { storage, parts } = three_columns();
    let version = parts.begin_mutation("1").unwrap();
    storage.set_space_left(Some(10));
    let (part, _) = parts.select_mutation().unwrap();
    let change = AddOneToSevens(vec!["v".to_owned()]);
    let error = parts.mutate(&part, version, &change, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("/store/table/tmp/part_"), "{error}");
    assert_eq!(read_column(&parts.snapshot()[0], 1).unwrap()[0], 7);
    storage.set_space_left(None);
    run(&parts, &change).unwrap();
    assert_eq!(read_column(&parts.snapshot()[0], 1).unwrap()[0], 8);
}

/// An index over a changed and an unchanged column is rebuilt.
#[test]
fn index_of_several_columns_is_made_anew() {
    let mut spec = three_columns().parts.spec().as_ref().clone();
    spec.indexes = vec![SkipIndex {
        name: "both".to_owned(),
        elements: ["v", "w"].map(|name| Indexed::Column(name.to_owned())).to_vec(),
        kind: IndexKind::Set { values_max: 0 },
        granularity: 1,
    }];
    let table = three_columns_of(spec);
    table.parts.begin_mutation("1").unwrap();
    run(&table.parts, &AddOneToSevens(vec!["v".to_owned()])).unwrap();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    part.check().unwrap();
    let kept = |column: &str, value: u64| -> Vec<usize> {
        let test = ValueTest::Points(Arc::new(UInt64Array::from(vec![value])));
        let predicate = Predicate::Value { operand: Operand::Column(column.to_owned()), test };
        let all = MarkRanges::all(part.mark_count());
        part.prune_by_indexes(&part.spec().indexes, all, &predicate)
            .unwrap()
            .ranges
            .into_iter()
            .flatten()
            .collect()
    };
    assert_eq!((kept("v", 8), kept("v", 7), kept("v", 5)), (vec![0, 1, 2], vec![], vec![1]));
    assert_eq!((kept("w", 100), kept("w", 91)), (vec![0], vec![2]));
}

/// Builds indexes, and changes no row.
struct MakeIndexes([String; 1]);

impl RowChange for MakeIndexes {
    fn reads(&self) -> &[String] {
        &[]
    }

    fn writes(&self) -> &[String] {
        &[]
    }

    fn is_light(&self) -> bool {
        false
    }

    fn deletes_rows(&self) -> bool {
        false
    }

    fn indexes(&self) -> &[String] {
        &self.0
    }

    fn apply(&self, _: &RecordBatch) -> basalt_base::Result<RowsAfter> {
        Ok(RowsAfter { is_touched: false, keep: None, columns: Vec::new() })
    }
}

#[test]
fn index_is_made_for_parts_without_it_and_cleared_and_dropped() {
    for wide_bytes_min in [0, u64::MAX] {
        let full = three_columns().parts.spec().as_ref().clone();
        let full = PartSpec { wide_bytes_min, ..full };
        let without = PartSpec { indexes: full.indexes[1..].to_vec(), ..full.clone() };
        let TestTable { storage, parts } = three_columns_of(without.clone());
        parts.change_spec(full.clone()).unwrap();
        let has = |parts: &TableParts| {
            let part = Arc::clone(&parts.snapshot()[0]);
            part.check().unwrap();
            let indexes = part.spec().indexes.iter();
            let has = |one| part.stored.skip_summaries(one, &part.spec().columns).unwrap().is_some();
            indexes.map(has).collect::<Vec<bool>>()
        };
        assert_eq!(has(&parts), [false, true]);
        parts.begin_mutation("MATERIALIZE INDEX of_v").unwrap();
        run(&parts, &MakeIndexes(["of_v".to_owned()])).unwrap();
        assert_eq!(has(&parts), [true, true]);
        assert_eq!(read_column(&parts.snapshot()[0], 2).unwrap(), (91..=100).rev().collect::<Vec<_>>());
        parts.clear_index("of_w", &PartSelection::All).unwrap();
        assert_eq!(has(&parts), [true, false]);
        drop(parts);
        // An index that the table dropped is not in the part either, also if it is created again.
        drop(open(&storage, without).unwrap());
        let parts = open(&storage, full).unwrap();
        assert_eq!(has(&parts), [false, false]);
    }
}
