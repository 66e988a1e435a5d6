//! A table of strings by its bytes against a `BTreeMap`, with freezes, builds and merges in between.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::fixture::{Unwatched, options, spec};

type Bytes = Vec<u8>;
type Model = BTreeMap<Bytes, Bytes>;

#[derive(Clone, Debug)]
enum Op {
    Write(Vec<(Bytes, Option<Bytes>)>, bool),
    Snapshot,
    Freeze,
    Step,
    Compact(bool),
    Reopen,
}

fn cache() -> SharedCache {
    SharedCache::new(1 << 20, 4 << 20)
}

/// A table as the engine makes it, with the value before the key, an index and trigrams.
fn strings() -> TableSpec {
    let columns =
        Columns::new(vec![Column::new("value", SqlType::String), Column::new("name", SqlType::String)]);
    let rows = KvSpec::new(columns, vec![1]).expect("a valid definition");
    TableSpec { trigrams: vec![0], ..TableSpec::new(rows) }
}

fn make(dir: &Path, spec: TableSpec) {
    Table::open(dir, spec, options(Arc::new(RealStorage))).expect("a table");
}

fn open(dir: &Path) -> RawTable {
    RawTable::open(dir, cache()).expect("a table of strings")
}

fn check_same(table: &RawTable, snapshot: &Arc<Snapshot>, model: &Model, asked: &[Bytes], is_newest: bool) {
    let mut rows = table.rows(Arc::clone(snapshot));
    assert!(!rows.is_valid());
    rows.seek_to_first();
    for (key, value) in model {
        assert_eq!((rows.key(), rows.value()), (Some(&key[..]), Some(&value[..])));
        rows.next();
    }
    assert!(!rows.is_valid());
    rows.seek_to_last();
    for (key, value) in model.iter().rev() {
        assert_eq!((rows.key(), rows.value()), (Some(&key[..]), Some(&value[..])));
        rows.prev();
    }
    assert!(!rows.is_valid());
    for key in asked {
        let value = model.get(key);
        assert_eq!(table.get_at(snapshot, key, <[u8]>::to_vec).expect("a read").as_ref(), value);
        if is_newest {
            assert_eq!(table.get(key, <[u8]>::to_vec).expect("a read").as_ref(), value);
        }
        rows.seek(key);
        assert_eq!(rows.key(), model.range(key.clone()..).next().map(|(key, _)| &key[..]));
        if rows.is_valid() {
            rows.prev();
            assert_eq!(rows.key(), model.range(..key.clone()).next_back().map(|(key, _)| &key[..]));
            let at = rows.key().map(<[u8]>::to_vec);
            rows.next();
            if let Some(at) = at {
                let next = model.range(at.clone()..).find(|(key, _)| **key != at);
                assert_eq!(rows.key(), next.map(|(key, _)| &key[..]));
            }
        }
        rows.status().expect("no error");
    }
}

fn check(ops: &[Op], asked: &[Bytes]) {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), strings());
    let (mut model, mut snapshots) = (Model::new(), Vec::new());
    let mut table = open(dir.path());
    for op in ops {
        match op {
            Op::Write(changes, is_synced) => {
                let durability = if *is_synced { Durability::Synced } else { Durability::Logged };
                let written: Vec<RawChange<'_>> =
                    changes.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
                table.write(&written, durability).expect("a write");
                for (key, value) in changes {
                    match value {
                        Some(value) => model.insert(key.clone(), value.clone()),
                        None => model.remove(key),
                    };
                }
            }
            Op::Snapshot => snapshots.push((table.snapshot(), model.clone())),
            Op::Freeze => _ = table.table.freeze().expect("a freeze"),
            Op::Step => _ = table.step(&Unwatched).expect("a step"),
            Op::Compact(is_final) => table.compact(*is_final, &Unwatched).expect("a build"),
            Op::Reopen => {
                snapshots.clear();
                drop(table);
                // As the engine opens it.
                make(dir.path(), strings());
                table = open(dir.path());
            }
        }
    }
    check_same(&table, &table.snapshot(), &model, asked, true);
    for (snapshot, model) in snapshots {
        check_same(&table, &snapshot, &model, asked, false);
    }
}

