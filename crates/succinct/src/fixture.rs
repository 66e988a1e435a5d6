//! A small table for tests: keys of a number and a string, five columns in all, a group with a column of the key, an index and trigrams.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Int32Array, RecordBatch, UInt64Array};
use arrow::datatypes::{Int32Type, UInt64Type};
use basalt_base::fs::Storage;
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_kv::encoding::RowAssembler;
use basalt_kv::{ByteRange, Direction, KvOptions, KvSpec, SharedCache};
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;

use crate::{
    ColumnGroup, IndexSpec, Picked, SegmentColumns, Snapshot, Step, Table, TableOptions, TableSpec, WorkWatch,
};

/// The key: `Int32`, `String`.
pub(crate) type Key = (i32, Vec<u8>);
/// The columns outside the key: `UInt64`, `Nullable(String)`, `UInt64`.
pub(crate) type Row = (u64, Option<Vec<u8>>, u64);
pub(crate) type Model = BTreeMap<Key, Row>;

/// The positions of all columns.
const ALL: [usize; 5] = [0, 1, 2, 3, 4];

/// Neither counts nor ends anything.
pub(crate) struct Unwatched;

impl WorkWatch for Unwatched {
    fn begins(&self, _step: &Step) {}

    fn reads(&self, _rows: u64) -> Result<()> {
        Ok(())
    }

    fn ends(&self) {}
}

/// The columns are in another order than the key's, so that positions matter.
pub(crate) fn spec() -> TableSpec {
    let columns = Columns::new(vec![
        Column::new("name", SqlType::String),
        Column::new("first", SqlType::UInt64),
        Column::new("text", SqlType::String.into_nullable()),
        Column::new("id", SqlType::Int32),
        Column::new("second", SqlType::UInt64),
    ]);
    let rows = KvSpec::new(columns, vec![3, 0]).expect("a valid definition");
    TableSpec {
        groups: vec![ColumnGroup { name: "numbers".into(), columns: vec![1, 3, 4] }],
        indexes: vec![IndexSpec { name: "by_second".into(), columns: vec![4] }],
        trigrams: vec![2],
        ..TableSpec::new(rows)
    }
}

pub(crate) fn options(storage: Arc<dyn Storage>) -> TableOptions {
    TableOptions {
        storage,
        kv: KvOptions { cache: SharedCache::new(1 << 20, 4 << 20), ..KvOptions::default() },
        access: Access::Mapped,
        build: BuildOptions { threads: 2, ..BuildOptions::default() },
        segment_bytes: u64::MAX,
        segments_max: 5,
        dead_share_max: 0.1,
    }
}

pub(crate) fn open(dir: &Path, storage: &Arc<dyn Storage>) -> Result<Arc<Table>> {
    Table::open(dir, spec(), options(Arc::clone(storage))).map(Arc::new)
}

pub(crate) fn key_arrays(keys: &[Key]) -> Vec<ArrayRef> {
    vec![
        Arc::new(Int32Array::from_iter_values(keys.iter().map(|key| key.0))),
        Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| &key.1))),
    ]
}

pub(crate) fn batch(rows: &[(Key, Row)]) -> RecordBatch {
    let keys: Vec<Key> = rows.iter().map(|row| row.0.clone()).collect();
    let keys = key_arrays(&keys);
    let numbers = |number: fn(&Row) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| number(&row.1))))
    };
    let texts: BinaryViewArray = rows.iter().map(|row| row.1.1.as_deref()).collect();
    let columns =
        vec![keys[1].clone(), numbers(|row| row.0), Arc::new(texts), keys[0].clone(), numbers(|row| row.2)];
    RecordBatch::try_new(spec().rows.columns.to_arrow(), columns).expect("columns of one length")
}

fn rows_of(columns: &[ArrayRef]) -> Vec<(Key, Row)> {
    let names = columns[0].as_binary_view();
    let (first, second) = (columns[1].as_primitive::<UInt64Type>(), columns[4].as_primitive::<UInt64Type>());
    let texts = columns[2].as_binary_view();
    let ids = columns[3].as_primitive::<Int32Type>();
    let row = |row| {
        let text = texts.is_valid(row).then(|| texts.value(row).to_vec());
        ((ids.value(row), names.value(row).to_vec()), (first.value(row), text, second.value(row)))
    };
    (0..names.len()).map(row).collect()
}

pub(crate) fn insert(table: &Arc<Table>, rows: &[(Key, Row)]) -> Result<()> {
    let mut change = table.begin_change(1)?;
    change.write(&batch(rows))?;
    change.commit()
}

