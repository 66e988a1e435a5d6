//! Tables over a directory of RocksDB that belongs to somebody else: written by other programs, followed while another
//! process writes, and refused where that is not possible.

use std::path::Path;

use basalt_itest::program::{Ended, run};
use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;
use tempfile::tempdir;

/// Runs statements on a data directory in a process of its own.
fn local(data: &Path, statements: &str) -> Ended {
    run(&["local", "--path", &data.display().to_string(), "--query", statements], b"")
}

fn create(name: &str, directory: &Path, more: &str) -> String {
    let directory = directory.display();
    format!(
        "CREATE TABLE {name} (key String, value String) ENGINE = EmbeddedRocksDB(0, '{directory}'{more}) PRIMARY KEY key;"
    )
}

#[test]
fn rows_are_read_and_changed_by_key() {
    let dir = tempdir().expect("a directory");
    let (data, store) = (dir.path().join("data"), dir.path().join("store"));
    let answer = local(
        &data,
        &(create("r", &store, "")
            + "INSERT INTO r SELECT toString(number), concat('v', toString(number)) FROM numbers(20000); \
               SELECT value FROM r WHERE key = '77'; SELECT count() FROM r; \
               SELECT key FROM r ORDER BY key DESC LIMIT 2; SELECT key FROM r WHERE key LIKE '1999_' ORDER BY key; \
               UPDATE r SET value = 'x' WHERE key = '1'; DELETE FROM r WHERE key >= '5'; \
               SELECT * FROM r WHERE key IN ('1', '2', 'q') ORDER BY key; SELECT count() FROM r; \
               SELECT count() FROM r WHERE key > '2' AND key <= '3'; INSERT INTO r VALUES ('', 'empty'); \
               INSERT INTO r SETTINGS insert_mode = 'ignore' VALUES ('', 'other'); SELECT * FROM r WHERE key = ''"),
    );
    let expected = "v77\n20000\n9999\n9998\n19990\n19991\n19992\n19993\n19994\n19995\n19996\n19997\n19998\n19999\n\
                    1\tx\n2\tv2\n14445\n1111\n\tempty\n";
    assert_eq!(answer.expect(), expected);
    // DROP leaves the directory; another table reads it.
    local(&data, "DROP TABLE r").expect();
    let again = create("again", &store, "") + "SELECT count() FROM again";
    assert_eq!(local(&data, &again).expect(), "14446\n");
}

#[test]
fn a_reader_follows_the_process_that_writes() {
    let dir = tempdir().expect("a directory");
    let (data, store) = (dir.path().join("data"), dir.path().join("user_files").join("store"));
    let server = Server::start_with(
        &data,
        &["--user-files-path", &dir.path().join("user_files").display().to_string()],
    );
    server.ask(&create("w", Path::new("store"), ""));
    server.ask("INSERT INTO w SELECT toString(number), 'v' FROM numbers(1000)");
    let outside = server.post("", create("o", &dir.path().join("other"), "").as_bytes()).text();
    assert!(outside.contains("(DATABASE_ACCESS_DENIED)"), "{outside}");
    let own = dir.path().join("own");
    let read = |more: &str| local(&own, &format!("SELECT count() FROM r; {more}"));
    local(&own, &create("r", &store, ", 1")).expect();
    assert_eq!(read("SELECT value FROM r WHERE key = '7'").expect(), "1000\nv\n");
    server.ask("INSERT INTO w VALUES ('new', 'n'), ('7', 'changed')");
    assert_eq!(read("SELECT value FROM r WHERE key = '7'").expect(), "1001\nchanged\n");
    read("INSERT INTO r VALUES ('a', 'b')").expect_error("TABLE_IS_READ_ONLY");
    // A second process that writes is refused.
    let second = local(&dir.path().join("second"), &create("w", &store, ""));
    assert_ne!(second.code, Some(0));
    let text = second.stderr;
    assert!(text.contains("LOCK") || text.contains("lock"), "{text}");
    assert_eq!(server.ask("SELECT count() FROM w"), "1001\n");
}

