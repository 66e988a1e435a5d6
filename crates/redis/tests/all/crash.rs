//! A crash of the machine may leave holes in changes that were not synced: the store opens with all that were.

use std::path::Path;
use std::sync::Arc;

use basalt_base::ErrorCode;
use basalt_kv::{KvOptions, ReopeningStore, SharedCache};
use basalt_redis::SyncPolicy;

use crate::host::{Directory, TestHost, client};

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).expect("a directory");
    for entry in
        std::fs::read_dir(from).expect("a directory").flatten().filter(|entry| entry.path().is_file())
    {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}

fn log(store: &Path) -> std::path::PathBuf {
    let entries = std::fs::read_dir(store).expect("a directory").flatten().map(|entry| entry.path());
    let mut logs: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|name| name == "log")).collect();
    logs.sort();
    logs.pop().expect("a log")
}

fn open(store: &Path) -> basalt_base::Result<ReopeningStore> {
    let options = KvOptions { cache: SharedCache::new(1 << 20, 4 << 20), ..KvOptions::default() };
    ReopeningStore::open(store, basalt_redis::table::spec()?, options)
}

#[test]
fn holes_in_what_was_not_synced_are_no_damage() {
    let directory = Arc::new(Directory::new("holes"));
    let host = TestHost::open(Arc::clone(&directory), SyncPolicy::EverySecond);
    let mut client = client();
    (0..8).for_each(|at| drop(host.say(&mut client, &format!("SET synced{at} value{at}"))));
    host.database0().sync_log().expect("a sync");
    let store = directory.0.join("db0");
    let synced = std::fs::metadata(log(&store)).expect("a log").len() as usize;
    (0..8).for_each(|at| drop(host.say(&mut client, &format!("SET later{at} value{at}"))));
    let crashed = directory.0.join("crashed");
    let bytes = std::fs::read(log(&store)).expect("a log");
    assert!(bytes.len() > synced && synced > 0);
    for at in (0..bytes.len()).step_by(11) {
        copy(&store, &crashed);
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        std::fs::write(log(&crashed), damaged).expect("writable");
        match open(&crashed) {
            Ok(opened) => {
                assert!(at >= synced, "damage at {at} of {synced} synced bytes was not seen");
                let rows = opened.readable().expect("a store");
                let mut found =
                    rows.encoded_rows(&basalt_kv::ByteRange::default(), basalt_kv::Direction::Ascending);
                let mut count = 0;
                while let Some((key, _)) = found.current().expect("rows") {
                    count += usize::from(key.starts_with(b"synced"));
                    found.advance();
                }
                assert_eq!(count, 8, "damage at {at}");
            }
            Err(error) => {
                assert!(at < synced, "damage at {at} of {synced} synced bytes: {error}");
                assert_eq!(error.code(), ErrorCode::CorruptedData);
            }
        }
    }
}

#[test]
fn synced_changes_among_others_are_acknowledged() {
    let directory = Arc::new(Directory::new("policies"));
    let host = TestHost::open(Arc::clone(&directory), SyncPolicy::Always);
    let mut client = client();
    host.say(&mut client, "SET a 1");
    let store = directory.0.join("db0");
    let crashed = directory.0.join("crashed");
    copy(&store, &crashed);
    // The log is lost: a change that was answered is missed.
    std::fs::write(log(&crashed), b"").expect("writable");
    let error = open(&crashed).err().expect("a refused store");
    assert!(error.message().contains("acknowledged"), "{error}");
}
