//! `basalt inspect` describes segments, data parts and files of dictionaries, and finds their damage.

use std::path::{Path, PathBuf};

use basalt_itest::program::{Ended, local, run};
use basalt_itest::server::Server;
use tempfile::tempdir;

const DAMAGED: Option<i32> = Some(1);
/// Far from the other columns: a checksum is for 64 KiB.
const NEEDLE: &[u8] = b"the needle 24999";

fn inspect(path: &Path) -> Ended {
    run(&["inspect", path.to_str().expect("temporary paths are UTF-8")], b"")
}

/// The paths below `folder` with this end.
fn found(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.to_string_lossy().ends_with(end) {
            paths.push(path);
        } else if path.is_dir() {
            paths.extend(found(&path, end));
        }
    }
    paths
}

#[track_caller]
fn one(folder: &Path, end: &str) -> PathBuf {
    let [path] = found(folder, end).try_into().expect("one path");
    path
}

/// Calls `change` with the bytes of the file, and brings them back after `then`.
fn damaged(path: &Path, change: impl FnOnce(&mut Vec<u8>), then: impl FnOnce()) {
    let whole = std::fs::read(path).expect("readable");
    let mut bytes = whole.clone();
    change(&mut bytes);
    std::fs::write(path, bytes).expect("writable");
    then();
    std::fs::write(path, whole).expect("writable");
}

#[track_caller]
fn check_damaged(path: &Path, report: &[&str], damage: &[&str]) {
    let ended = inspect(path);
    assert_eq!(ended.code, DAMAGED, "{}\n{}", ended.stdout, ended.stderr);
    assert!(report.iter().all(|words| ended.stdout.contains(words)), "{}", ended.stdout);
    assert!(damage.iter().all(|words| ended.stderr.contains(words)), "{}", ended.stderr);
    assert!(ended.stderr.contains("what to do: "), "{}", ended.stderr);
}

#[test]
fn a_segment_is_described_and_its_damaged_page_is_named() {
    let dir = tempdir().expect("a directory");
    local(
        dir.path(),
        "CREATE TABLE t (k UInt64, s String CODEC(NONE), n UInt32, INDEX by_n (n)) ENGINE = Succinct PRIMARY KEY k; \
         INSERT INTO t SELECT number, concat('the needle ', toString(number)), number % 10 FROM numbers(50000); \
         OPTIMIZE TABLE t FINAL",
    )
    .expect();
    let segment = one(dir.path(), ".seg");
    let report = inspect(&segment).expect();
    for words in [
        "rows               50000\n",
        "key index",
        "dense",
        "column/",
        "index/",
        "filter",
        " pages verified\n",
    ] {
        assert!(report.contains(words), "no {words} in: {report}");
    }
    let at = std::fs::read(&segment).expect("readable");
    let at = at.windows(NEEDLE.len()).position(|part| part == NEEDLE).expect("plain strings");
    damaged(
        &segment,
        |bytes| bytes[at] ^= 4,
        || {
            let page = format!("page {} at offset {} is damaged (1 of ", at >> 16, at >> 16 << 16);
            check_damaged(&segment, &["DAMAGED in page", "  ok\n"], &[&page, ".seg"]);
        },
    );
    damaged(&segment, |bytes| bytes[20] ^= 1, || check_damaged(&segment, &[], &["checksum of its header"]));
    damaged(&segment, |bytes| bytes.truncate(5000), || check_damaged(&segment, &[], &[".seg"]));
    inspect(&segment).expect();
}

#[test]
fn a_data_part_is_described_while_a_server_has_it_and_its_damage_is_named() {
    let dir = tempdir().expect("a directory");
    for (table, settings) in
        [("wide", "min_bytes_for_wide_part = 0"), ("compact", "min_bytes_for_wide_part = 1000000000")]
    {
        let create = format!(
            "CREATE TABLE {table} (k UInt64 CODEC(ZSTD(1)), s Nullable(String), INDEX i s TYPE bloom_filter) \
             ENGINE = MergeTree ORDER BY k % 10 SETTINGS {settings}"
        );
        local(dir.path(), &format!("{create}; INSERT INTO {table} SELECT number, toString(cityHash64(number)) FROM numbers(20000)"))
            .expect();
    }
    let server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT count() FROM wide"), "20000\n");
    let parts = found(dir.path(), "all_1_1_0");
    assert_eq!(parts.len(), 2);
    let reports: String = parts.iter().map(|part| inspect(part).expect()).collect();
    for words in [
        "Wide\n",
        "Compact\n",
        "rows           20000\n",
        "Nullable(String)",
        "ZSTD",
        "skip indexes\n",
        " verified\n",
    ] {
        assert!(reports.contains(words), "no {words} in: {reports}");
    }
    for part in &parts {
        for entry in std::fs::read_dir(part).expect("readable") {
            let path = entry.expect("readable").path();
            let middle = |bytes: &mut Vec<u8>| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x10;
            };
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            damaged(&path, middle, || check_damaged(part, &["a data part"], &[&name, "corrupt at byte"]));
        }
    }
    let meta = parts[0].join("part.meta");
    std::fs::remove_file(&meta).expect("removable");
    let error = inspect(&parts[0]).expect_error("BAD_ARGUMENTS");
    assert!(error.contains("`part.meta`"), "{error}");
}

#[test]
fn the_file_of_a_dictionary_is_described_and_its_damage_is_found() {
    let dir = tempdir().expect("a directory");
    local(
        dir.path(),
        "CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k; \
         INSERT INTO t SELECT number * 1000003, toString(number) FROM numbers(20000); \
         CREATE DICTIONARY d (k UInt64, s String) PRIMARY KEY k SOURCE(CLICKHOUSE(TABLE 't')) LAYOUT(HASHED()) \
         LIFETIME(0) SETTINGS(persist = 1); \
         SYSTEM RELOAD DICTIONARY d",
    )
    .expect();
    let file = one(dir.path(), "dictionary.bin");
    let report = inspect(&file).expect();
    for words in ["a loaded dictionary\n", "CREATE DICTIONARY", "sections\n", " blocks verified\n"] {
        assert!(report.contains(words), "no {words} in: {report}");
    }
    damaged(
        &file,
        |bytes| bytes[1000] ^= 1,
        || {
            check_damaged(&file, &["CREATE DICTIONARY"], &["is damaged between byte 0 and"]);
        },
    );
    damaged(&file, |bytes| bytes.truncate(999), || check_damaged(&file, &[], &["cut short"]));
}

#[test]
fn other_paths_are_refused_by_what_they_are_not() {
    let dir = tempdir().expect("a directory");
    let text = dir.path().join("a.txt");
    std::fs::write(&text, "words").expect("writable");
    let error = inspect(&text).expect_error("BAD_ARGUMENTS");
    assert!(
        ["no segment", "no file of a dictionary", "no directory of a data part"]
            .iter()
            .all(|words| error.contains(words)),
        "{error}"
    );
    let error = inspect(dir.path()).expect_error("BAD_ARGUMENTS");
    assert!(error.contains("is no data part"), "{error}");
    inspect(&dir.path().join("nothing")).expect_error("FILE_DOESNT_EXIST");
    run(&["inspect", "--max_threads", "1", "x"], b"").expect_error("BAD_ARGUMENTS");
}
