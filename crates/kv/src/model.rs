//! The store against a `BTreeMap`: after the same operations, both give the same results.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Int32Array, RecordBatch, UInt64Array};
use arrow::datatypes::{Int32Type, UInt64Type};
use basalt_base::clock::ManualClock;
use basalt_base::{Column, Columns, ErrorCode, Result, SqlType};
use proptest::prelude::*;

use crate::load::LoadLimits;
use crate::{KeyRange, KvOptions, KvSpec, SharedCache, Store};

/// The key: `Int32`, `String`.
type Key = (i32, Vec<u8>);
type Model = BTreeMap<Key, u64>;
/// Whether a range has a key.
type Contains<'a> = Box<dyn Fn(&Key) -> bool + 'a>;

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<(Key, u64)>),
    InsertBulk(Vec<Vec<(Key, u64)>>),
    Delete(Vec<Key>),
    Truncate,
    Compact,
    /// Closes the store without flushing it and opens it again: the log is replayed.
    Reopen,
}

/// The columns are in another order than the key's, so that positions matter.
fn spec() -> KvSpec {
    let columns = Columns::new(vec![
        Column::new("name", SqlType::String),
        Column::new("value", SqlType::UInt64),
        Column::new("id", SqlType::Int32),
    ]);
    KvSpec::new(columns, vec![2, 0]).expect("a valid definition")
}

fn open(path: &Path) -> Arc<Store> {
    let cache = SharedCache::new(1 << 20, 4 << 20);
    Arc::new(
        Store::open(path, spec(), KvOptions { cache, ..KvOptions::default() }).expect("a store that opens"),
    )
}

fn key_arrays(keys: &[Key]) -> Vec<ArrayRef> {
    vec![
        Arc::new(Int32Array::from_iter_values(keys.iter().map(|key| key.0))),
        Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| &key.1))),
    ]
}

fn batch(rows: &[(Key, u64)]) -> RecordBatch {
    let keys: Vec<Key> = rows.iter().map(|row| row.0.clone()).collect();
    let arrays = key_arrays(&keys);
    let values: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.1)));
    let columns = vec![arrays[1].clone(), values, arrays[0].clone()];
    RecordBatch::try_new(spec().columns.to_arrow(), columns).expect("columns of one length")
}

fn rows_of(batch: &RecordBatch) -> Vec<(Key, u64)> {
    let names = batch.column(0).as_binary_view();
    let values = batch.column(1).as_primitive::<UInt64Type>();
    let ids = batch.column(2).as_primitive::<Int32Type>();
    let row = |row| ((ids.value(row), names.value(row).to_vec()), values.value(row));
    (0..batch.num_rows()).map(row).collect()
}

fn scan(store: &Store, range: &KeyRange) -> Vec<(Key, u64)> {
    let batches = store.scan(range, &[0, 1, 2]).expect("a valid range");
    batches.flat_map(|batch| rows_of(&batch.expect("a readable store"))).collect()
}

/// Makes files of a few rows.
const FILES: LoadLimits =
    LoadLimits { batch_rows: 0, batch_bytes: 0, ordered_bytes: 60, run_bytes: 120, file_bytes: 40 };

fn load(store: &Arc<Store>, batches: impl IntoIterator<Item = RecordBatch>, limits: LoadLimits) -> u64 {
    let mut load = store.begin_load_within(3, limits).expect("a writable store");
    batches.into_iter().for_each(|batch| load.write(&batch).expect("rows"));
    load.commit().expect("a load")
}

fn apply(store: &Arc<Store>, model: &mut Model, op: &Op) {
    match op {
        Op::Insert(rows) => {
            store.insert(&batch(rows)).expect("an insert");
            model.extend(rows.iter().cloned());
        }
        Op::InsertBulk(batches) => {
            load(store, batches.iter().map(|rows| batch(rows)), FILES);
            model.extend(batches.iter().flatten().cloned());
        }
        Op::Delete(keys) => {
            store.delete(&key_arrays(keys)).expect("a delete");
            model.retain(|key, _| !keys.contains(key));
        }
        Op::Truncate => {
            store.truncate().expect("a truncate");
            model.clear();
        }
        Op::Compact => store.compact().expect("a compaction"),
        Op::Reopen => {}
    }
}

