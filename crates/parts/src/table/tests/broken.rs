//! Damaged parts and records: how many are tolerated, and how they are reported.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use basalt_base::fs::Storage;
use basalt_base::{Column, Columns, ErrorCode, SqlType};

use super::mutations::{DeleteThirds, run};
use super::{DIR, TestTable, compact_spec, number_spec, numbers, open, read_numbers};
use crate::limits::BrokenLimits;
use crate::part::meta::META_FILE;
use crate::spec::PartSpec;
use crate::table::PartSelection;

#[test]
fn table_with_too_many_broken_parts_stays_closed_as_it_is() {
    let table = TestTable::new();
    (0..3).for_each(|insert| drop(table.parts.insert(numbers(insert * 10..insert * 10 + 10)).unwrap()));
    drop(table.parts);
    for part in ["all_1_1_0", "all_2_2_0"] {
        table.storage.damage(&Path::new(DIR).join(part).join(META_FILE), |bytes| bytes[20] ^= 1);
    }
    let limited =
        |parts_max, bytes_max| PartSpec { broken: BrokenLimits { parts_max, bytes_max }, ..number_spec() };
    for spec in [limited(1, 1 << 30), limited(100, 10)] {
        let Err(error) = open(&table.storage, spec) else { panic!("too much is broken") };
        let error = basalt_base::Error::from(error);
        assert_eq!(error.code(), ErrorCode::TooManyUnexpectedDataParts);
        assert!(error.message().starts_with("2 parts with "), "{error}");
        assert!(!table.storage.exists(&Path::new(DIR).join("detached")).unwrap());
    }
    let parts = open(&table.storage, limited(2, 1 << 30)).unwrap();
    assert_eq!((read_numbers(&parts).unwrap(), parts.detached().len()), ((20..30).collect(), 2));
}

#[test]
fn record_of_a_finished_mutation_closes_nothing() {
    let table = TestTable::new();
    table.parts.insert(numbers(0..10)).unwrap();
    let version = table.parts.begin_mutation("DELETE WHERE n % 3 = 0").unwrap();
    let record = Path::new(DIR).join(format!("mutation_{version}.txt"));
    let TestTable { storage, parts } = table;
    drop(parts);
    let waiting = storage.copy();
    waiting.damage(&record, |bytes| bytes[70] ^= 1);
    let Err(error) = open(&waiting, number_spec()) else { panic!("a part waits for it") };
    let error = error.to_string();
    assert!(
        error.contains(&format!("mutation_{version}.txt")) && error.contains("remove the file"),
        "{error}"
    );

    let parts = open(&storage, number_spec()).unwrap();
    run(&parts, &DeleteThirds { is_light: false }).unwrap();
    let expected = read_numbers(&parts).unwrap();
    drop(parts);
    storage.damage(&record, |bytes| bytes[70] ^= 1);
    let parts = open(&storage, number_spec()).unwrap();
    assert_eq!(read_numbers(&parts).unwrap(), expected);
    assert_eq!(parts.detached()[0].name, format!("mutation_{version}.txt"));
    assert!(parts.begin_mutation("DELETE WHERE n % 3 = 1").unwrap() > version);
}

#[test]
fn check_finds_the_damage_of_each_part() {
    for spec in [number_spec(), compact_spec()] {
        let table = TestTable::with_spec(spec.clone());
        (0..3).for_each(|insert| drop(table.parts.insert(numbers(insert * 10..insert * 10 + 10)).unwrap()));
        let file = if spec.wide_bytes_min == 0 { "n.col" } else { "data.bin" };
        table.storage.damage(&Path::new(DIR).join("all_2_2_0").join(file), |bytes| bytes[9] ^= 4);
        table.storage.damage(&Path::new(DIR).join("all_3_3_0").join(META_FILE), |bytes| bytes[20] ^= 1);
        let check = |which: &PartSelection| table.parts.check_parts(which, || Ok::<(), crate::Error>(()));
        let checked = check(&PartSelection::All).unwrap();
        let damages: Vec<bool> = checked.iter().map(|(_, damage)| damage.is_some()).collect();
        assert_eq!(damages, [false, true, true], "{checked:?}");
        assert!(checked[1].1.as_ref().is_some_and(|damage| damage.contains(file)), "{checked:?}");
        assert_eq!(check(&PartSelection::Part("all_1_1_0".to_owned())).unwrap().len(), 1);
        check(&PartSelection::Part("all_9_9_0".to_owned())).unwrap_err();
    }
}

/// A process may open a thousand files, and a table may have as many columns.
#[test]
fn merge_of_many_columns_opens_few_files() {
    let columns = (0..300).map(|number| Column::new(format!("c{number}"), SqlType::UInt64));
    let columns: Columns = columns.collect();
    for (wide_bytes_min, files) in [(0, 64), (u64::MAX, 16)] {
        let spec = PartSpec { columns: columns.clone(), wide_bytes_min, ..wide_table(&columns) };
        let table = TestTable::with_spec(spec.clone());
        for insert in 0..3 {
            let values: ArrayRef = Arc::new(UInt64Array::from_iter_values(insert * 10..insert * 10 + 10));
            let values = vec![values; columns.len()];
            table.parts.insert(RecordBatch::try_new(spec.schema(), values).unwrap()).unwrap();
        }
        table.storage.set_open_files_max(Some(files));
        table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        assert_eq!(read_numbers(&table.parts).unwrap(), (0..30).collect::<Vec<_>>());
    }
}

fn wide_table(columns: &Columns) -> PartSpec {
    PartSpec {
        sort_key: number_spec().sort_key,
        primary_key_len: 1,
        granule_rows: 4,
        ..PartSpec::new(columns.clone())
    }
}
