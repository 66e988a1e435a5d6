//! A store with damaged files: it has all acknowledged rows, or an error that names the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use basalt_base::{Column, Columns, Error, ErrorCode, SqlType};
use tempfile::{TempDir, tempdir};

use crate::load::LoadLimits;
use crate::{KeyRange, KvOptions, KvSpec, SharedCache, Store};

/// Makes a sorted file of every block.
const FILES: LoadLimits =
    LoadLimits { batch_rows: 0, batch_bytes: 0, ordered_bytes: 1, run_bytes: 1, file_bytes: 1 };
const ROWS: u64 = 7;

fn spec() -> KvSpec {
    let columns = vec![Column::new("key", SqlType::UInt64), Column::new("text", SqlType::String)];
    KvSpec::new(Columns::new(columns), vec![0]).expect("a valid definition")
}

fn options() -> KvOptions {
    KvOptions { cache: SharedCache::new(1 << 20, 4 << 20), ..KvOptions::default() }
}

fn open(path: &Path) -> Result<Arc<Store>, Error> {
    Store::open(path, spec(), options()).map(Arc::new)
}

fn rows(from: u64) -> RecordBatch {
    let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(from..from + ROWS));
    let texts = (from..from + ROWS).map(|key| format!("the text of {key}"));
    let texts: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(texts));
    RecordBatch::try_new(spec().columns.to_arrow(), vec![keys, texts]).expect("columns of one length")
}

fn count(store: &Store) -> usize {
    store.scan(&KeyRange::all(), &[0]).expect("a range").map(|batch| batch.expect("rows").num_rows()).sum()
}

fn load(store: &Arc<Store>, from: u64) {
    let mut load = store.begin_load_within(1, FILES).expect("a writable store");
    load.write(&rows(from)).expect("rows");
    load.commit().expect("a load");
}

/// A store with rows in sorted files of both kinds and, for the last `logged` blocks, in its log.
fn store_of(blocks: u64, logged: u64) -> (TempDir, PathBuf) {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("rocksdb");
    let store = open(&path).expect("a new store");
    for block in 0..blocks {
        if block == blocks - logged {
            store.compact().expect("a compaction");
        }
        match block % 3 {
            0 if block < blocks - logged => load(&store, block * ROWS),
            _ => store.insert(&rows(block * ROWS)).expect("an insert"),
        }
    }
    drop(store);
    (dir, path)
}

fn files(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let names = std::fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &PathBuf| path.file_name().expect("a name").to_str().expect("ASCII").to_owned();
    let mut files: Vec<PathBuf> = names.filter(|path| is_wanted(&name(path))).collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for file in files(from, |name| name != "loads") {
        std::fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("a copy");
    }
}

/// The store with `bytes` as its file: either all rows, or an error with the file's name and no change.
fn check(path: &Path, file: &Path, bytes: &[u8], expected: usize, what: &str) -> Option<Error> {
    let dir = tempdir().expect("a directory");
    let damaged = dir.path().join("rocksdb");
    copy(path, &damaged);
    let name = file.file_name().expect("a name");
    std::fs::write(damaged.join(name), bytes).expect("writable");
    let sorted = files(&damaged, |name| name.ends_with(".sst"));
    match open(&damaged) {
        Ok(store) => {
            assert_eq!(count(&store), expected, "{what}");
            None
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::CorruptedData, "{what}: {error}");
            let names_it = error.message().contains(name.to_str().expect("ASCII"));
            let names_log = error.message().contains(".log") || error.message().contains("MANIFEST");
            assert!(names_it || names_log, "{what}: {error}");
            assert_eq!(files(&damaged, |name| name.ends_with(".sst")), sorted, "{what}");
            assert_eq!(std::fs::read(damaged.join(name)).expect("readable"), bytes, "{what}");
            Some(error)
        }
    }
}

fn check_file(path: &Path, file: &Path, expected: usize) {
    let bytes = std::fs::read(file).expect("readable");
    let mut refused = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let what = format!("{} with a flip in byte {at}", file.display());
        refused += usize::from(check(path, file, &flipped, expected, &what).is_some());
        let what = format!("{} cut to {at} bytes", file.display());
        refused += usize::from(check(path, file, &bytes[..at], expected, &what).is_some());
    }
    assert!(refused > bytes.len(), "{}: only {refused} of {} were seen", file.display(), 2 * bytes.len());
}

#[test]
fn every_flip_and_every_cut_of_a_log_is_seen() {
    let (_dir, path) = store_of(4, 2);
    let logs = files(&path, |name| name.ends_with(".log"));
    for log in logs {
        check_file(&path, &log, 4 * ROWS as usize);
    }
}

#[test]
fn every_flip_and_every_cut_of_a_manifest_is_seen() {
    let (_dir, path) = store_of(5, 1);
    let manifests = files(&path, |name| name.starts_with("MANIFEST"));
    assert_eq!(manifests.len(), 1);
    check_file(&path, &manifests[0], 5 * ROWS as usize);
}