pub(crate) fn delete(table: &Arc<Table>, keys: &[Key]) -> Result<()> {
    let mut change = table.begin_change(1)?;
    change.delete(&key_arrays(keys))?;
    change.commit()
}

/// All rows in key order, by an ordered scan.
pub(crate) fn ordered(snapshot: &Arc<Snapshot>, range: &ByteRange) -> Result<Vec<(Key, Row)>> {
    let mut rows = Vec::new();
    for batch in snapshot.ordered(range, &ALL, Direction::Ascending)? {
        rows.extend(rows_of(batch?.columns()));
    }
    let mut reversed = Vec::new();
    for batch in snapshot.ordered(range, &ALL, Direction::Descending)? {
        reversed.extend(rows_of(batch?.columns()));
    }
    reversed.reverse();
    assert_eq!(rows, reversed, "the reverse of an ordered scan");
    Ok(rows)
}

/// All rows by a scan place by place, in no order.
pub(crate) fn unordered(snapshot: &Arc<Snapshot>) -> Result<Vec<(Key, Row)>> {
    let mut rows = Vec::new();
    for batch in snapshot.fresh_batches(&ByteRange::default(), &ALL)? {
        rows.extend(rows_of(batch?.columns()));
    }
    let columns = SegmentColumns::new(snapshot.spec(), &ALL)?;
    for (at, stored) in snapshot.segments().iter().enumerate() {
        let mut ranks = Vec::new();
        snapshot.dead(at)?.missing_of(0..stored.segment().rows(), &mut ranks);
        rows.extend(rows_of(&columns.read(stored.segment(), &Picked::List(&ranks))?));
    }
    Ok(rows)
}

/// Compares every way of reading with the model.
pub(crate) fn check_same(snapshot: &Arc<Snapshot>, model: &Model, asked: &[Key]) {
    let all: Vec<(Key, Row)> = model.iter().map(|(key, row)| (key.clone(), row.clone())).collect();
    assert_eq!(ordered(snapshot, &ByteRange::default()).expect("a readable table"), all);
    let mut rows = unordered(snapshot).expect("a readable table");
    rows.sort();
    assert_eq!(rows, all);
    let found = snapshot.get(&key_arrays(asked), &ALL, 2).expect("valid keys");
    let rows = rows_of(found.rows.columns());
    assert!(rows.is_sorted_by(|left, right| left.0 < right.0));
    for (key, row) in asked.iter().zip(&found.row_of_key) {
        let row = row.map(|row| rows[row as usize].clone());
        assert_eq!(row, model.get_key_value(key).map(|(key, row)| (key.clone(), row.clone())));
    }
    check_ranges(snapshot, &all, asked);
}

/// Single rows are those of the model.
pub(crate) fn check_records(table: &Arc<Table>, model: &Model, asked: &[Key]) {
    let (mut records, spec) = (table.records(), table.spec());
    let encoder = spec.rows.key_encoder().expect("a key");
    for key in asked {
        let (mut encoded, mut record) = (Vec::new(), Vec::new());
        let values = [Some(&key.0.to_le_bytes()[..]), Some(&key.1[..])];
        encoder.encode_one(&values, &mut encoded).expect("a key");
        assert_eq!(encoder.encode(&key_arrays(std::slice::from_ref(key))).expect("a key").get(0), encoded);
        let is_there = records.read(&encoded, &mut record).expect("a readable table");
        let mut assembler = RowAssembler::new(&spec.rows, &ALL).expect("columns");
        if is_there {
            assembler.push(&encoded, &record).expect("a row");
        }
        let found = rows_of(assembler.finish().expect("rows").columns());
        let expected = model.get_key_value(key).map(|(key, row)| (key.clone(), row.clone()));
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}

fn check_ranges(snapshot: &Arc<Snapshot>, all: &[(Key, Row)], asked: &[Key]) {
    let encoder = snapshot.spec().rows.key_encoder().expect("a key");
    let encoded = encoder.encode(&key_arrays(asked)).expect("keys");
    for (at, key) in asked.iter().enumerate() {
        let below = ByteRange { lower: Vec::new(), upper: Some(encoded.get(at).to_vec()) };
        let above = ByteRange { lower: encoded.get(at).to_vec(), upper: None };
        for (range, is_below) in [(below, true), (above, false)] {
            let is_in = |row: &&(Key, Row)| (row.0 < *key) == is_below;
            let expected: Vec<_> = all.iter().filter(is_in).cloned().collect();
            assert_eq!(ordered(snapshot, &range).expect("a readable table"), expected, "{range:?}");
        }
    }
}
