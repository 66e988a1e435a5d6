//! A raw store against a `BTreeMap`: random changes, reopening, snapshots, and both ways through the keys.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;

use basalt_base::{Error, ErrorCode};
use proptest::prelude::*;

use super::*;

type Bytes = Vec<u8>;
type Model = BTreeMap<Bytes, Bytes>;

#[derive(Clone, Debug)]
enum Op {
    Put(Bytes, Bytes),
    Delete(Bytes),
    Batch(Vec<(Bytes, Option<Bytes>)>),
    Snapshot,
    ReleaseSnapshots,
    Compact,
    Reopen,
    Repair,
}

fn options() -> RawOptions {
    RawOptions {
        create_if_missing: true,
        cache: Some(RawCache::lru(1 << 20)),
        filter: Some(Filter::Bloom { bits_per_key: 10.0 }),
        ..RawOptions::default()
    }
}

fn get(store: &RawStore, key: &[u8], options: &ReadOptions) -> Option<Bytes> {
    store.get(key, options, <[u8]>::to_vec).expect("a read")
}

fn code<T>(result: Result<T, Error>) -> ErrorCode {
    result.err().expect("an error").code()
}

/// All rows from the first to the last.
fn forwards(rows: &mut RawIterator) -> Vec<(Bytes, Bytes)> {
    let mut found = Vec::new();
    while let (Some(key), Some(value)) = (rows.key(), rows.value()) {
        found.push((key.to_vec(), value.to_vec()));
        rows.next();
    }
    rows.status().expect("no error");
    found
}

fn check_same(store: &Arc<RawStore>, options: &ReadOptions, model: &Model, asked: &[Bytes]) {
    let mut rows = store.iterator(options).expect("an iterator");
    assert!(!rows.is_valid(), "an iterator begins at no key");
    rows.seek_to_first();
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(forwards(&mut rows), expected);
    rows.seek_to_last();
    for (key, value) in model.iter().rev() {
        assert_eq!((rows.key(), rows.value()), (Some(&key[..]), Some(&value[..])));
        rows.prev();
    }
    assert!(!rows.is_valid());
    for key in asked {
        assert_eq!(get(store, key, options).as_ref(), model.get(key));
        rows.seek(key);
        assert_eq!(rows.key(), model.range(key.clone()..).next().map(|(key, _)| &key[..]));
        if rows.is_valid() {
            rows.prev();
            assert_eq!(rows.key(), model.range(..key.clone()).next_back().map(|(key, _)| &key[..]));
        }
    }
}

fn check(ops: &[Op], asked: &[Bytes]) {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut model, mut snapshots) = (Model::new(), Vec::new());
    let mut store = RawStore::open(dir.path(), &options()).expect("a store");
    for (at, op) in ops.iter().enumerate() {
        let write = WriteOptions { sync: at.is_multiple_of(2) };
        match op {
            Op::Put(key, value) => {
                store.put(key, value, write).expect("a write");
                model.insert(key.clone(), value.clone());
            }
            Op::Delete(key) => {
                store.delete(key, write).expect("a write");
                model.remove(key);
            }
            Op::Batch(changes) => {
                let mut batch = RawBatch::default();
                for (key, value) in changes {
                    match value {
                        Some(value) => batch.put(key, value),
                        None => batch.delete(key),
                    }
                    match value {
                        Some(value) => model.insert(key.clone(), value.clone()),
                        None => model.remove(key),
                    };
                }
                store.write(&batch, write).expect("a write");
            }
            Op::Snapshot => snapshots.push((store.snapshot(), model.clone())),
            Op::ReleaseSnapshots => snapshots.clear(),
            Op::Compact => store.compact(None, None),
            Op::Reopen | Op::Repair => {
                snapshots.clear();
                drop(store);
                if matches!(op, Op::Repair) {
                    RawStore::repair(dir.path(), &options()).expect("a repair");
                }
                store = RawStore::open(dir.path(), &options()).expect("the store again");
            }
        }
    }
    check_same(&store, &ReadOptions::default(), &model, asked);
    for (snapshot, model) in snapshots {
        let options = ReadOptions { snapshot: Some(snapshot), fill_cache: false, ..ReadOptions::default() };
        check_same(&store, &options, &model, asked);
    }
}