fn check_same(store: &Store, model: &Model, asked: &[Key]) {
    let all: Vec<(Key, u64)> = model.iter().map(|(key, value)| (key.clone(), *value)).collect();
    assert_eq!(scan(store, &KeyRange::all()), all);
    let found = store.get(&key_arrays(asked), &[0, 1, 2], 2).expect("valid keys");
    let rows = rows_of(&found.rows);
    assert!(rows.is_sorted_by(|left, right| left.0 < right.0));
    for (key, row) in asked.iter().zip(&found.row_of_key) {
        let value = row.map(|row| rows[row as usize].clone());
        assert_eq!(value, model.get(key).map(|&value| (key.clone(), value)));
    }
    let id = |id: i32| vec![Arc::new(Int32Array::from(vec![id])) as ArrayRef];
    for key in asked {
        let whole = || key_arrays(std::slice::from_ref(key));
        let ranges: [(KeyRange, Contains<'_>); 7] = [
            (KeyRange::prefix(id(key.0)), Box::new(|other| other.0 == key.0)),
            (KeyRange::all().from(id(key.0)), Box::new(|other| other.0 >= key.0)),
            (KeyRange::all().after(id(key.0)), Box::new(|other| other.0 > key.0)),
            (KeyRange::all().to(whole()), Box::new(|other| other <= key)),
            (KeyRange::all().before(whole()), Box::new(|other| other < key)),
            (KeyRange::all().after(whole()), Box::new(|other| other > key)),
            (KeyRange::all().from(whole()).to(id(key.0)), Box::new(|other| other >= key && other.0 <= key.0)),
        ];
        for (range, contains) in ranges {
            let expected: Vec<_> = all.iter().filter(|(key, _)| contains(key)).cloned().collect();
            assert_eq!(scan(store, &range), expected, "{range:?}");
        }
    }
}

fn check(ops: &[Op], asked: &[Key]) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(directory.path());
    let mut model = Model::new();
    for op in ops {
        apply(&store, &mut model, op);
        if matches!(op, Op::Reopen) {
            drop(store);
            store = open(directory.path());
        }
        check_same(&store, &model, asked);
    }
}

fn key() -> impl Strategy<Value = Key> {
    let id = prop_oneof![-2..3, Just(i32::MIN), Just(i32::MAX)];
    (id, prop::collection::vec(prop_oneof![Just(0), Just(1), Just(255)], 0..3))
}

fn op() -> impl Strategy<Value = Op> {
    let rows = || prop::collection::vec((key(), any::<u64>()), 0..12);
    prop_oneof![
        4 => rows().prop_map(Op::Insert),
        2 => prop::collection::vec(rows(), 0..3).prop_map(Op::InsertBulk),
        2 => prop::collection::vec(key(), 0..6).prop_map(Op::Delete),
        1 => Just(Op::Truncate),
        1 => Just(Op::Compact),
        2 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_store_agrees_with_the_model(
        ops in prop::collection::vec(op(), 1..8),
        asked in prop::collection::vec(key(), 0..8),
    ) {
        check(&ops, &asked);
    }
}

#[test]
fn a_load_that_fails_midway_leaves_the_table_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    store.insert(&batch(&[((1, b"a".to_vec()), 1)])).expect("an insert");
    let mut load = store.begin_load_within(2, FILES).expect("a writable store");
    let rows: Vec<(Key, u64)> = (0..100).map(|at| ((at, b"a".to_vec()), 2)).collect();
    rows.chunks(3).for_each(|rows| load.write(&batch(rows)).expect("rows"));
    let narrow = batch(&[]).project(&[0]).expect("a column");
    assert!(load.write(&narrow).is_err());
    assert_eq!(scan(&store, &KeyRange::all()), [((1, b"a".to_vec()), 1)]);
    drop(load);
    let loads = std::fs::read_dir(directory.path().join("loads")).expect("the directory of loads");
    assert_eq!(loads.count(), 0, "files are left");
}

#[test]
fn a_load_that_was_not_ended_is_removed_when_the_store_opens() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(open(directory.path()));
    let left = directory.path().join("loads").join("0");
    std::fs::create_dir_all(&left).expect("a directory");
    std::fs::write(left.join("0-0.sst"), b"half a fi").expect("a file");
    let store = open(directory.path());
    assert_eq!(scan(&store, &KeyRange::all()), []);
    assert!(!directory.path().join("loads").exists());
}

