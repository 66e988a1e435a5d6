//! The table against a `BTreeMap`: after the same operations, both give the same results.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{RealStorage, Storage};
use proptest::prelude::*;

use crate::fixture::{Key, Model, Row, Unwatched, batch, check_records, check_same, delete, insert, open};
use crate::{PlaceState, Snapshot, Table};

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<(Key, Row)>),
    Delete(Vec<Key>),
    /// Rows and deletes of one change, which no other change interrupts.
    Change(Vec<(Key, Row)>, Vec<Key>),
    Freeze,
    Step,
    Optimize(bool),
    Truncate,
    /// Takes a snapshot, which is checked at the end.
    Snapshot,
    Reopen,
}

fn apply(table: &Arc<Table>, model: &mut Model, op: &Op) {
    match op {
        Op::Insert(rows) => {
            insert(table, rows).expect("an insert");
            model.extend(rows.iter().cloned());
        }
        Op::Delete(keys) => {
            delete(table, keys).expect("a delete");
            model.retain(|key, _| !keys.contains(key));
        }
        Op::Change(rows, keys) => {
            let mut change = table.begin_change_alone(2).expect("a change");
            change.write(&batch(rows)).expect("rows");
            change.delete(&crate::fixture::key_arrays(keys)).expect("keys");
            change.commit().expect("a change");
            model.extend(rows.iter().cloned());
            model.retain(|key, _| !keys.contains(key));
        }
        Op::Freeze => {
            table.freeze().expect("a freeze");
        }
        Op::Step => {
            table.step(&Unwatched).expect("a step");
        }
        Op::Optimize(is_final) => {
            table.optimize(*is_final, &Unwatched).expect("merges");
            if *is_final {
                check_final(table, model);
            }
        }
        Op::Truncate => {
            table.truncate().expect("a truncate");
            model.clear();
        }
        Op::Snapshot | Op::Reopen => {}
    }
}

/// After OPTIMIZE FINAL one segment has exactly the rows.
fn check_final(table: &Arc<Table>, model: &Model) {
    let places = table.places().expect("statistics");
    let segments: Vec<_> = places.iter().filter(|place| place.state == PlaceState::ReadOnly).collect();
    assert!(segments.len() <= 1 && places.len() == segments.len() + 1, "one segment and no frozen rows");
    let rows: u64 = segments.iter().map(|place| place.rows).sum();
    assert_eq!(rows as usize, model.len());
    assert!(segments.iter().all(|place| place.tombstones == 0 && place.shadowed == 0));
}

fn check(ops: &[Op], asked: &[Key]) {
    let directory = tempfile::tempdir().expect("a directory");
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let mut table = open(directory.path(), &storage).expect("a table");
    let mut model = Model::new();
    let mut snapshots: Vec<(Arc<Snapshot>, Model)> = Vec::new();
    for op in ops {
        apply(&table, &mut model, op);
        match op {
            Op::Reopen => {
                check_snapshots(&mut snapshots, asked);
                drop(table);
                table = open(directory.path(), &storage).expect("a table");
            }
            Op::Snapshot => snapshots.push((table.snapshot(), model.clone())),
            _ => {}
        }
        check_same(&table.snapshot(), &model, asked);
        check_records(&table, &model, asked);
    }
    check_snapshots(&mut snapshots, asked);
    check_files(directory.path(), &table);
}

fn check_snapshots(snapshots: &mut Vec<(Arc<Snapshot>, Model)>, asked: &[Key]) {
    for (snapshot, model) in snapshots.drain(..) {
        check_same(&snapshot, &model, asked);
    }
}

/// No file of a segment is left that the table does not use.
fn check_files(dir: &Path, table: &Arc<Table>) {
    let files = std::fs::read_dir(dir.join("segments")).expect("a directory");
    let mut files: Vec<String> =
        files.map(|file| file.expect("a file").file_name().into_string().expect("ASCII")).collect();
    files.sort();
    let places = table.places().expect("statistics");
    let used = places.into_iter().filter(|place| place.state == PlaceState::ReadOnly).map(|place| place.name);
    let mut used: Vec<String> = used.collect();
    used.sort();
    assert_eq!(files, used);
    assert_eq!(std::fs::read_dir(dir.join("spools")).expect("a directory").count(), 0);
}

