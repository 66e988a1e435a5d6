//! Renames, type changes and DEFAULTs for columns of existing parts.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{Column, Columns, Error, ErrorCode, SqlType};

use super::mutations::{AddOneToSevens, run};
use super::{DIR, TestTable, files, number_spec, open};
use crate::conversion::{Conversion, Conversions, ConvertValues, FindConversion};
use crate::error::Result;
use crate::history::{ColumnHistory, NameChange};
use crate::key::expression::{KeyExpression, Monotonic};
use crate::key::prune::MarkRanges;
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::part::scan::PartScan;
use crate::spec::{Fill, PartSpec};
use crate::table::{PartSelection, RowChange, RowsAfter};

fn spec(wide_bytes_min: u64, names: &[&str], history: &[NameChange]) -> PartSpec {
    let columns = names.iter().map(|name| Column::new(*name, SqlType::UInt64)).collect::<Vec<_>>();
    PartSpec {
        wide_bytes_min,
        sort_key: number_spec().sort_key,
        primary_key_len: 1,
        granule_rows: 4,
        history: ColumnHistory::new(0, history.to_vec()),
        ..PartSpec::new(Columns::new(columns))
    }
}

fn renamed(from: &str, to: &str) -> NameChange {
    NameChange::Renamed { from: from.to_owned(), to: to.to_owned(), texts: Vec::new() }
}

fn dropped(name: &str) -> NameChange {
    NameChange::Dropped { name: name.to_owned() }
}

/// Rows `first..first + 10`: column `c` of row `n` has `n + 100 * c`.
fn insert(table: &TestTable, first: u64) {
    let spec = table.parts.spec();
    let column = |at: u64| {
        Arc::new(UInt64Array::from_iter_values((first..first + 10).map(|n| n + 100 * at))) as ArrayRef
    };
    let columns = (0..spec.columns.len() as u64).map(column).collect();
    table.parts.insert(RecordBatch::try_new(spec.schema(), columns).unwrap()).unwrap();
}

/// All values of the column, part by part.
fn values(table: &TestTable, name: &str) -> Vec<u64> {
    let mut values = Vec::new();
    for part in table.parts.snapshot().iter() {
        let column = part.spec().columns.position(name).unwrap();
        let marks = MarkRanges::all(part.mark_count());
        for batch in PartScan::new(Arc::clone(part), vec![column], marks, 100, Arc::default()) {
            values.extend(batch.unwrap().column(0).as_primitive::<UInt64Type>().values());
        }
    }
    values
}

/// Reopens the table with its current spec.
fn reopen(table: TestTable) -> TestTable {
    let spec = PartSpec::clone(&table.parts.spec());
    let TestTable { storage, parts } = table;
    drop(parts);
    let parts = open(&storage, spec).unwrap();
    TestTable { storage, parts }
}

fn merge_all(table: &TestTable) {
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
}

#[test]
fn renamed_columns_are_read_by_their_new_names_whenever_a_part_was_written() {
    for wide in [0, u64::MAX] {
        let table = TestTable::with_spec(spec(wide, &["n", "a", "b"], &[]));
        insert(&table, 0);
        let mut history = vec![renamed("a", "x")];
        table.parts.change_spec(spec(wide, &["n", "x", "b"], &history)).unwrap();
        insert(&table, 10);
        // The new column `a` is not the renamed one.
        history.extend([dropped("b"), renamed("x", "b")]);
        table.parts.change_spec(spec(wide, &["n", "b", "a"], &history)).unwrap();
        let expected: Vec<u64> = (100..120).collect();
        let check = |table: &TestTable| {
            assert_eq!(values(table, "b"), expected, "{wide}");
            assert_eq!(values(table, "a"), vec![0; 20], "{wide}");
            table.parts.snapshot().iter().for_each(|part| part.check().unwrap());
        };
        check(&table);
        let table = reopen(table);
        check(&table);
        merge_all(&table);
        check(&table);
        check(&reopen(table));
    }
}

