//! Databases of both kinds against a `BTreeMap`: the same changes give the same answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::RealStorage;
use basalt_base::{Column, Columns, ErrorCode, SqlType};
use basalt_kv::raw::{RawBatch, RawOptions, WriteOptions};
use basalt_kv::{KvOptions, KvSpec, SharedCache};
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;
use basalt_succinct::{Table, TableOptions, TableSpec};

use crate::database::{Database, PinnedSnapshot, Reading};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Bytes after which rows become segments: the background works while the changes go on.
const SEGMENT_BYTES: u64 = 20_000;

/// A table as `CREATE TABLE t (name String, value <ty>) ENGINE = Succinct PRIMARY KEY name` makes it.
fn make_table(dir: &Path, ty: SqlType) {
    let columns = Columns::new(vec![Column::new("name", SqlType::String), Column::new("value", ty)]);
    let spec = TableSpec::new(KvSpec::new(columns, vec![0]).expect("a valid definition"));
    let options = TableOptions {
        storage: Arc::new(RealStorage),
        kv: KvOptions { cache: SharedCache::new(1 << 20, 4 << 20), ..KvOptions::default() },
        access: Access::Mapped,
        build: BuildOptions::default(),
        segment_bytes: SEGMENT_BYTES,
        segments_max: 3,
        dead_share_max: 0.1,
    };
    Table::open(dir, spec, options).expect("a table");
}

fn options() -> RawOptions {
    RawOptions { create_if_missing: true, ..RawOptions::default() }
}

fn reading(snapshot: Option<Arc<PinnedSnapshot>>) -> Reading {
    Reading { verify_checksums: true, fill_cache: true, snapshot }
}

fn check_same(database: &Database, reading: &Reading, model: &Model, keys: u32) {
    let mut rows = database.iterator(reading).expect("an iterator");
    rows.seek_to_first();
    for (key, value) in model {
        assert_eq!((rows.key(), rows.value()), (Some(&key[..]), Some(&value[..])));
        rows.next();
    }
    assert!(!rows.is_valid());
    rows.seek_to_last();
    for key in model.keys().rev() {
        assert_eq!(rows.key(), Some(&key[..]));
        rows.prev();
    }
    assert!(!rows.is_valid());
    rows.status().expect("no error");
    for key in (0..keys).map(|key| key.to_be_bytes()) {
        let found = database.get(&key, reading, <[u8]>::to_vec).expect("a read");
        assert_eq!(found.as_ref(), model.get(&key[..]));
    }
}

/// The conformance of a kind of database. `SEED` is fixed: each run makes the same changes.
fn check(path: &Path) {
    const SEED: u64 = 7;
    const KEYS: u32 = 500;
    let mut state = SEED;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(below)).expect("below 32 bits")
    };
    let mut model = Model::new();
    let mut database = Database::open(path, &options()).expect("a database");
    let mut snapshots = Vec::new();
    for round in 0..4000_u32 {
        let key = random(KEYS).to_be_bytes().to_vec();
        let value = vec![b'a' + u8::try_from(random(26)).expect("a letter"); random(60) as usize];
        let write = WriteOptions { sync: round % 500 == 0 };
        match random(8) {
            0 => {
                database.delete(&key, write).expect("a write");
                model.remove(&key);
            }
            1 => {
                let mut batch = RawBatch::default();
                let other = random(KEYS).to_be_bytes().to_vec();
                batch.put(&key, &value);
                batch.delete(&other);
                database.write(&batch, write).expect("a write");
                model.insert(key, value);
                model.remove(&other);
            }
            _ => {
                database.put(&key, &value, write).expect("a write");
                model.insert(key, value);
            }
        }
        match round {
            1000 | 1500 => snapshots.push((Arc::new(database.snapshot()), model.clone())),
            2000 => {
                snapshots.drain(..).for_each(|(snapshot, model)| {
                    check_same(&database, &reading(Some(snapshot)), &model, KEYS);
                });
                drop(database);
                database = Database::open(path, &options()).expect("the database again");
                check_same(&database, &reading(None), &model, KEYS);
            }
            2500 => database.compact(Some(b"a"), None).expect("a build"),
            3000 => database.compact(None, None).expect("a build"),
            _ => {}
        }
    }
    check_same(&database, &reading(None), &model, KEYS);
}

#[test]
fn raw_store_agrees_with_the_model() {
    let dir = tempfile::tempdir().expect("a directory");
    check(dir.path());
}

#[test]
fn succinct_table_agrees_with_the_model() {
    let dir = tempfile::tempdir().expect("a directory");
    make_table(dir.path(), SqlType::String);
    check(dir.path());
}

#[test]
fn table_of_other_columns_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    make_table(dir.path(), SqlType::UInt64);
    let error = Database::open(dir.path(), &options()).err().expect("an error");
    assert_eq!(error.code(), ErrorCode::NotImplemented);
    assert!(
        error.message().contains("`name` String in the primary key, `value` UInt64"),
        "{}",
        error.message()
    );
}

#[test]
fn snapshots_of_other_databases_are_refused() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().expect("a directory"));
    make_table(dirs[0].path(), SqlType::String);
    make_table(dirs[1].path(), SqlType::String);
    let databases = dirs.each_ref().map(|dir| Database::open(dir.path(), &options()).expect("a database"));
    for (at, database) in databases.iter().enumerate() {
        for (of, other) in databases.iter().enumerate() {
            let reading = reading(Some(Arc::new(other.snapshot())));
            assert_eq!(database.get(b"a", &reading, <[u8]>::to_vec).is_ok(), at == of);
            assert_eq!(database.iterator(&reading).is_ok(), at == of);
        }
    }
}