fn key() -> impl Strategy<Value = Key> {
    let id = prop_oneof![-2..3, Just(i32::MIN), Just(i32::MAX)];
    (id, prop::collection::vec(prop_oneof![Just(0), Just(1), Just(255)], 0..3))
}

fn rows() -> impl Strategy<Value = Vec<(Key, Row)>> {
    let row = (any::<u64>(), any::<Option<Vec<u8>>>(), 0..4_u64);
    prop::collection::vec((key(), row), 0..12)
}

fn op() -> impl Strategy<Value = Op> {
    let keys = || prop::collection::vec(key(), 0..6);
    prop_oneof![
        6 => rows().prop_map(Op::Insert),
        3 => keys().prop_map(Op::Delete),
        2 => (rows(), keys()).prop_map(|(rows, keys)| Op::Change(rows, keys)),
        4 => Just(Op::Freeze),
        4 => Just(Op::Step),
        1 => any::<bool>().prop_map(Op::Optimize),
        1 => Just(Op::Truncate),
        2 => Just(Op::Snapshot),
        2 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_table_agrees_with_the_model(
        ops in prop::collection::vec(op(), 1..16),
        asked in prop::collection::vec(key(), 0..8),
    ) {
        check(&ops, &asked);
    }
}

#[test]
fn many_rows_agree_with_the_model_through_several_segments() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let table = open(directory.path(), &storage).expect("a table");
    let mut model = Model::new();
    let row = |at: u64, round: u64| -> (Key, Row) {
        let text =
            (!at.is_multiple_of(7)).then(|| format!("the text of row {at} in round {round}").into_bytes());
        (((at % 5) as i32, at.to_be_bytes().to_vec()), (at * round, text, at % 11))
    };
    for round in 0..7_u64 {
        let rows: Vec<_> = (0..9000).step_by(1 + round as usize).map(|at| row(at, round)).collect();
        apply(&table, &mut model, &Op::Insert(rows));
        let dead: Vec<Key> = (0..9000).step_by(13).map(|at| row(at + round, round).0).collect();
        apply(&table, &mut model, &Op::Delete(dead));
        apply(&table, &mut model, &Op::Freeze);
        if round % 2 == 0 {
            while table.step(&Unwatched).expect("a step") {}
        }
        let asked: Vec<Key> = (0..9100).step_by(97).map(|at| row(at, 0).0).collect();
        check_same(&table.snapshot(), &model, &asked);
    }
    apply(&table, &mut model, &Op::Optimize(true));
    let asked: Vec<Key> = (0..9100).map(|at| row(at * 7919 % 9100, 0).0).collect();
    let snapshot = table.snapshot();
    let found = snapshot.get(&crate::fixture::key_arrays(&asked), &[1, 3], 3).expect("valid keys");
    assert_eq!(found.row_of_key.iter().flatten().count(), model.len());
    assert_eq!(snapshot.rows_in_segments().expect("a count") as usize, model.len());
}

#[test]
fn readers_writers_and_background_work_run_at_the_same_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let table = open(directory.path(), &storage).expect("a table");
    let key = |at: u64| -> Key { (0, at.to_be_bytes().to_vec()) };
    let row = |at: u64, round: u64| (key(at), (round, None, at));
    insert(&table, &(0..100).map(|at| row(at, 0)).collect::<Vec<_>>()).expect("an insert");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..150_u64 {
                // All rows of a round are written at once.
                insert(&table, &(0..100).map(|at| row(at, round)).collect::<Vec<_>>()).expect("an insert");
                if round % 10 == 0 {
                    table.freeze().expect("a freeze");
                }
            }
        });
        while !writer.is_finished() {
            table.step(&Unwatched).expect("a step");
            let snapshot = table.snapshot();
            let rows = crate::fixture::ordered(&snapshot, &Default::default()).expect("a readable table");
            assert_eq!(rows.len(), 100);
            assert!(rows.iter().all(|(_, row)| row.0 == rows[0].1.0), "a snapshot has rows of one round");
        }
        writer.join().expect("a writer that ends");
    });
    table.optimize(true, &Unwatched).expect("merges");
    let model = (0..100).map(|at| row(at, 149)).collect();
    check_same(&table.snapshot(), &model, &[key(3), key(100)]);
}
