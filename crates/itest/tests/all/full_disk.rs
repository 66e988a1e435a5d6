//! A full disk: stored data stays, the error names the path, the server keeps running, and the same statement works
//! when there is room again.

use std::path::{Path, PathBuf};
use std::process::Command;

use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;
use tempfile::{TempDir, tempdir};

/// The size of the file system.
const DISK: &str = "24m";

/// The file that fills the disk.
const BALLAST: &str = "ballast";

/// A small file system, unmounted at the end.
struct Disk {
    dir: TempDir,
}

impl Disk {
    /// `None` if this user may not mount a file system; prints the reason.
    fn mount() -> Option<Disk> {
        let dir = tempdir().expect("a directory");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={DISK}"), "tmpfs"]).arg(dir.path());
        let mounted = command.output().is_ok_and(|output| output.status.success());
        if !mounted {
            skipped_in_ci_too("a full disk needs the right to mount a tmpfs");
            return None;
        }
        Some(Disk { dir })
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        let block = vec![7_u8; 64 << 10];
        let mut file = std::fs::File::create(self.dir.path().join(BALLAST)).expect("a file");
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
        // Fill the rest, which is smaller than a block.
        while std::io::Write::write_all(&mut file, &block[..512]).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.dir.path().join(BALLAST)).expect("it is there");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.dir.path()).output();
    }
}

/// The statement fails on a full disk without changes, and works when there is room.
#[track_caller]
fn check(disk: &Disk, server: &mut Server, statement: &str, count: &str, (before, after): (&str, &str)) {
    assert_eq!(server.ask(count), before, "before {statement}");
    disk.fill();
    let health = server.get("/health");
    assert!(health.status == 503 && health.text().contains("the disk is full"), "{}", health.text());
    let refused = server.post("mutations_sync=1", statement.as_bytes());
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("243"), "{statement}: {}", refused.text());
    let store = disk.data();
    assert!(names_a_path(&refused.text(), &store), "{statement}: no path in {}", refused.text());
    assert_eq!(server.ask(count), before, "after {statement} failed");
    assert!(server.is_alive());
    disk.make_room();
    assert_eq!(server.get("/health").status, 200);
    let done = server.post("mutations_sync=1", statement.as_bytes());
    assert_eq!(done.status, 200, "{statement}: {}", done.text());
    assert_eq!(server.ask(count), after, "after {statement}");
}

fn names_a_path(text: &str, data: &Path) -> bool {
    text.contains(data.to_str().expect("temporary paths are UTF-8"))
}

const COUNT: &str = "SELECT count(), sum(k), sum(v) FROM t";

#[test]
fn statements_fail_without_a_trace_and_work_when_there_is_room() {
    let Some(disk) = Disk::mount() else { return };
    let mut server = Server::start(&disk.data());
    server.ask(
        "CREATE TABLE t (k UInt64, v UInt64 DEFAULT 1, s String) ENGINE = MergeTree ORDER BY k \
         SETTINGS min_bytes_for_wide_part = 0, non_replicated_deduplication_window = 10",
    );
    // Scheduled merges would change the work that is left.
    server.ask("SYSTEM STOP MERGES t");
    let empty = "0\t0\t0\n";
    let (first, second) = ("1000\t499500\t1000\n", "2000\t1999000\t2000\n");
    let insert = |from: u64| {
        format!("INSERT INTO t (k, s) SELECT number + {from}, repeat('x', number % 100) FROM numbers(1000)")
    };
    check(&disk, &mut server, &insert(0), COUNT, (empty, first));
    check(&disk, &mut server, &insert(1000), COUNT, (first, second));
    server.ask("SYSTEM START MERGES t");
    check(&disk, &mut server, "OPTIMIZE TABLE t FINAL", COUNT, (second, second));
    let parts = "SELECT count() FROM system.parts WHERE table = 't' AND active";
    assert_eq!(server.ask(parts), "1\n");
    let updated = "2000\t1999000\t4000\n";
    check(&disk, &mut server, "ALTER TABLE t UPDATE v = 2 WHERE 1", COUNT, (second, updated));
    check(&disk, &mut server, "ALTER TABLE t ADD COLUMN c UInt8 DEFAULT 3", COUNT, (updated, updated));
    check(&disk, &mut server, "DELETE FROM t WHERE k >= 1000", COUNT, (updated, "1000\t499500\t2000\n"));
    let left = "1000\t499500\t2000\n";
    check(&disk, &mut server, "CREATE TABLE u AS t", COUNT, (left, left));
    server.ask("ALTER TABLE t MOVE PARTITION tuple() TO TABLE u");
    let moved = "SELECT count(), sum(k), sum(v) FROM u";
    check(&disk, &mut server, "ALTER TABLE u MOVE PARTITION tuple() TO TABLE t", moved, (left, empty));
    assert_eq!(server.ask(COUNT), left);
    // The disk contains what the server reported.
    server.kill();
    let server = Server::start(&disk.data());
    assert_eq!(server.ask(COUNT), left);
    assert_eq!(server.ask("SELECT count(), uniqExact(c), any(c) FROM t"), "1000\t1\t3\n");
}