#[test]
fn other_programs_and_tables_read_each_other() {
    let python = match Python::with("rocksdict", &["rocksdict==0.3.29"]) {
        Ok(python) => python,
        Err(reason) => return skipped(&reason),
    };
    let dir = tempdir().expect("a directory");
    let (data, store) = (dir.path().join("data"), dir.path().join("store"));
    let path = store.display();
    python.run(
        &format!(
            "from rocksdict import Rdict, Options, DBCompressionType\n\
         options = Options(raw_mode=True)\n\
         options.set_compression_type(DBCompressionType.snappy())\n\
         store = Rdict('{path}', options=options)\n\
         for number in range(20000): store[b'%06d' % number] = b'value %d \\x00\\xff' % number\n\
         store.flush()\n\
         store.close()\n"
        ),
        &[],
    );
    let statements = create("r", &store, "")
        + "SELECT count(), hex(min(key)), sum(length(value)) FROM r; SELECT hex(value) FROM r WHERE key = '019999'; \
           INSERT INTO r VALUES ('from sql', 'x')";
    assert_eq!(
        local(&data, &statements).expect(),
        "20000\t303030303030\t268890\n76616C756520313939393920".to_owned() + "00FF\n"
    );
    let read = python.run(
        &format!(
            "from rocksdict import Rdict, Options\n\
         store = Rdict('{path}', options=Options(raw_mode=True))\n\
         print(store[b'from sql'], len(list(store.keys())))\n"
        ),
        &[],
    );
    assert_eq!(read, "b'x' 20001\n");
}

#[test]
fn what_cannot_be_opened_is_refused_and_other_tables_answer() {
    let dir = tempdir().expect("a directory");
    let (data, store) = (dir.path().join("data"), dir.path().join("store"));
    let refused = |statement: &str, error: &str| {
        local(&data, statement).expect_error(error);
    };
    refused(
        "CREATE TABLE r (k UInt64, v String) ENGINE = EmbeddedRocksDB(0, 'x') PRIMARY KEY k",
        "BAD_ARGUMENTS",
    );
    refused(
        "CREATE TABLE r (k String, v String, w String) ENGINE = EmbeddedRocksDB(0, 'x') PRIMARY KEY k",
        "BAD_ARGUMENTS",
    );
    refused(
        "CREATE TABLE r (k String, v String) ENGINE = EmbeddedRocksDB(5, 'x') PRIMARY KEY k",
        "NOT_IMPLEMENTED",
    );
    refused(
        "CREATE TABLE r (k String, v String) ENGINE = EmbeddedRocksDB(0, 5) PRIMARY KEY k",
        "BAD_ARGUMENTS",
    );
    refused(
        "CREATE TABLE r (k String, v String) ENGINE = EmbeddedRocksDB(0, 'x', 7) PRIMARY KEY k",
        "BAD_ARGUMENTS",
    );
    refused(
        "CREATE TABLE r (k String, v String) ENGINE = EmbeddedRocksDB(0, 'x', 1, 2) PRIMARY KEY k",
        "BAD_ARGUMENTS",
    );
    assert_ne!(local(&data, &create("missing", &dir.path().join("nothing"), ", 1")).code, Some(0));
    let rows = "INSERT INTO r SELECT toString(number), randomPrintableASCII(100) FROM numbers(100000);";
    local(
        &data,
        &(create("r", &store, "") + rows + "CREATE TABLE m (a UInt8) ORDER BY a; INSERT INTO m VALUES (1)"),
    )
    .expect();
    let manifest = std::fs::read_dir(&store)
        .expect("a directory")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("MANIFEST"))
        .expect("a manifest");
    std::fs::write(manifest.path(), b"not a manifest").expect("written");
    let text = local(&data, "SELECT count() FROM r");
    assert_ne!(text.code, Some(0));
    assert!(text.stderr.contains("store"), "{}", text.stderr);
    assert_eq!(local(&data, "SELECT count() FROM m").expect(), "1\n");
}