/// A column with the former name of a renamed column gets a file of its own.
#[test]
fn update_writes_a_column_next_to_the_one_that_has_its_file() {
    let table = TestTable::with_spec(spec(0, &["n", "a"], &[]));
    insert(&table, 0);
    table.parts.change_spec(spec(0, &["n", "b", "a"], &[renamed("a", "b")])).unwrap();
    table.parts.begin_mutation("1").unwrap();
    // `a` is 0 in all rows, so the part is only linked.
    run(&table.parts, &AddOneToSevens(vec!["a".to_owned()])).unwrap();
    assert_eq!(values(&table, "b"), (100..110).collect::<Vec<_>>());
    let mut with_sevens = spec(0, &["n", "b", "a"], &[renamed("a", "b")]);
    with_sevens.fills[2] = Some(Fill::Value(Arc::new(UInt64Array::from(vec![7]))));
    table.parts.change_spec(with_sevens).unwrap();
    table.parts.begin_mutation("2").unwrap();
    run(&table.parts, &AddOneToSevens(vec!["a".to_owned()])).unwrap();
    let table = reopen(table);
    assert_eq!(values(&table, "a"), vec![8; 10]);
    assert_eq!(values(&table, "b"), (100..110).collect::<Vec<_>>());
    let names: Vec<String> = files(&table.storage, Path::new(DIR))
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .filter(|name| name.ends_with(".col"))
        .collect();
    assert_eq!(names, ["a%1.col", "a.col", "n.col"]);
}

#[test]
fn detached_part_comes_back_under_todays_names_and_a_copy_fits_its_table() {
    let table = TestTable::with_spec(spec(0, &["n", "a"], &[]));
    insert(&table, 0);
    let which = crate::PartSelection::All;
    table.parts.detach_parts(&which, None).unwrap();
    table.parts.change_spec(spec(0, &["n", "b"], &[renamed("a", "b")])).unwrap();
    table.parts.attach_parts(&which).unwrap();
    assert_eq!(values(&table, "b"), (100..110).collect::<Vec<_>>());
    // A table with a longer history reads the part as it is.
    let dir = Path::new("/store/other").to_owned();
    let history = [renamed("b", "q"), renamed("a", "b"), dropped("c")];
    let target = spec(0, &["n", "b"], &history);
    let other = crate::TableParts::open(Arc::new(table.storage.clone()), &dir, target.clone()).unwrap();
    other.attach_from(&table.parts, "all", false).unwrap();
    drop(other);
    let other = crate::TableParts::open(Arc::new(table.storage.clone()), &dir, target).unwrap();
    let other = TestTable { storage: table.storage.clone(), parts: other };
    assert_eq!(values(&other, "b"), (100..110).collect::<Vec<_>>());
}

/// Converts numbers to their digits and back; 13 fails.
#[derive(Debug)]
struct Digits;

impl FindConversion for Digits {
    fn find(&self, from: &str, to: &Column) -> basalt_base::Result<Conversion> {
        assert_eq!((from, &to.ty), ("UInt64", &SqlType::String));
        Ok(Conversion { from: SqlType::UInt64, values: Some(Arc::new(Digits)) })
    }
}

impl ConvertValues for Digits {
    fn convert(&self, values: &ArrayRef) -> basalt_base::Result<ArrayRef> {
        let numbers = values.as_primitive::<UInt64Type>().values();
        if numbers.contains(&113) {
            return Err(Error::new(ErrorCode::CannotParseText, "113 is no luck"));
        }
        let digits = numbers.iter().map(ToString::to_string);
        Ok(Arc::new(BinaryViewArray::from_iter_values(digits)))
    }
}

fn retyped(wide: u64) -> PartSpec {
    let mut spec = spec(wide, &["n", "a"], &[]);
    spec.columns = Columns::new(vec![spec.columns[0].clone(), Column::new("a", SqlType::String)]);
    spec.conversions = Conversions(Some(Arc::new(Digits)));
    spec
}

fn texts(table: &TestTable) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for part in table.parts.snapshot().iter() {
        let marks = MarkRanges::all(part.mark_count());
        for batch in PartScan::new(Arc::clone(part), vec![1], marks, 100, Arc::default()) {
            let batch = batch?;
            let column = batch.column(0).as_binary_view();
            texts.extend(column.iter().flatten().map(|text| String::from_utf8_lossy(text).into_owned()));
        }
    }
    Ok(texts)
}

