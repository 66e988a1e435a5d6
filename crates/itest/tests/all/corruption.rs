//! A damaged column file gives an error with its path and offset; other tables answer.

use std::path::{Path, PathBuf};

use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::tempdir;

/// Two tables, of which one is then damaged by `damage`.
#[track_caller]
fn check(damage: impl Fn(&mut Vec<u8>)) {
    let dir = tempdir().expect("a directory");
    let data = dir.path();
    local(data, "CREATE TABLE good (a UInt64) ENGINE = MergeTree ORDER BY a; INSERT INTO good SELECT number FROM numbers(1000)").expect();
    let before = files(&data.join("store"));
    let create = "CREATE TABLE bad (a UInt64, wide String CODEC(NONE)) ENGINE = MergeTree ORDER BY a";
    local(data, &format!("{create}; INSERT INTO bad SELECT number, repeat(toString(cityHash64(number)), 5) FROM numbers(50000)")).expect();
    let largest = largest(&files(&data.join("store")), &before);
    let mut bytes = std::fs::read(&largest).expect("readable");
    damage(&mut bytes);
    std::fs::write(&largest, bytes).expect("writable");

    let mut server = Server::start(data);
    let answer = server.post("", b"SELECT sum(cityHash64(wide)) FROM bad");
    assert_ne!(answer.status, 200, "damage was not seen: {}", answer.text());
    let name = largest.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    assert!(answer.text().contains(name), "no path in: {}", answer.text());
    assert!(answer.text().contains("byte"), "no offset in: {}", answer.text());
    assert_eq!(server.ask("SELECT sum(a) FROM good"), "499500\n");
    assert!(server.is_alive());
}

/// The new file with the most bytes: the wide column.
fn largest(files: &[PathBuf], before: &[PathBuf]) -> PathBuf {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
    let new = files.iter().filter(|path| !before.contains(path));
    new.max_by_key(|path| size(path)).expect("the table has files").clone()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn flipped_bit_is_an_error_with_its_place() {
    check(|bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    });
}

#[test]
fn truncated_file_is_an_error_with_its_place() {
    check(|bytes| bytes.truncate(bytes.len() / 2));
}

#[test]
fn empty_file_is_an_error_with_its_place() {
    check(Vec::clear);
}