#[test]
fn many_keys_are_found_by_several_threads_as_by_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let key = |at: u64| ((at % 60_000) as i32, b"x".to_vec());
    let rows: Vec<(Key, u64)> = (0..30_000_u64).map(|at| (key(2 * at), at)).collect();
    load(&store, rows.chunks(5000).map(batch), LoadLimits { file_bytes: 4000, run_bytes: 9000, ..FILES });
    // Every second key is missing, and many occur twice.
    let asked: Vec<Key> = (0..70_000_u64).map(|at| key(at * 7919)).collect();
    for threads_max in [0, 1, 2, 5] {
        let found = store.get(&key_arrays(&asked), &[1], threads_max).expect("valid keys");
        let values = found.rows.column(0).as_primitive::<UInt64Type>();
        assert_eq!(values.len(), 30_000);
        assert!(values.values().is_sorted(), "the order of the keys");
        for (asked, row) in asked.iter().zip(&found.row_of_key) {
            let expected = (asked.0 % 2 == 0).then_some(asked.0 as u64 / 2);
            assert_eq!(row.map(|row| values.value(row as usize)), expected);
        }
    }
}

#[test]
fn rows_of_one_run_are_found_beside_deleted_and_changed_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let key = |id: i32| (id, b"x".to_vec());
    let mut model: Model = (0..30_000).map(|id| (key(id), id as u64)).collect();
    let rows: Vec<(Key, u64)> = model.iter().map(|(key, value)| (key.clone(), *value)).collect();
    load(
        &store,
        rows.chunks(5000).map(batch),
        LoadLimits { run_bytes: 200_000, ordered_bytes: 100_000, ..FILES },
    );
    let asked: Vec<Key> = (-10..30_010).map(key).collect();
    assert!(store.is_one_run().expect("properties"));
    check_found(&store, &model, &asked);
    let changed: Vec<(Key, u64)> = (500..900).map(|id| (key(id), 7)).collect();
    apply(&store, &mut model, &Op::Insert(changed));
    // More than an iterator may step over.
    apply(&store, &mut model, &Op::Delete((20_000..20_300).map(key).collect()));
    assert!(store.is_one_run().expect("properties"));
    check_found(&store, &model, &asked);
    apply(&store, &mut model, &Op::Delete((3000..9000).map(key).collect()));
    assert!(!store.is_one_run().expect("properties"));
    check_found(&store, &model, &asked);
    apply(&store, &mut model, &Op::Compact);
    assert!(store.is_one_run().expect("properties"));
    check_found(&store, &model, &asked);
}

fn check_found(store: &Store, model: &Model, asked: &[Key]) {
    for threads_max in [1, 3] {
        let found = store.get(&key_arrays(asked), &[1], threads_max).expect("valid keys");
        let values = found.rows.column(0).as_primitive::<UInt64Type>();
        assert_eq!(values.len(), model.len());
        for (asked, row) in asked.iter().zip(&found.row_of_key) {
            assert_eq!(row.map(|row| values.value(row as usize)), model.get(asked).copied(), "{asked:?}");
        }
    }
}

#[test]
fn blocks_that_change_places_are_one_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let rows: Vec<(Key, u64)> = (0..60_000).map(|id| ((id, b"x".to_vec()), id as u64)).collect();
    let mut blocks: Vec<RecordBatch> = rows.chunks(2000).map(batch).collect();
    blocks.chunks_mut(3).for_each(<[_]>::reverse);
    let limits = LoadLimits { run_bytes: 400_000, ordered_bytes: 400_000, ..FILES };
    load(&store, blocks, limits);
    assert!(store.is_one_run().expect("properties"));
    assert_eq!(scan(&store, &KeyRange::all()), rows);
}

#[test]
fn many_rows_scan_in_batches_and_come_back_by_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let rows: Vec<(Key, u64)> = (0..30_000_u64).map(|at| ((at as i32, b"x".to_vec()), at * at)).collect();
    let shuffled: Vec<_> = (0..rows.len()).map(|at| rows[at * 7919 % rows.len()].clone()).collect();
    let limits = LoadLimits { run_bytes: 300_000, file_bytes: 100_000, ..FILES };
    let loaded = load(&store, shuffled.chunks(1000).map(batch), limits);
    assert_eq!(loaded, 30_000);
    assert_eq!(scan(&store, &KeyRange::all()), rows);
    let batches: Result<Vec<_>> = store.scan(&KeyRange::all(), &[]).expect("a valid range").collect();
    let batches = batches.expect("a readable store");
    assert!(batches.len() > 1 && batches.iter().all(|batch| batch.num_columns() == 0));
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 30_000);
    let keys: Vec<Key> = shuffled.iter().map(|row| row.0.clone()).collect();
    assert_eq!(store.lookup(&key_arrays(&keys)).expect("valid keys")[0].len(), 30_000);
    assert!(store.approximate_rows().expect("a property") >= 30_000);
    assert!(store.size_on_disk().expect("a property") > 0);
    assert!(store.counters().iter().any(|(name, _)| *name == "rocksdb.block.cache.hit"));
}