fn key() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..3)
}

fn op() -> impl Strategy<Value = Op> {
    let value = proptest::collection::vec(any::<u8>(), 0..40);
    let changes = proptest::collection::vec((key(), proptest::option::weighted(0.7, value)), 0..12);
    prop_oneof![
        6 => (changes, any::<bool>()).prop_map(|(changes, is_synced)| Op::Write(changes, is_synced)),
        2 => Just(Op::Snapshot),
        2 => Just(Op::Freeze),
        2 => Just(Op::Step),
        1 => any::<bool>().prop_map(Op::Compact),
        1 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn table_is_a_map(ops in proptest::collection::vec(op(), 0..20), asked in proptest::collection::vec(key(), 6)) {
        check(&ops, &asked);
    }
}

#[test]
fn table_of_other_columns_is_refused_with_their_names() {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), spec());
    let error = RawTable::open(dir.path(), cache()).err().expect("an error");
    assert_eq!(error.code(), ErrorCode::NotImplemented);
    assert!(error.message().contains("`id` Int32 in the primary key"), "{}", error.message());
    assert!(error.message().contains("`text` Nullable(String), "), "{}", error.message());
}

#[test]
fn directory_without_a_table_or_a_record_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(!RawTable::is_in(dir.path()));
    assert_eq!(RawTable::open(dir.path(), cache()).err().expect("an error").code(), ErrorCode::BadArguments);
    make(dir.path(), strings());
    assert!(RawTable::is_in(dir.path()));
    let database = Database::open(&Table::rocksdb_dir(dir.path()), KvOptions::default()).expect("a database");
    database.write_records(&[], &[recorded::NAME.to_vec()]).expect("a removed record");
    drop(database);
    let error = RawTable::open(dir.path(), cache()).err().expect("an error");
    assert!(error.message().contains("does not record its columns"), "{}", error.message());
}

#[test]
fn table_that_is_open_is_refused_and_its_spools_are_left() {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), strings());
    let held = open(dir.path());
    let spool = dir.path().join("spools/of a build");
    std::fs::write(&spool, b"x").expect("a file");
    assert_eq!(
        RawTable::open(dir.path(), cache()).err().expect("an error").code(),
        ErrorCode::CannotOpenFile
    );
    assert!(spool.exists());
    drop(held);
    open(dir.path());
    assert!(!spool.exists());
}

#[test]
fn long_keys_are_refused_and_sizes_are_shares() {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), strings());
    let table = open(dir.path());
    let long = vec![b'k'; KEY_BYTES_MAX + 1];
    let refused = table.write(&[(b"a", Some(b"1")), (&long, Some(b""))], Durability::Logged);
    assert_eq!(refused.expect_err("too long").code(), ErrorCode::ArgumentOutOfBound);
    assert_eq!(table.get(b"a", <[u8]>::to_vec).expect("a read"), None);
    for key in 0..1000u32 {
        let (key, value) = (key.to_be_bytes(), format!("the value of {key}"));
        table.write(&[(&key, Some(value.as_bytes()))], Durability::Logged).expect("a write");
    }
    assert_eq!(table.approximate_bytes(b"", &[0xff]).expect("a size"), 0, "rows in no segment");
    table.compact(true, &Unwatched).expect("a build");
    assert_eq!(table.segments(), 1);
    let half = 500u32.to_be_bytes();
    let (whole, part) = (table.approximate_bytes(b"", &[0xff]), table.approximate_bytes(b"", &half));
    let (whole, part) = (whole.expect("a size"), part.expect("a size"));
    assert!(part * 3 > whole && part * 2 <= whole + 1, "{part} of {whole}");
    assert!(table.describe().expect("a text").contains("read-only"));
}