fn key() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(0xff)], 0..4)
}

fn op() -> impl Strategy<Value = Op> {
    let value = || proptest::collection::vec(any::<u8>(), 0..40);
    let batch = proptest::collection::vec((key(), proptest::option::of(value())), 0..20);
    prop_oneof![
        6 => (key(), value()).prop_map(|(key, value)| Op::Put(key, value)),
        3 => key().prop_map(Op::Delete),
        3 => batch.prop_map(Op::Batch),
        2 => Just(Op::Snapshot),
        1 => Just(Op::ReleaseSnapshots),
        1 => Just(Op::Compact),
        1 => Just(Op::Reopen),
        1 => Just(Op::Repair),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn store_is_a_map(ops in proptest::collection::vec(op(), 0..40), asked in proptest::collection::vec(key(), 8)) {
        check(&ops, &asked);
    }
}

/// Bytes from the greatest to the least.
struct Reversed;

impl Comparator for Reversed {
    fn name(&self) -> &CStr {
        c"reversed"
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        right.cmp(left)
    }
}

#[test]
fn comparator_orders_keys_and_has_to_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let reversed = RawOptions { comparator: Some(Arc::new(Reversed)), ..options() };
    let store = RawStore::open(dir.path(), &reversed).expect("a store");
    for key in [b"a", b"b", b"c"] {
        store.put(key, b"", WriteOptions::default()).expect("a write");
    }
    store.compact(None, None);
    let mut rows = store.iterator(&ReadOptions::default()).expect("an iterator");
    rows.seek(b"b");
    assert_eq!(forwards(&mut rows).into_iter().map(|row| row.0).collect::<Vec<_>>(), [b"b", b"a"]);
    assert_eq!(store.approximate_bytes(b"a", b"z"), 0, "a range that is empty in this order");
    drop((rows, store));
    assert_eq!(code(RawStore::open(dir.path(), &options())), ErrorCode::BadArguments);
    RawStore::open(dir.path(), &reversed).expect("the same order again");
}

#[test]
fn missing_and_present_stores_are_errors_if_the_options_say_so() {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("store");
    let missing = RawOptions { create_if_missing: false, ..options() };
    assert_eq!(code(RawStore::open(&dir, &missing)), ErrorCode::BadArguments);
    assert!(!dir.join("CURRENT").exists());
    drop(RawStore::open(&dir, &options()).expect("a store"));
    RawStore::open(&dir, &missing).expect("it is there now");
    let present = RawOptions { error_if_exists: true, ..options() };
    assert_eq!(code(RawStore::open(&dir, &present)), ErrorCode::BadArguments);
    RawStore::destroy(&dir, &options()).expect("removed");
    RawStore::destroy(&dir, &options()).expect("nothing to remove is no error");
    assert!(!dir.exists());
}

#[test]
fn second_opening_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = RawStore::open(dir.path(), &options()).expect("a store");
    let rows = store.iterator(&ReadOptions::default()).expect("an iterator");
    assert_eq!(code(RawStore::open(dir.path(), &options())), ErrorCode::CannotOpenFile);
    assert!(RawStore::destroy(dir.path(), &options()).is_err());
    drop(store);
    assert!(RawStore::open(dir.path(), &options()).is_err(), "an iterator keeps the store open");
    drop(rows);
    RawStore::open(dir.path(), &options()).expect("it is free");
}