#[test]
fn a_damaged_note_of_what_is_durable_loses_nothing() {
    let (_dir, path) = store_of(3, 1);
    let note = &files(&path, |name| name == "ACKNOWLEDGED")[0];
    let bytes = std::fs::read(note).expect("readable");
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        if at % 512 < 48 {
            check(&path, note, &flipped, 3 * ROWS as usize, "a flipped note");
        }
    }
    check(&path, note, &[], 3 * ROWS as usize, "an empty note");
}

/// A power cut leaves part of an unacknowledged record, or zeros, and an older acknowledged state.
#[test]
fn a_record_that_a_crash_cut_off_is_left_out() {
    let (_dir, path) = store_of(2, 1);
    let log = files(&path, |name| name.ends_with(".log")).pop().expect("a log");
    let whole = std::fs::read(&log).expect("readable");
    let note = std::fs::read(path.join("ACKNOWLEDGED")).expect("readable");
    open(&path).expect("a sound store").insert(&rows(100)).expect("an insert");
    let later = files(&path, |name| name.ends_with(".log")).pop().expect("a log");
    let record = std::fs::read(&later).expect("readable");
    for length in 1..record.len() {
        let (_dir, path) = store_of(2, 1);
        std::fs::write(path.join("ACKNOWLEDGED"), &note).expect("writable");
        let torn = [whole.as_slice(), &record[..length]].concat();
        std::fs::write(files(&path, |name| name.ends_with(".log")).pop().expect("a log"), torn)
            .expect("writable");
        assert_eq!(count(&open(&path).expect("a torn store")), 2 * ROWS as usize, "{length} bytes");
    }
}

/// A power cut takes the end of a log that was not synced, at any byte.
#[test]
fn a_store_that_does_not_sync_opens_with_its_first_changes() {
    let unsynced = KvOptions { syncs_log: false, ..options() };
    let open = |path: &Path| Store::open(path, spec(), unsynced.clone()).map(Arc::new);
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("rocksdb");
    let store = open(&path).expect("a new store");
    load(&store, 0);
    (1..4).for_each(|block| store.insert(&rows(block * ROWS)).expect("an insert"));
    drop(store);
    let log = files(&path, |name| name.ends_with(".log")).pop().expect("a log");
    let whole = std::fs::read(&log).expect("readable");
    let mut counts = Vec::new();
    for length in 0..=whole.len() {
        let dir = tempdir().expect("a directory");
        let cut = dir.path().join("rocksdb");
        copy(&path, &cut);
        std::fs::write(cut.join(log.file_name().expect("a name")), &whole[..length]).expect("writable");
        counts.push(count(&open(&cut).unwrap_or_else(|error| panic!("{length} bytes: {error}"))));
    }
    assert!(counts.is_sorted(), "{counts:?}");
    counts.dedup();
    assert_eq!(counts, [1, 2, 3, 4].map(|blocks| blocks * ROWS as usize));
}

#[test]
fn a_store_without_its_first_file_is_refused() {
    let (_dir, path) = store_of(3, 1);
    std::fs::remove_file(path.join("CURRENT")).expect("it was there");
    let error = open(&path).err().expect("a damaged store");
    assert!(error.message().contains("CURRENT"), "{error}");
    assert!(!files(&path, |name| name.ends_with(".sst")).is_empty());
}

#[test]
fn a_restored_store_has_what_can_be_read() {
    let (_dir, path) = store_of(6, 3);
    let log = files(&path, |name| name.ends_with(".log")).pop().expect("a log");
    let mut bytes = std::fs::read(&log).expect("readable");
    bytes[20] ^= 1;
    std::fs::write(&log, &bytes).expect("writable");
    assert!(open(&path).is_err());
    let aside = Store::restore(&path, &options()).expect("a store of which something is left");
    assert_eq!(std::fs::read(aside.join(log.file_name().expect("a name"))).expect("kept"), bytes);
    let store = open(&path).expect("a restored store");
    let left = count(&store);
    assert!((3 * ROWS as usize..6 * ROWS as usize).contains(&left), "{left} rows");
    store.insert(&rows(1000)).expect("an insert");
    drop(store);
    assert_eq!(count(&open(&path).expect("a sound store")), left + ROWS as usize);
}

#[test]
fn a_store_is_restored_from_its_sorted_files() {
    for is_cut in [true, false] {
        let (_dir, path) = store_of(6, 2);
        let manifest = files(&path, |name| name.starts_with("MANIFEST")).pop().expect("one");
        let bytes = std::fs::read(&manifest).expect("readable");
        std::fs::write(&manifest, &bytes[..if is_cut { bytes.len() - 3 } else { 0 }]).expect("writable");
        assert!(open(&path).is_err());
        Store::restore(&path, &options()).expect("a store of which all rows are left");
        assert_eq!(count(&open(&path).expect("a restored store")), 6 * ROWS as usize);
    }
}
