//! Commands on whole parts, with a crash at every sync.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::clock::ManualClock;
use basalt_base::fs::{Crash, FaultyStorage, Storage};

use super::partitions::spec;
use super::{DIR, numbers, open, read_numbers, sorted};
use crate::error::{Error, Result};
use crate::table::{PartSelection, TableParts, finish_moves};

const OTHER_DIR: &str = "/store/other";

fn partition(id: &str) -> PartSelection {
    PartSelection::Partition(id.to_owned())
}

fn table() -> (FaultyStorage, TableParts) {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec()).unwrap();
    parts.insert(numbers(0..30)).unwrap();
    parts.insert(numbers(10..13)).unwrap();
    (storage, parts)
}

fn other(storage: &FaultyStorage) -> TableParts {
    let clock = Arc::new(ManualClock::at(1_000_000));
    TableParts::open_with_clock(Arc::new(storage.clone()), clock, PathBuf::from(OTHER_DIR), spec()).unwrap()
}

fn check(parts: &TableParts, expected: impl IntoIterator<Item = u64>) {
    assert_eq!(sorted(read_numbers(parts).unwrap()), sorted(expected.into_iter().collect()));
}

#[test]
fn dropped_partition_is_gone_for_good_and_readers_keep_theirs() {
    let (storage, parts) = table();
    let snapshot = parts.snapshot();
    assert_eq!(parts.drop_parts(&partition("1")).unwrap(), 2);
    check(&parts, (0..10).chain(20..30));
    assert_eq!(snapshot.iter().map(|part| part.row_count()).sum::<u64>(), 33);
    snapshot.iter().for_each(|part| part.check().unwrap());
    drop((snapshot, parts));
    check(&open(&storage, spec()).unwrap(), (0..10).chain(20..30));
    assert!(!storage.exists(&Path::new(DIR).join("1_2_2_0")).unwrap());
}

#[test]
fn part_in_the_middle_is_dropped_alone() {
    let (_storage, parts) = table();
    parts.insert(numbers(15..18)).unwrap();
    parts.drop_parts(&PartSelection::Part("1_4_4_0".to_owned())).unwrap();
    check(&parts, (0..30).chain(15..18));
    let error = parts.drop_parts(&PartSelection::Part("1_4_4_0".to_owned())).unwrap_err();
    assert!(matches!(error, Error::NoSuchPart { .. }), "{error}");
}

#[test]
fn detached_partition_comes_back_and_may_be_dropped_there() {
    let (storage, parts) = table();
    parts.detach_parts(&partition("1"), None).unwrap();
    check(&parts, (0..10).chain(20..30));
    drop(parts);
    let parts = open(&storage, spec()).unwrap();
    let names: Vec<String> =
        parts.attach_parts(&partition("1")).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 2);
    check(&parts, (0..30).chain(10..13));
    parts.detach_parts(&PartSelection::Part(names[1].clone()), Some("why not")).unwrap();
    check(&parts, 0..30);
    assert_eq!(parts.drop_detached(&PartSelection::All).unwrap(), 1);
    assert!(parts.attach_parts(&PartSelection::All).unwrap().is_empty());
    drop(parts);
    check(&open(&storage, spec()).unwrap(), 0..30);
}

#[test]
fn partition_of_another_table_is_added_or_replaces() {
    let (storage, parts) = table();
    let source = other(&storage);
    source.insert(numbers(5..25)).unwrap();
    parts.attach_from(&source, "2", false).unwrap();
    check(&parts, (0..30).chain(10..13).chain(20..25));
    parts.attach_from(&source, "1", true).unwrap();
    check(&parts, (0..30).chain(20..25));
    parts.attach_from(&source, "7", true).unwrap();
    check(&source, 5..25);
    drop(source);
    storage.remove_dir_all(Path::new(OTHER_DIR)).unwrap();
    drop(parts);
    check(&open(&storage, spec()).unwrap(), (0..30).chain(20..25));
}

#[test]
fn frozen_parts_are_a_table_of_their_own() {
    let (storage, parts) = table();
    parts.freeze(&PartSelection::All, Path::new(OTHER_DIR)).unwrap();
    parts.truncate().unwrap();
    check(&other(&storage), (0..30).chain(10..13));
}

/// A command, and the state after it.
struct Change {
    run: fn(&TableParts, &TableParts) -> Result<()>,
    after: fn() -> Vec<u64>,
}

/// At every sync: the old state or the new one.
#[test]
fn every_command_is_whole_or_absent_after_a_crash_at_every_sync() {
    let changes = [
        Change { run: |parts, _| parts.drop_parts(&PartSelection::All).map(|_| ()), after: Vec::new },
        Change {
            run: |parts, _| parts.drop_parts(&partition("1")).map(|_| ()),
            after: || (0..10).chain(20..30).collect(),
        },
        Change {
            run: |parts, _| parts.detach_parts(&partition("1"), Some("test")).map(|_| ()),
            after: || (0..10).chain(20..30).collect(),
        },
        Change {
            run: |parts, source| parts.attach_from(source, "1", true).map(|_| ()),
            after: || (0..10).chain(20..30).chain(15..18).collect(),
        },
        Change {
            run: |parts, _| parts.attach_parts(&PartSelection::All).map(|_| ()),
            after: || (0..30).chain(10..13).chain(90..95).chain(80..83).collect(),
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let (storage, parts, source) = prepared();
        let before = storage.sync_count();
        (change.run)(&parts, &source).unwrap();
        check(&parts, (change.after)());
        let syncs = storage.sync_count() - before;
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            (0..=syncs).for_each(|sync| check_crash(number, change, crash, sync));
        }
    }
}

