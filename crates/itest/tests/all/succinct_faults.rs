//! Succinct tables with damaged segments, with values at the bounds, and dropped while they are read.

use std::path::{Path, PathBuf};

use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::tempdir;

/// Where in the header of a segment the required features and the checksum are.
const FEATURES_OFFSET: usize = 8;
const HEADER_CHECKSUM_OFFSET: usize = 60;

/// Far from the other columns: a checksum is for 64 KiB.
const NEEDLE: &[u8] = b"the needle 24999";

/// The segments of the tables in `data`.
fn segments(data: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for table in std::fs::read_dir(data.join("store")).expect("the directory of tables") {
        let Ok(entries) = std::fs::read_dir(table.expect("readable").path().join("segments")) else {
            continue;
        };
        found.extend(entries.map(|entry| entry.expect("readable").path()));
    }
    found
}

/// A table with one segment, which `damage` changes, and another table.
fn damaged(data: &Path, damage: impl FnOnce(&mut Vec<u8>)) -> Server {
    let made = local(
        data,
        "CREATE TABLE t (k UInt64, s String CODEC(NONE), n UInt32, INDEX by_n (n)) ENGINE = Succinct PRIMARY KEY k; \
         INSERT INTO t SELECT number, concat('the needle ', toString(number)), number % 10 FROM numbers(50000); \
         OPTIMIZE TABLE t FINAL",
    );
    made.expect();
    let [segment] = segments(data).try_into().expect("one segment");
    let mut bytes = std::fs::read(&segment).expect("readable");
    damage(&mut bytes);
    std::fs::write(&segment, bytes).expect("writable");
    let server = Server::start(data);
    server.ask("CREATE TABLE good (k UInt64) ENGINE = Succinct PRIMARY KEY k");
    server.ask("INSERT INTO good SELECT number FROM numbers(1000)");
    server
}

/// Reading the table is an error that names the segment, and the server lives.
#[track_caller]
fn check_refused(server: &mut Server, statements: &[&str], words: &str) {
    for statement in statements {
        let refused = server.post("", statement.as_bytes());
        assert_ne!(refused.status, 200, "{statement}: {}", refused.text());
        let text = refused.text();
        assert!(text.contains(".seg") && text.contains(words), "{statement}: {text}");
        assert!(!text.contains("LOGICAL_ERROR"), "{statement}: {text}");
    }
    assert_eq!(server.ask("SELECT sum(k) FROM good"), "499500\n");
    assert!(server.is_alive());
}

#[test]
fn flipped_bit_in_a_column_is_an_error_for_those_who_read_it() {
    let dir = tempdir().expect("a directory");
    let mut server = damaged(dir.path(), |bytes| {
        let at = bytes.windows(NEEDLE.len()).position(|part| part == NEEDLE).expect("plain strings");
        bytes[at] ^= 4;
    });
    let readers = [
        "SELECT sum(cityHash64(s)) FROM t",
        "SELECT count() FROM t WHERE s LIKE '%499_'",
        "SELECT s FROM t WHERE k = 24999",
        "SELECT k, s FROM t ORDER BY k DESC",
    ];
    check_refused(&mut server, &readers, "is damaged between byte");
    assert_eq!(server.ask("SELECT count(), sum(k), sum(n) FROM t"), "50000\t1249975000\t225000\n");
    let checked = server.ask("CHECK TABLE t");
    let is_reported = |line: &str| line.starts_with("1.seg\t0\t") && line.contains("is damaged between byte");
    assert!(checked.lines().any(is_reported), "{checked}");
    // A merge fails and keeps what it would have replaced.
    server.ask("INSERT INTO t VALUES (60000, 'new', 1)");
    check_refused(&mut server, &["OPTIMIZE TABLE t FINAL"], "is damaged between byte");
    assert_eq!(server.ask("SELECT count(), sum(k) FROM t"), "50001\t1250035000\n");
    let failure = server.ask("SELECT DISTINCT last_failure FROM system.succinct_segments WHERE table = 't'");
    assert!(failure.contains("is damaged between byte"), "{failure}");
    assert_eq!(server.ask("SELECT s FROM t WHERE k = 60000"), "new\n");
}