#[test]
fn a_second_writer_and_a_read_only_writer_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    store.insert(&batch(&[((1, b"a".to_vec()), 1)])).expect("an insert");
    let second = Store::open(directory.path(), spec(), KvOptions::default()).err().expect("a held lock");
    assert_eq!(second.code(), ErrorCode::CannotOpenFile);
    assert!(second.message().contains(&directory.path().display().to_string()));
    let options = KvOptions { read_only: true, ..KvOptions::default() };
    let reader = Store::open(directory.path(), spec(), options).map(Arc::new);
    let reader = reader.expect("a reader next to the writer");
    assert_eq!(scan(&reader, &KeyRange::all()), [((1, b"a".to_vec()), 1)]);
    let error = reader.insert(&batch(&[])).expect_err("a read-only store");
    assert_eq!(error.code(), ErrorCode::ReadOnly);
}

#[test]
fn rows_older_than_an_added_column_have_its_default() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    store.insert(&batch(&[((1, b"a".to_vec()), 1)])).expect("an insert");
    let mut columns = spec().columns.to_vec();
    columns.push(Column::new("added", SqlType::Int32));
    let mut wider = KvSpec::new(Columns::new(columns), vec![2, 0]).expect("a valid definition");
    wider.defaults[3] = Arc::new(Int32Array::from(vec![42]));
    store.add_columns(wider).expect("a column at the end");
    let found = store.get(&key_arrays(&[(1, b"a".to_vec())]), &[3, 1], 2).expect("valid keys");
    assert_eq!(found.rows.column(0).as_primitive::<Int32Type>().values(), &[42]);
    assert!(store.add_columns(spec()).is_err());
}

#[test]
fn rows_of_a_change_that_began_before_a_column_have_its_default() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let mut columns = spec().columns.to_vec();
    columns.push(Column::new("added", SqlType::Int32.into_nullable()));
    let mut wider = KvSpec::new(Columns::new(columns), vec![2, 0]).expect("a valid definition");
    wider.defaults[3] = Arc::new(Int32Array::from(vec![42]));
    store.add_columns(wider).expect("a column at the end");
    store.insert(&batch(&[((1, b"a".to_vec()), 1)])).expect("a block without the column");
    let found = store.get(&key_arrays(&[(1, b"a".to_vec())]), &[3, 1], 2).expect("valid keys");
    assert_eq!(found.rows.column(0).as_primitive::<Int32Type>().values(), &[42]);
    assert_eq!(found.rows.column(1).as_primitive::<UInt64Type>().values(), &[1]);
    let without_key = batch(&[]).project(&[0, 1]).expect("columns that are there");
    let refused = store.insert(&without_key).expect_err("a block without a key column");
    assert_eq!(refused.code(), ErrorCode::NumberOfColumnsDoesntMatch);
}

#[test]
fn rows_expire_by_the_clock() {
    let directory = tempfile::tempdir().expect("a directory");
    let clock = Arc::new(ManualClock::at(1_000_000_000));
    let options = KvOptions { ttl_seconds: Some(10), clock: clock.clone(), ..KvOptions::default() };
    let store = Arc::new(Store::open(directory.path(), spec(), options).expect("a store that opens"));
    let key = (1, b"a".to_vec());
    store.insert(&batch(&[(key.clone(), 1)])).expect("an insert");
    clock.advance(10_000_000);
    assert_eq!(scan(&store, &KeyRange::all()).len(), 1);
    clock.advance(1_000_000);
    assert_eq!(scan(&store, &KeyRange::all()).len(), 0);
    assert_eq!(store.get(&key_arrays(&[key]), &[1], 2).expect("valid keys").row_of_key, [None]);
    store.compact().expect("a compaction");
    assert_eq!(store.approximate_rows().expect("a property"), 0);
}