/// A table with rows and detached parts, and another table as a source.
fn prepared() -> (FaultyStorage, TableParts, TableParts) {
    let (storage, parts) = table();
    parts.insert(numbers(90..95)).unwrap();
    parts.insert(numbers(80..83)).unwrap();
    parts.detach_parts(&partition("9"), None).unwrap();
    parts.detach_parts(&partition("8"), None).unwrap();
    // The removal of the last record may not be durable yet, and names are used again.
    drop(parts);
    let parts = open(&storage, spec()).unwrap();
    let source = other(&storage);
    source.insert(numbers(15..18)).unwrap();
    (storage, parts, source)
}

fn check_crash(number: usize, change: &Change, crash: Crash, sync: u64) {
    let (storage, parts, source) = prepared();
    let before = sorted(read_numbers(&parts).unwrap());
    storage.stop_at_sync(storage.sync_count() + sync);
    let acknowledged = (change.run)(&parts, &source).is_ok();
    drop((parts, source));
    storage.crash(crash);
    for _ in 0..2 {
        let parts = open(&storage, spec()).unwrap();
        assert!(parts.detached().is_empty(), "{number} {crash:?} at {sync}: {:?}", parts.detached());
        let found = sorted(read_numbers(&parts).unwrap());
        let is_after = found == sorted((change.after)());
        let is_before = found == before;
        assert!(is_after || (is_before && !acknowledged), "{number} {crash:?} at {sync}: {found:?}");
        // A second crash right after recovery changes nothing.
        drop(parts);
        storage.crash(crash);
    }
}

/// The directory of both tables.
const ABOVE: &str = "/store";

#[test]
fn moved_partition_is_in_the_other_table() {
    let (storage, parts) = table();
    let target = other(&storage);
    target.insert(numbers(14..16)).unwrap();
    parts.move_to(&target, "1", Path::new(ABOVE)).unwrap();
    parts.move_to(&target, "7", Path::new(ABOVE)).unwrap();
    check(&parts, (0..10).chain(20..30));
    check(&target, (10..20).chain(10..13).chain(14..16));
    drop((parts, target));
    finish_moves(&storage, Path::new(ABOVE)).unwrap();
    check(&open(&storage, spec()).unwrap(), (0..10).chain(20..30));
    check(&other(&storage), (10..20).chain(10..13).chain(14..16));
    let above = parts_error(&storage);
    assert!(above.contains("is not above"), "{above}");
}

fn parts_error(storage: &FaultyStorage) -> String {
    let (parts, target) = (open(storage, spec()).unwrap(), other(storage));
    parts.move_to(&target, "2", Path::new("/elsewhere")).unwrap_err().to_string()
}

/// At every change of the disk: all rows of the partition are in exactly one of the tables.
#[test]
fn moved_partition_is_in_one_table_after_a_crash_at_every_change() {
    let (storage, parts) = table();
    let target = other(&storage);
    let before = storage.change_count();
    parts.move_to(&target, "1", Path::new(ABOVE)).unwrap();
    let changes = storage.change_count() - before;
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        (0..=changes).for_each(|change| check_move(crash, change));
    }
}

fn check_move(crash: Crash, change: u64) {
    let (storage, parts) = table();
    let target = other(&storage);
    storage.stop_at_change(storage.change_count() + change);
    let acknowledged = parts.move_to(&target, "1", Path::new(ABOVE)).is_ok();
    drop((parts, target));
    storage.crash(crash);
    let mut first = None;
    for round in 0..3 {
        finish_moves(&storage, Path::new(ABOVE)).unwrap();
        // In either order of opening.
        let (parts, target) = match round {
            1 => (open(&storage, spec()).unwrap(), other(&storage)),
            _ => {
                let target = other(&storage);
                (open(&storage, spec()).unwrap(), target)
            }
        };
        let rows = |parts: &TableParts| sorted(read_numbers(parts).unwrap());
        let found = (rows(&parts), rows(&target));
        let is_before = found.1.is_empty() && found.0.len() == 33;
        let is_after = found.1.len() == 13 && found.0.len() == 20;
        let context = format!("{crash:?} at {change}: {found:?}");
        assert!(is_after || (is_before && !acknowledged), "{context}");
        assert_eq!(first.get_or_insert(found.clone()), &found, "{context}");
        drop((parts, target));
        storage.crash(crash);
    }
    let left: Vec<String> =
        storage.list(Path::new(ABOVE)).unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(left.iter().all(|name| !name.contains("moves")), "{left:?}");
}

#[test]
fn damaged_record_of_moves_is_set_aside() {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new(ABOVE)).unwrap();
    let record = Path::new(ABOVE).join("moves.rec");
    basalt_base::fs::publish_file(&storage, &record, b"nothing that we know").unwrap();
    finish_moves(&storage, Path::new(ABOVE)).unwrap();
    assert!(!storage.exists(&record).unwrap());
    assert!(storage.exists(&record.with_extension("rec.damaged")).unwrap());
}