#[test]
fn damaged_header_or_footer_is_an_error_and_the_table_can_be_dropped() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(Damage, &str); 6] = [
        (|bytes| bytes[0] ^= 1, "magic"),
        (|bytes| bytes[9] ^= 1, "checksum"),
        (|bytes| *bytes.last_mut().expect("not empty") ^= 1, "magic"),
        (|bytes| bytes.truncate(bytes.len() / 2), "magic"),
        (Vec::clear, "0 bytes"),
        (|bytes| require_unknown_feature(bytes), "feature"),
    ];
    for (damage, words) in damages {
        let dir = tempdir().expect("a directory");
        let mut server = damaged(dir.path(), damage);
        let statements =
            ["SELECT count() FROM t", "INSERT INTO t VALUES (1, '', 1)", "OPTIMIZE TABLE t", "CHECK TABLE t"];
        check_refused(&mut server, &statements, words);
        assert!(server.log().contains(".seg"), "{}", server.log());
        server.ask("DROP TABLE t");
        server.ask("CREATE TABLE t (k UInt64) ENGINE = Succinct PRIMARY KEY k");
    }
}

/// A header as a later version would write it.
fn require_unknown_feature(bytes: &mut [u8]) {
    bytes[FEATURES_OFFSET + 7] |= 0x40;
    let checksum = crc32c(&bytes[..HEADER_CHECKSUM_OFFSET]);
    bytes[HEADER_CHECKSUM_OFFSET..HEADER_CHECKSUM_OFFSET + 4].copy_from_slice(&checksum.to_le_bytes());
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |rest: u32| (rest >> 1) ^ (0x82F6_3B78 & (rest & 1).wrapping_neg());
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |rest, _| step(rest)))
}

#[test]
fn missing_segment_is_an_error() {
    let dir = tempdir().expect("a directory");
    let server = damaged(dir.path(), |_| {});
    server.kill();
    let sizes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
    let largest = segments(dir.path()).into_iter().max_by_key(sizes).expect("one segment");
    std::fs::remove_file(largest).expect("it is there");
    let mut server = Server::start(dir.path());
    check_refused(&mut server, &["SELECT count() FROM t", "INSERT INTO t VALUES (1, '', 1)"], "1.seg");
}

#[test]
fn restored_table_survives_the_damage_of_its_origin() {
    let dir = tempdir().expect("a directory");
    let server = damaged(dir.path(), |_| {});
    server.ask("BACKUP TABLE t TO File('b')");
    let answer = "50000\t1249975000\t225000\n";
    let count = |name: &str| format!("SELECT count(), sum(k), sum(n) FROM {name}");
    server.ask("DROP TABLE t SYNC");
    server.ask("RESTORE TABLE t FROM File('b')");
    server.ask("RESTORE TABLE t AS u FROM File('b')");
    assert_eq!(server.ask(&count("t")), answer);
    server.ask("DELETE FROM t WHERE 1");
    server.ask("OPTIMIZE TABLE t FINAL");
    server.kill();
    let server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT count() FROM t"), "0\n");
    assert_eq!(server.ask(&count("u")), answer);
    server.ask("RESTORE TABLE t AS v FROM File('b')");
    assert_eq!(server.ask(&count("v")), answer);
}

#[test]
fn damaged_backup_is_an_error_and_leaves_no_table() {
    let dir = tempdir().expect("a directory");
    let mut server = damaged(dir.path(), |_| {});
    for name in ["no_statement", "no_create", "no_data", "wrong"] {
        server.ask(&format!("BACKUP TABLE t TO File('{name}')"));
    }
    let backup = |name: &str| dir.path().join("backups").join(name);
    std::fs::remove_file(backup("no_statement").join("table.sql")).expect("it is there");
    std::fs::write(backup("no_create").join("table.sql"), "SELECT 1").expect("writable");
    std::fs::remove_dir_all(backup("no_data").join("data/rocksdb")).expect("it is there");
    let create = "CREATE TABLE t (k String) ENGINE = MergeTree ORDER BY k";
    std::fs::write(backup("wrong").join("table.sql"), create).expect("writable");
    for name in ["no_statement", "no_create", "no_data", "wrong"] {
        let refused = server.post("", format!("RESTORE TABLE t AS r FROM File('{name}')").as_bytes());
        assert_ne!(refused.status, 200, "{name}");
        let text = refused.text();
        assert!(text.contains(name) && !text.contains("LOGICAL_ERROR"), "{name}: {text}");
        assert_eq!(server.ask("EXISTS TABLE r"), "0\n", "{name}");
        assert!(server.is_alive());
    }
    server.ask("CREATE TABLE r (k UInt64) ENGINE = Succinct PRIMARY KEY k");
    let tables = std::fs::read_dir(dir.path().join("store")).expect("the directory of tables").count();
    assert_eq!(tables, 3, "a failed RESTORE has left a directory");
}
