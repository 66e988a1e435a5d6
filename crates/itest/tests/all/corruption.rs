//! A damaged column file gives an error with its path and offset; other tables still answer.

use std::path::{Path, PathBuf};

use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::tempdir;

/// Two tables, one of which is damaged by `damage`.
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

/// The largest new file: the wide column.
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

/// The file of the key/value table whose name is wanted.
fn store_file(data: &Path, is_wanted: impl Fn(&str) -> bool) -> PathBuf {
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
    let found = files(&data.join("store")).into_iter().filter(|path| is_wanted(&name(path)));
    found.max_by_key(|path| std::fs::metadata(path).map_or(0, |found| found.len())).expect("there is one")
}

/// Damages a file of a key/value table. The error names the file, other tables still answer, and SYSTEM RESTORE TABLE
/// opens the table with the readable data.
#[track_caller]
fn check_key_value(is_wanted: impl Fn(&str) -> bool, damage: impl Fn(&mut Vec<u8>), left: &[&str]) {
    let dir = tempdir().expect("a directory");
    let data = dir.path();
    let server = Server::start(data);
    for name in ["kv", "good"] {
        server.ask(&format!(
            "CREATE TABLE {name} (k UInt64, s String, PRIMARY KEY k) ENGINE = EmbeddedRocksDB"
        ));
        if name == "kv" {
            server.ask("INSERT INTO kv SELECT number, repeat('x', 20) FROM numbers(150000)");
            for first in [200_000, 201_000, 202_000, 203_000, 204_000] {
                server.ask(&format!("INSERT INTO kv SELECT number, 'y' FROM numbers({first}, 1000)"));
            }
        }
    }
    server.kill();
    let file = store_file(data, is_wanted);
    let mut bytes = std::fs::read(&file).expect("readable");
    damage(&mut bytes);
    std::fs::write(&file, bytes).expect("writable");

    let server = Server::start(data);
    let refused = server.post("", b"SELECT count() FROM kv").text();
    let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    assert!(refused.contains(name) && refused.contains("SYSTEM RESTORE TABLE"), "{refused}");
    assert_eq!(server.ask("SELECT count() FROM good"), "0\n");
    server.ask("SYSTEM RESTORE TABLE kv");
    let rows = server.ask("SELECT count() FROM kv");
    assert!(left.contains(&rows.trim()), "{rows}");
    server.ask("INSERT INTO kv SELECT number, 'z' FROM numbers(300000, 10)");
    let more = server.ask("SELECT count() - 10 FROM kv");
    assert_eq!(more, rows);
}

#[test]
fn flipped_bit_of_a_key_value_log_is_an_error_until_the_table_is_restored() {
    check_key_value(
        |name| name.ends_with(".log"),
        |bytes| bytes[20] ^= 1,
        &["150000", "151000", "152000", "153000", "154000"],
    );
}

#[test]
fn key_value_log_that_was_cut_is_an_error_until_the_table_is_restored() {
    check_key_value(|name| name.ends_with(".log"), |bytes| bytes.truncate(bytes.len() - 3), &["154000"]);
}

#[test]
fn key_value_manifest_that_was_cut_is_an_error_until_the_table_is_restored() {
    check_key_value(
        |name| name.starts_with("MANIFEST"),
        |bytes| bytes.truncate(bytes.len() - 3),
        &["155000"],
    );
}