#[test]
fn key_value_table_on_a_full_disk_keeps_its_rows() {
    let Some(disk) = Disk::mount() else { return };
    let mut server = Server::start(&disk.data());
    server.ask("CREATE TABLE kv (k UInt64, s String, PRIMARY KEY k) ENGINE = EmbeddedRocksDB");
    server.ask("INSERT INTO kv SELECT number, 'x' FROM numbers(10)");
    disk.fill();
    let refused = server.post(
        "",
        b"INSERT INTO kv SELECT number + 100, repeat(toString(cityHash64(number)), 20) FROM numbers(20000)",
    );
    assert_ne!(refused.status, 200);
    assert!(server.is_alive());
    assert_eq!(server.ask("SELECT s FROM kv WHERE k = 3"), "x\n");
    let still = server.post("", b"INSERT INTO kv VALUES (1000, 'z')");
    assert_eq!(still.header("x-clickhouse-exception-code"), Some("243"), "{}", still.text());
    assert_eq!(server.ask("SELECT count() FROM kv"), "10\n");
    disk.make_room();
    server.ask("INSERT INTO kv SELECT number, 'y' FROM numbers(20)");
    assert_eq!(server.ask("SELECT count(), countIf(s = 'y') FROM kv"), "20\t20\n");
    server.ask("OPTIMIZE TABLE kv");
    server.ask("TRUNCATE TABLE kv");
    assert_eq!(server.ask("SELECT count() FROM kv"), "0\n");
}

#[test]
fn key_value_table_is_read_on_a_full_disk_and_written_when_there_is_room() {
    let Some(disk) = Disk::mount() else { return };
    let server = Server::start(&disk.data());
    server.ask("CREATE TABLE kv (k UInt64, s String, PRIMARY KEY k) ENGINE = EmbeddedRocksDB");
    server.ask("INSERT INTO kv SELECT number, 'x' FROM numbers(10)");
    server.kill();
    disk.fill();
    let server = Server::start(&disk.data());
    assert_eq!(server.ask("SELECT count(), any(s) FROM kv"), "10\tx\n");
    let refused = server.post("", b"INSERT INTO kv VALUES (1000, 'z')");
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("243"), "{}", refused.text());
    disk.make_room();
    server.ask("INSERT INTO kv VALUES (1000, 'z')");
    assert_eq!(server.ask("SELECT count(), max(k) FROM kv"), "11\t1000\n");
}

#[test]
fn succinct_table_on_a_full_disk_keeps_its_rows_and_goes_on_when_there_is_room() {
    let Some(disk) = Disk::mount() else { return };
    let mut server = Server::start(&disk.data());
    server.ask(
        "CREATE TABLE t (k UInt64, s String, INDEX by_s (s)) ENGINE = Succinct PRIMARY KEY k \
         SETTINGS segment_bytes = 100000000",
    );
    let insert = "INSERT INTO t SELECT number, repeat(hex(cityHash64(number)), 3) FROM numbers(20000)";
    server.ask(insert);
    let (count, rows) = ("SELECT count(), sum(k), uniqExact(s) FROM t", "20000\t199990000\t20000\n");
    disk.fill();
    for statement in ["OPTIMIZE TABLE t FINAL", "OPTIMIZE TABLE t", "BACKUP TABLE t TO File('b')"] {
        let refused = server.post("", statement.as_bytes());
        assert_eq!(
            refused.header("x-clickhouse-exception-code"),
            Some("243"),
            "{statement}: {}",
            refused.text()
        );
        assert!(names_a_path(&refused.text(), &disk.data()), "{}", refused.text());
        assert_eq!(server.ask(count), rows, "after {statement}");
        assert!(server.is_alive());
    }
    let refused = server.post("", insert.replace("number,", "number + 50000,").as_bytes());
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("243"), "{}", refused.text());
    assert_eq!(server.ask(count), rows);
    disk.make_room();
    server.ask("OPTIMIZE TABLE t FINAL");
    assert_eq!(server.ask(count), rows);
    let states = "SELECT state, rows, last_failure FROM system.succinct_segments WHERE rows > 0";
    assert_eq!(server.ask(states), "read-only\t20000\t\n");
    // A full disk at the start: rows are read, and written when there is room.
    server.kill();
    disk.fill();
    let server = Server::start(&disk.data());
    assert_eq!(server.ask(count), rows);
    let refused = server.post("", b"DELETE FROM t WHERE k = 5");
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("243"), "{}", refused.text());
    disk.make_room();
    server.ask("DELETE FROM t WHERE k = 5");
    server.ask("OPTIMIZE TABLE t FINAL");
    assert_eq!(server.ask("SELECT count(), sum(k) FROM t"), "19999\t199989995\n");
}