#[test]
fn values_of_another_type_are_converted_until_a_merge_has_written_them() {
    for wide in [0, u64::MAX] {
        let table = TestTable::with_spec(spec(wide, &["n", "a"], &[]));
        insert(&table, 0);
        table.parts.change_spec(retyped(wide)).unwrap();
        let expected: Vec<String> = (100..110).map(|n: u64| n.to_string()).collect();
        assert_eq!(texts(&table).unwrap(), expected);
        let part = Arc::clone(&table.parts.snapshot()[0]);
        assert!(part.is_converted(1) && part.zones(1).unwrap().is_none());
        // Bounds of the old type do not apply to the new values.
        let value: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"100"]));
        let condition = KeyCondition { column: 1, ranges: KeyRanges::points(&value).unwrap() };
        assert_eq!(part.prune(&[condition], &crate::Predicate::Any).unwrap().selected(), 3);
        let table = reopen(table);
        assert_eq!(texts(&table).unwrap(), expected);
        let rows: Vec<ArrayRef> =
            vec![Arc::new(UInt64Array::from(vec![99])), Arc::new(BinaryViewArray::from_iter_values([b"x"]))];
        table.parts.insert(RecordBatch::try_new(table.parts.spec().schema(), rows).unwrap()).unwrap();
        merge_all(&table);
        assert!(!table.parts.snapshot()[0].is_converted(1));
        assert_eq!(texts(&table).unwrap().len(), 11);
        table.parts.snapshot()[0].check().unwrap();
    }
}

#[test]
fn value_that_has_no_conversion_fails_its_readers_and_nobody_else() {
    let table = TestTable::with_spec(spec(0, &["n", "a"], &[]));
    insert(&table, 10);
    table.parts.change_spec(retyped(0)).unwrap();
    assert!(texts(&table).unwrap_err().to_string().contains("113 is no luck"));
    assert_eq!(values(&table, "n"), (10..20).collect::<Vec<_>>());
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.parts.detach_damaged().unwrap(), 0, "the part is whole");
    // It still reads with the old type.
    table.parts.change_spec(spec(0, &["n", "a"], &[])).unwrap();
    assert_eq!(values(&table, "a"), (110..120).collect::<Vec<_>>());
}

/// `column + 1000`.
#[derive(Debug)]
struct Plus(Vec<String>);

impl KeyExpression for Plus {
    fn text(&self) -> &str {
        &self.0[0]
    }

    fn ty(&self) -> &SqlType {
        &SqlType::UInt64
    }

    fn columns(&self) -> &[String] {
        &self.0
    }

    fn monotonic(&self) -> Option<Monotonic> {
        None
    }

    fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> basalt_base::Result<ArrayRef> {
        let numbers = columns[0].as_primitive::<UInt64Type>();
        assert_eq!(numbers.len(), rows);
        Ok(Arc::new(UInt64Array::from_iter_values(numbers.values().iter().map(|n| n + 1000))))
    }
}

fn computed(wide: u64, from: &[(usize, &str)], names: &[&str]) -> PartSpec {
    let mut spec = spec(wide, names, &[]);
    for (at, name) in from {
        spec.fills[*at] = Some(Fill::Computed(Arc::new(Plus(vec![(*name).to_owned()]))));
    }
    spec
}

#[test]
fn added_column_is_computed_from_others_and_stored_by_a_merge() {
    for wide in [0, u64::MAX] {
        let table = TestTable::with_spec(spec(wide, &["n", "a"], &[]));
        insert(&table, 0);
        let names = ["n", "a", "c", "d"];
        table.parts.change_spec(computed(wide, &[(2, "d"), (3, "a")], &names)).unwrap();
        assert_eq!(values(&table, "c"), (2100..2110).collect::<Vec<_>>());
        let part = Arc::clone(&table.parts.snapshot()[0]);
        let mut reader = crate::PartReader::open(&part, None, &Arc::default());
        let even = (0..10).map(|row| row % 2 == 0).collect();
        let some = reader.read_rows(2, 0..3, &even).unwrap();
        assert_eq!(some.as_primitive::<UInt64Type>().values(), &[2100, 2102, 2104, 2106, 2108]);
        // A mutation of its input changes it; it is not stored.
        let mut sevens = computed(wide, &[(2, "a")], &["n", "a", "c"]);
        sevens.fills[1] = None;
        table.parts.change_spec(sevens).unwrap();
        insert(&table, 10);
        merge_all(&table);
        assert!(table.parts.snapshot()[0].has_column(2));
        let expected: Vec<u64> = (1100..1110).chain(210..220).collect();
        assert_eq!(values(&table, "c"), expected);
    }
}

