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
        for name in ["x.parquet", "x.arrow", "x.csv.gz", "x.zst"] {
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
        let text = run(&["local", "--query", &query], b"").expect_error("NOT_IMPLEMENTED");
        assert!(text.contains("is compressed (gzip)"), "{text}");
    }
    let named = run(&["local", "--query", "SELECT * FROM file('/x.csv.gz')"], b"");
    assert!(named.expect_error("NOT_IMPLEMENTED").contains(".gz"));
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
