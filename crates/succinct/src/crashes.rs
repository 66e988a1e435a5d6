//! Crashes at every change of freezes, builds and merges: nothing that was acknowledged is lost.
//!
//! Segments are in a storage that fails; RocksDB has real files, whose changes are synced one by one.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{Crash, FaultyStorage, Stays, Storage};
use basalt_base::{ErrorCode, Result};

use crate::fixture::{Key, Model, Row, Unwatched, check_same, delete, insert, open};
use crate::{PlaceState, Table};

fn row(at: i32, round: u64) -> (Key, Row) {
    (
        (at, b"k".to_vec()),
        (u64::from(at.unsigned_abs()) * round, Some(format!("row {at}").into_bytes()), round),
    )
}

/// Does what it can, and notes in `model` what was acknowledged.
fn work(table: &Arc<Table>, model: &mut Model) -> Result<()> {
    for round in 1..5_u64 {
        let rows: Vec<_> = (0..20).filter(|at| at % round as i32 != 1).map(|at| row(at, round)).collect();
        insert(table, &rows)?;
        model.extend(rows);
        let dead: Vec<Key> = (0..3).map(|at| row(at * 4 + round as i32, 0).0).collect();
        delete(table, &dead)?;
        model.retain(|key, _| !dead.contains(key));
        table.freeze()?;
        if round % 2 == 0 {
            while table.step(&Unwatched)? {}
        }
    }
    table.optimize(true, &Unwatched)
}

fn asked() -> Vec<Key> {
    (-1..22).map(|at| row(at, 0).0).collect()
}

/// Runs the work with a fault, crashes, opens again, checks, and does the rest of the work.
fn check(crash: Crash, inject: impl Fn(&FaultyStorage)) {
    let directory = tempfile::tempdir().expect("a directory");
    let faulty = FaultyStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    let mut model = Model::new();
    inject(&faulty);
    if let Ok(table) = open(directory.path(), &storage) {
        let _ = work(&table, &mut model);
    }
    faulty.crash(crash);
    let table = open(directory.path(), &storage).expect("a table that opens after a crash");
    check_same(&table.snapshot(), &model, &asked());
    work(&table, &mut model).expect("work after a crash");
    check_same(&table.snapshot(), &model, &asked());
    check_files(&storage, directory.path(), &table);
}

/// Only the files of segments in use are left.
fn check_files(storage: &Arc<dyn Storage>, dir: &Path, table: &Arc<Table>) {
    let files = storage.list(&dir.join("segments")).expect("a directory");
    let places = table.places().expect("statistics");
    let used = places.iter().filter(|place| place.state == PlaceState::ReadOnly);
    assert_eq!(files.len(), used.count());
}

fn counted(count: fn(&FaultyStorage) -> u64) -> u64 {
    let directory = tempfile::tempdir().expect("a directory");
    let faulty = FaultyStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    work(&open(directory.path(), &storage).expect("a table"), &mut Model::new())
        .expect("a disk without faults");
    count(&faulty)
}

#[test]
fn a_crash_at_any_sync_loses_nothing() {
    for sync in 0..counted(FaultyStorage::sync_count) {
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            check(crash, |faulty| faulty.stop_at_sync(sync));
        }
    }
}

#[test]
fn a_crash_at_any_change_loses_nothing() {
    let changes = counted(FaultyStorage::change_count);
    for change in (0..changes).step_by(1 + changes as usize / 150) {
        check(Crash::TearUnsynced, |faulty| faulty.stop_at_change(change));
    }
}

#[test]
fn a_full_disk_ends_a_build_and_the_table_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let faulty = FaultyStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    let table = open(directory.path(), &storage).expect("a table");
    let mut model: Model = (0..50).map(|at| row(at, 1)).collect();
    insert(&table, &model.clone().into_iter().collect::<Vec<_>>()).expect("an insert");
    table.freeze().expect("a freeze");
    faulty.set_space_left(Some(100));
    let error = table.step(&Unwatched).expect_err("a full disk");
    assert_eq!(error.code(), ErrorCode::NotEnoughSpace);
    insert(&table, &[row(99, 2)]).expect("RocksDB has room");
    model.extend([row(99, 2)]);
    check_same(&table.snapshot(), &model, &asked());
    faulty.set_space_left(None);
    assert!(table.step(&Unwatched).expect("room again"));
    check_same(&table.snapshot(), &model, &asked());
    check_files(&storage, directory.path(), &table);
}

#[test]
fn a_build_that_fails_once_is_tried_again() {
    let changes = counted(FaultyStorage::change_count);
    for change in (0..changes).step_by(1 + changes as usize / 60) {
        let directory = tempfile::tempdir().expect("a directory");
        let faulty = FaultyStorage::new();
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        faulty.refuse_changes(change, Stays::Once, std::io::ErrorKind::Other);
        let Ok(table) = open(directory.path(), &storage) else { continue };
        let mut model = Model::new();
        if work(&table, &mut model).is_err() {
            check_same(&table.snapshot(), &model, &asked());
            work(&table, &mut model).expect("a disk that works again");
        }
        check_same(&table.snapshot(), &model, &asked());
    }
}