#[test]
fn columns_that_are_computed_from_each_other_are_an_error() {
    let table = TestTable::with_spec(spec(0, &["n"], &[]));
    insert(&table, 0);
    table.parts.change_spec(computed(0, &[(1, "c"), (2, "a")], &["n", "a", "c"])).unwrap();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    let error = part.read(&[1], 0..1, &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("needs its own value"), "{error}");
}

/// `CLEAR COLUMN` of columns.
struct Clear(Vec<String>);

impl RowChange for Clear {
    fn reads(&self) -> &[String] {
        static READS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| vec!["n".to_owned()]);
        &READS
    }

    fn writes(&self) -> &[String] {
        &[]
    }

    fn clears(&self) -> &[String] {
        &self.0
    }

    fn is_light(&self) -> bool {
        false
    }

    fn deletes_rows(&self) -> bool {
        false
    }

    fn apply(&self, _: &RecordBatch) -> basalt_base::Result<RowsAfter> {
        Ok(RowsAfter { is_touched: false, keep: None, columns: Vec::new() })
    }
}

#[test]
fn cleared_column_has_the_fill_of_the_day() {
    for wide in [0, u64::MAX] {
        let table = TestTable::with_spec(spec(wide, &["n", "a", "b"], &[]));
        insert(&table, 0);
        table.parts.begin_mutation("CLEAR COLUMN a").unwrap();
        run(&table.parts, &Clear(vec!["a".to_owned()])).unwrap();
        assert_eq!(values(&table, "a"), [0; 10], "{wide}");
        let mut filled = spec(wide, &["n", "a", "b"], &[]);
        filled.fills[1] = Some(Fill::Value(Arc::new(UInt64Array::from(vec![7]))));
        table.parts.change_spec(filled).unwrap();
        let table = reopen(table);
        assert_eq!(values(&table, "a"), [7; 10], "{wide}");
        assert_eq!(values(&table, "b"), (200..210).collect::<Vec<_>>(), "{wide}");
        assert!(files(&table.storage, Path::new(DIR)).iter().all(|path| !path.ends_with("a.col")));
        table.parts.snapshot().iter().for_each(|part| part.check().unwrap());
    }
}

#[test]
fn history_forgets_what_all_parts_have_seen() {
    let table = TestTable::with_spec(spec(0, &["n", "a"], &[]));
    insert(&table, 0);
    let first = renamed("a", "b");
    table.parts.change_spec(spec(0, &["n", "b"], std::slice::from_ref(&first))).unwrap();
    insert(&table, 10);
    assert_eq!(table.parts.names_seen_by_all().unwrap(), 0);
    let detached = table.parts.snapshot()[0].name().to_string();
    table.parts.detach_parts(&PartSelection::Part(detached), None).unwrap();
    insert(&table, 20);
    merge_all(&table);
    assert_eq!(table.parts.names_seen_by_all().unwrap(), 1, "a detached part is called as it is today");
    let history = ColumnHistory::new(0, vec![first]).followed_by(&[renamed("b", "c")], 1);
    assert_eq!((history.forgotten(), history.changes().len(), history.version()), (1, 1, 2));
    table.parts.change_spec(PartSpec { history, ..spec(0, &["n", "c"], &[]) }).unwrap();
    let table = reopen(table);
    assert_eq!(values(&table, "c"), (110..130).collect::<Vec<_>>());
    table.parts.attach_parts(&PartSelection::All).unwrap();
    assert_eq!(values(&table, "c").len(), 30);
    assert!(values(&table, "c").contains(&105));
}
