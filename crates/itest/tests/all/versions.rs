//! Directories and parts of another format version are refused, with both versions in the error, and do not change.

use std::path::{Path, PathBuf};

use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::{TempDir, tempdir};

/// Two tables with one row each.
fn database() -> TempDir {
    let dir = tempdir().expect("a directory");
    local(
        dir.path(),
        "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a; INSERT INTO t VALUES (1); \
         CREATE TABLE u (a UInt8) ENGINE = MergeTree ORDER BY a; INSERT INTO u VALUES (2)",
    )
    .expect();
    dir
}

/// The first file below `dir` that satisfies `is_meant`.
fn find(dir: &Path, is_meant: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    for entry in std::fs::read_dir(dir).expect("readable") {
        let path = entry.expect("readable").path();
        let found = if path.is_dir() { find(&path, is_meant) } else { is_meant(&path).then_some(path) };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The checksum at the end of the file.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn directory_of_another_version_is_not_opened() {
    for other in ["basalt 0", "basalt 2", "", "something else"] {
        let dir = database();
        let version = dir.path().join("VERSION");
        let own = std::fs::read(&version).expect("it is there");
        std::fs::write(&version, other).expect("writable");
        let refused = local(dir.path(), "SELECT * FROM t");
        assert_ne!(refused.code, Some(0), "{other}: {}", refused.stdout);
        for part in [version.to_str().expect("UTF-8"), other, "basalt 1"] {
            assert!(refused.stderr.contains(part), "no `{part}` in {}", refused.stderr);
        }
        // The directory did not change.
        std::fs::write(&version, own).expect("writable");
        assert_eq!(local(dir.path(), "SELECT * FROM t").expect(), "1\n");
    }
}

#[test]
fn part_of_a_newer_version_keeps_its_table_closed_and_no_other() {
    let dir = database();
    let table = find(&dir.path().join("metadata"), &|path| path.ends_with("t.sql")).expect("it is there");
    let text = std::fs::read_to_string(table).expect("readable");
    let uuid = text.lines().find_map(|line| line.strip_prefix("-- uuid ")).expect("its uuid");
    let store = dir.path().join("store").join(uuid);
    let meta = find(&store, &|path| path.ends_with("part.meta")).expect("it is there");
    let own = std::fs::read(&meta).expect("readable");
    let mut newer = own.clone();
    // After the magic of eight bytes.
    newer[8..12].copy_from_slice(&9_u32.to_le_bytes());
    let body = newer.len() - 4;
    let crc = crc32c(&newer[..body]).to_le_bytes();
    newer[body..].copy_from_slice(&crc);
    std::fs::write(&meta, newer).expect("writable");
    let mut server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT * FROM u"), "2\n");
    let refused = server.post("", b"SELECT * FROM t");
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("48"), "{}", refused.text());
    for part in [meta.to_str().expect("UTF-8"), "9", "2"] {
        assert!(refused.text().contains(part), "no `{part}` in {}", refused.text());
    }
    assert!(server.is_alive());
    drop(server);
    // It is still in its place.
    std::fs::write(&meta, own).expect("writable");
    assert_eq!(local(dir.path(), "SELECT * FROM t").expect(), "1\n");
}
