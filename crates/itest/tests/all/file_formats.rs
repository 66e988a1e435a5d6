//! Formats selected by file names, and files with unexpected contents.

use std::path::Path;

use basalt_itest::program::{Ended, run};
use basalt_itest::server::Server;
use tempfile::tempdir;

/// Runs a statement in this process, and through a client.
fn both(dir: &Path, check: impl Fn(&dyn Fn(&str) -> Ended)) {
    check(&|query| run(&["local", "--query", query], b""));
    let server = Server::start(&dir.join("data"));
    let port = server.address().port().to_string();
    check(&|query| run(&["client", "--port", &port, "--query", query], b""));
}

#[test]
fn format_of_an_outfile_is_told_by_its_name() {
    let dir = tempdir().expect("a directory");
    both(dir.path(), |ask| {
        for (name, expected) in [
            ("x.csv", "1,\"b\"\n"),
            ("x.tsv", "1\tb\n"),
            ("x.jsonl", "{\"a\":1,\"c\":\"b\"}\n"),
            ("x.ndjson", "{\"a\":1,\"c\":\"b\"}\n"),
            ("x.values", "(1,'b')"),
            ("x.txt", "1\tb\n"),
            ("x", "1\tb\n"),
        ] {
            let path = dir.path().join(name);
            let written = ask(&format!("SELECT 1 AS a, 'b' AS c INTO OUTFILE '{}'", path.display()));
            assert_eq!(written.expect(), "");
            assert_eq!(std::fs::read_to_string(&path).expect("was written"), expected, "{name}");
            std::fs::remove_file(&path).expect("it is there");
        }
        for name in ["x.orc", "x.avro", "x.csv.snappy"] {
            let path = dir.path().join(name);
            let refused = ask(&format!("SELECT 1 INTO OUTFILE '{}'", path.display()));
            refused.expect_error("NOT_IMPLEMENTED");
            assert!(!path.exists(), "{name}");
        }
        let path = dir.path().join("x.json");
        ask(&format!("SELECT 1 AS a INTO OUTFILE '{}'", path.display())).expect();
        assert!(std::fs::read_to_string(&path).expect("was written").contains("\"meta\""));
        std::fs::remove_file(&path).expect("it is there");
    });
}

#[test]
fn compressed_files_are_told_apart() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("x.tsv");
    std::fs::write(&path, b"\x1f\x8b\x08\x00garbage").expect("a new file");
    let file = path.display();
    for query in [
        format!("SELECT * FROM file('{file}')"),
        format!("SELECT * FROM file('{file}', 'TSV', 'a UInt8')"),
        format!("CREATE TABLE t (a UInt8) ENGINE = Memory; INSERT INTO t FROM INFILE '{file}' FORMAT TSV"),
    ] {
        let text = run(&["local", "--query", &query], b"").expect_error("INCORRECT_DATA");
        assert!(text.contains("is compressed (gzip)"), "{text}");
    }
    for query in [
        format!("SELECT * FROM file('{file}', 'TSV', 'a UInt8', 'gzip')"),
        format!(
            "CREATE TABLE t (a UInt8) ENGINE = Memory; INSERT INTO t FROM INFILE '{file}' COMPRESSION 'gzip' FORMAT TSV"
        ),
    ] {
        let text = run(&["local", "--query", &query], b"").expect_error("INCORRECT_DATA");
        assert!(text.contains("the gzip data are damaged or incomplete"), "{text}");
    }
}

#[test]
fn compressed_files_are_written_and_read_by_name_or_clause() {
    let dir = tempdir().expect("a directory");
    for (name, clause, compression) in [
        ("x.csv.gz", "", "auto"),
        ("x.csv.zst", " COMPRESSION 'auto' LEVEL 12", "auto"),
        ("x.csv.br", "", "auto"),
        ("x.csv.lz4", "", "auto"),
        ("x.csv.xz", "", "auto"),
        ("x.csv.bz2", "", "auto"),
        ("x.csv.deflate", "", "auto"),
        ("y.csv", " COMPRESSION 'gzip' LEVEL 9", "gzip"),
        ("z.csv.gz", " COMPRESSION 'none'", "none"),
    ] {
        let path = dir.path().join(name);
        let file = path.display();
        let query = format!(
            "SELECT number AS a FROM numbers(5) INTO OUTFILE '{file}'{clause};
             SELECT sum(c1) FROM file('{file}', 'CSV', 'auto', '{compression}');
             CREATE TABLE t (a UInt8) ENGINE = Memory;
             INSERT INTO t FROM INFILE '{file}' COMPRESSION '{compression}';
             SELECT count() FROM t"
        );
        assert_eq!(run(&["local", "--query", &query], b"").expect(), "10\n5\n", "{name}");
    }
    let path = dir.path().join("x.csv");
    let query = format!("SELECT 1 INTO OUTFILE '{}' COMPRESSION 'gzip' LEVEL 10", path.display());
    run(&["local", "--query", &query], b"").expect_error("BAD_ARGUMENTS");
    assert!(!path.exists());
}

#[test]
fn columnar_files_are_written_and_read_by_name() {
    let dir = tempdir().expect("a directory");
    for name in ["x.parquet", "x.arrow", "x.feather", "x.parquet.gz"] {
        let path = dir.path().join(name);
        let file = path.display();
        let query = format!(
            "SELECT number AS a, toString(number) AS b, toDate('2020-01-01') AS d FROM numbers(200000)
             INTO OUTFILE '{file}';
             SELECT sum(a), max(b), any(d) FROM file('{file}');
             SELECT count() FROM file('{file}');
             CREATE TABLE t (b UInt32, a String, z UInt8 DEFAULT 7) ENGINE = Memory;
             INSERT INTO t FROM INFILE '{file}';
             SELECT sum(b), max(a), min(z) FROM t"
        );
        let answer = run(&["local", "--query", &query], b"");
        assert_eq!(
            answer.expect(),
            "19999900000\t99999\t2020-01-01\n200000\n19999900000\t99999\t7\n",
            "{name}"
        );
    }
}

#[test]
fn array_of_objects_is_json_too() {
    let dir = tempdir().expect("a directory");
    let path = dir.path().join("x.json");
    std::fs::write(&path, "[{\"a\":1,\"b\":\"x\"},\n {\"a\":2,\"b\":\"y\"}]\n").expect("a new file");
    let file = path.display();
    let all = run(&["local", "--query", &format!("SELECT sum(a), max(b) FROM file('{file}')")], b"");
    assert_eq!(all.expect(), "3\ty\n");
    std::fs::write(&path, "{\"meta\":[],\"data\":[{\"a\":1}]}").expect("a new file");
    let unknown = run(&["local", "--query", &format!("SELECT * FROM file('{file}')")], b"");
    assert!(unknown.expect_error("NOT_IMPLEMENTED").contains("name them, as in file("));
    let named = run(&["local", "--query", &format!("SELECT * FROM file('{file}', 'JSON', 'a UInt8')")], b"");
    assert_eq!(named.expect(), "1\n");
}