#[test]
fn snapshot_of_another_store_is_refused() {
    let dirs = [tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory")];
    let [one, other] = dirs.each_ref().map(|dir| RawStore::open(dir.path(), &options()).expect("a store"));
    let foreign = ReadOptions { snapshot: Some(other.snapshot()), ..ReadOptions::default() };
    assert_eq!(code(one.get(b"a", &foreign, <[u8]>::to_vec)), ErrorCode::BadArguments);
    assert_eq!(code(one.iterator(&foreign)), ErrorCode::BadArguments);
}

#[test]
fn damage_is_an_error_and_repair_keeps_the_rest() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = RawStore::open(dir.path(), &options()).expect("a store");
    store.put(b"in a file", b"1", WriteOptions::default()).expect("a write");
    store.compact(None, None);
    store.put(b"in the log", b"2", WriteOptions::default()).expect("a write");
    drop(store);
    let current = dir.path().join("CURRENT");
    std::fs::write(&current, b"MANIFEST-999999\n").expect("a damaged file");
    assert!(RawStore::open(dir.path(), &options()).is_err());
    RawStore::repair(dir.path(), &options()).expect("a repair");
    let store = RawStore::open(dir.path(), &options()).expect("a repaired store");
    assert_eq!(get(&store, b"in a file", &ReadOptions::default()).as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&store, b"in the log", &ReadOptions::default()).as_deref(), Some(&b"2"[..]));
}

fn flip_a_byte_of_the_tables(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            let mut bytes = std::fs::read(&path).expect("a table");
            bytes[10] ^= 0xff;
            std::fs::write(&path, bytes).expect("a damaged table");
        }
    }
}

#[test]
fn damaged_block_is_an_error_of_get_and_of_the_iterator() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = RawStore::open(dir.path(), &options()).expect("a store");
    for key in 0..100u8 {
        store.put(&[key], &[key; 100], WriteOptions::default()).expect("a write");
    }
    store.compact(None, None);
    drop(store);
    flip_a_byte_of_the_tables(dir.path());
    let store = RawStore::open(dir.path(), &options()).expect("only a block is damaged");
    assert_eq!(code(store.get(&[0], &ReadOptions::default(), <[u8]>::to_vec)), ErrorCode::CorruptedData);
    let mut rows = store.iterator(&ReadOptions::default()).expect("an iterator");
    rows.seek_to_first();
    assert!(!rows.is_valid());
    assert_eq!(code(rows.status()), ErrorCode::CorruptedData);
}

#[test]
fn files_of_leveldb_are_refused_and_left() {
    let dir = tempfile::tempdir().expect("a directory");
    let files =
        [("CURRENT", "MANIFEST-000002\n"), ("MANIFEST-000002", ""), ("000005.ldb", "x"), ("LOCK", "")];
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    assert_eq!(code(RawStore::open(dir.path(), &options())), ErrorCode::NotImplemented);
    assert_eq!(code(RawStore::repair(dir.path(), &options())), ErrorCode::NotImplemented);
    assert_eq!(code(RawStore::destroy(dir.path(), &options())), ErrorCode::NotImplemented);
    for (name, text) in files {
        assert_eq!(std::fs::read_to_string(dir.path().join(name)).expect("the file"), text);
    }
}

#[test]
fn properties_sizes_and_batches_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = RawStore::open(dir.path(), &options()).expect("a store");
    assert!(store.property("rocksdb.stats").expect("a property").is_some());
    assert_eq!(store.property("no such").expect("none"), None);
    assert_eq!(store.property("rocksdb.stats\0").expect("none"), None);
    let mut batch = RawBatch::default();
    for key in 0..2000u32 {
        batch.put(&key.to_be_bytes(), &key.wrapping_mul(2_654_435_761).to_le_bytes().repeat(20));
    }
    store.write(&batch, WriteOptions::default()).expect("a write");
    store.compact(None, None);
    let (all, half) = (&u32::MAX.to_be_bytes()[..], &1000u32.to_be_bytes()[..]);
    assert!(store.approximate_bytes(b"", all) > store.approximate_bytes(b"", half));
    assert!(store.approximate_bytes(b"", half) > 0);
    assert_eq!(store.approximate_bytes(half, half), 0);
    let mut twice = RawBatch::default();
    twice.append(&batch);
    twice.append(&batch);
    assert_eq!((batch.len(), twice.len()), (2000, 4000));
    twice.clear();
    assert!(twice.is_empty());
}
