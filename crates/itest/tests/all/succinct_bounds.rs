//! Succinct tables of few, of equal and of very large rows.

use basalt_itest::server::Server;
use tempfile::tempdir;

/// The longest key.
const KEY_BYTES_MAX: usize = 64 << 10;
const VALUE_BYTES: usize = 100_000_000;

/// Each answer is the same before and after the rows are in a segment, and after they are read again from disk.
#[track_caller]
fn check(create: &str, inserts: &[&str], questions: &[(&str, &str)]) {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask(create);
    for insert in inserts {
        server.ask(insert);
    }
    let answers = |server: &Server, state: &str| {
        for (question, answer) in questions {
            assert_eq!(server.ask(question), *answer, "{state}: {question}");
        }
    };
    answers(&server, "fresh");
    server.ask("OPTIMIZE TABLE t");
    answers(&server, "optimized");
    server.ask("OPTIMIZE TABLE t FINAL");
    answers(&server, "final");
    server.kill();
    answers(&Server::start(dir.path()), "started again");
}

#[test]
fn table_without_rows_answers() {
    let questions = [
        ("SELECT count(), max(k), sum(n) FROM t", "0\t0\t0\n"),
        ("SELECT * FROM t WHERE k = 1", ""),
        ("SELECT * FROM t WHERE s LIKE '%a%' OR match(s, 'b')", ""),
        ("SELECT * FROM t ORDER BY k DESC LIMIT 3", ""),
        ("SELECT * FROM t WHERE n = 3", ""),
        ("CHECK TABLE t SETTINGS check_query_single_value_result = 1", "1\n"),
        ("SELECT count() FROM system.succinct_columns", "0\n"),
    ];
    let create = "CREATE TABLE t (k UInt64, s String, n UInt8, INDEX i (n), INDEX g s TYPE trigram) ENGINE = Succinct \
                  PRIMARY KEY k";
    check(create, &[], &questions);
    check(create, &["INSERT INTO t VALUES (1, 'ab', 3)", "DELETE FROM t WHERE k = 1"], &questions);
}

#[test]
fn table_of_one_row_answers() {
    let row = "7\tonly\t3\n";
    check(
        "CREATE TABLE t (k UInt64, s String, n UInt8, INDEX i (n), INDEX g s TYPE trigram, COLUMN GROUP c (k, n)) \
         ENGINE = Succinct PRIMARY KEY k",
        &["INSERT INTO t VALUES (7, 'only', 3)"],
        &[
            ("SELECT * FROM t", row),
            ("SELECT * FROM t WHERE k = 7", row),
            ("SELECT * FROM t WHERE n = 3", row),
            ("SELECT * FROM t WHERE s LIKE '%nl%'", row),
            ("SELECT * FROM t WHERE match(s, '^only$')", row),
            ("SELECT * FROM t ORDER BY k DESC", row),
            ("SELECT count() FROM t WHERE k < 7 OR k > 7", "0\n"),
        ],
    );
}

#[test]
fn rows_of_equal_values_answer() {
    check(
        "CREATE TABLE t (k UInt64, s String, n UInt8, z Nullable(String), INDEX i (n), INDEX iz (z), INDEX g s TYPE \
         trigram) ENGINE = Succinct PRIMARY KEY k",
        &["INSERT INTO t SELECT number, 'the same text', 3, NULL FROM numbers(20000)"],
        &[
            ("SELECT count(), sum(n), uniqExact(s) FROM t", "20000\t60000\t1\n"),
            ("SELECT count() FROM t WHERE s LIKE '%same%'", "20000\n"),
            ("SELECT count() FROM t WHERE s = 'the same text' AND n = 3", "20000\n"),
            ("SELECT count() FROM t WHERE match(s, 'other')", "0\n"),
            ("SELECT count() FROM t WHERE z IS NULL", "20000\n"),
            ("SELECT count() FROM t WHERE z = 'a' OR z LIKE '%'", "0\n"),
            ("SELECT k FROM t WHERE n = 3 ORDER BY k DESC LIMIT 1", "19999\n"),
        ],
    );
}

#[test]
fn longest_key_is_stored_and_a_longer_one_is_refused() {
    let insert = |bytes: usize, n: u8| format!("INSERT INTO t SELECT repeat('k', {bytes}), {n}");
    check(
        "CREATE TABLE t (k String, n UInt8) ENGINE = Succinct PRIMARY KEY k",
        &[&insert(KEY_BYTES_MAX, 1), &insert(KEY_BYTES_MAX - 1, 2), "INSERT INTO t VALUES ('', 3)"],
        &[
            ("SELECT length(k), n FROM t ORDER BY k", "0\t3\n65535\t2\n65536\t1\n"),
            ("SELECT length(k), n FROM t ORDER BY k DESC", "65536\t1\n65535\t2\n0\t3\n"),
            ("SELECT n FROM t WHERE k = repeat('k', 65536)", "1\n"),
            ("SELECT n FROM t WHERE k = repeat('k', 65537)", ""),
            ("SELECT n FROM t WHERE k > repeat('k', 65535)", "1\n"),
            ("SELECT n FROM t WHERE match(k, '^k+$') ORDER BY n", "1\n2\n"),
            ("SELECT n FROM t WHERE k LIKE '%kk' ORDER BY n", "1\n2\n"),
        ],
    );
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k String, n UInt8) ENGINE = Succinct PRIMARY KEY k");
    let refused = server.post("", insert(KEY_BYTES_MAX + 1, 1).as_bytes()).text();
    assert!(refused.contains("a key of 65537 bytes is too long to store, at most 65536"), "{refused}");
    assert_eq!(server.ask("SELECT count() FROM t"), "0\n");
}

#[test]
fn value_of_a_hundred_megabytes_is_stored() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k UInt64, s String, n UInt8) ENGINE = Succinct PRIMARY KEY k");
    let mut body = b"1\t".to_vec();
    body.resize(2 + VALUE_BYTES - 5, b'x');
    body.extend_from_slice(b"enden\t7\n2\tsmall\t8\n");
    let loaded = server.post("query=INSERT+INTO+t+FORMAT+TSV", &body);
    assert_eq!(loaded.status, 200, "{}", loaded.text());
    for optimize in
        ["SELECT 1", "OPTIMIZE TABLE t", "INSERT INTO t VALUES (3, 'enden', 9)", "OPTIMIZE TABLE t FINAL"]
    {
        server.ask(optimize);
        assert_eq!(server.ask("SELECT length(s), n FROM t WHERE k = 1"), "100000000\t7\n");
        assert_eq!(server.ask("SELECT k FROM t WHERE s LIKE '%xenden'"), "1\n");
        assert_eq!(server.ask("SELECT k, length(s) FROM t ORDER BY k LIMIT 2"), "1\t100000000\n2\t5\n");
    }
    assert_eq!(server.ask("SELECT count(), sum(length(s)) FROM t"), "3\t100000010\n");
}

#[test]
fn rows_of_large_values_are_read_and_merged_in_little_memory() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k UInt64, s String) ENGINE = Succinct PRIMARY KEY k");
    server.ask("SYSTEM STOP MERGES t");
    let ask = |statement: &str| {
        let answer = server.post("max_memory_usage=350000000", statement.as_bytes());
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        answer.text()
    };
    for (first, optimize) in
        [(0, "OPTIMIZE TABLE t"), (1, "OPTIMIZE TABLE t"), (2, "OPTIMIZE TABLE t FINAL"), (3, "SELECT 1")]
    {
        // 600 MB in all.
        server.ask(&format!(
            "INSERT INTO t SELECT number * 4 + {first}, repeat('large', 100000) FROM numbers(300)"
        ));
        ask(optimize);
        let expected = format!("{}\t{}\n", (first + 1) * 300, (first + 1) * 300 * 500_000);
        let sum = "SELECT count(), sum(length(s)) FROM";
        assert_eq!(ask(&format!("{sum} t")), expected);
        assert_eq!(ask(&format!("{sum} t WHERE k IN (SELECT number FROM numbers(10000))")), expected);
        assert_eq!(ask(&format!("{sum} (SELECT s FROM t ORDER BY k LIMIT 100000)")), expected);
        assert_eq!(ask(&format!("{sum} (SELECT s FROM t ORDER BY k DESC LIMIT 100000)")), expected);
    }
}

#[test]
fn expression_that_takes_too_much_memory_is_an_error_or_answered() {
    let dir = tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k String, s String, g String, INDEX i g TYPE trigram) ENGINE = Succinct PRIMARY KEY k");
    server.ask("INSERT INTO t SELECT toString(number), 'ab', 'ab' FROM numbers(3000)");
    server.ask("CREATE TABLE m (k String, s String, g String) ENGINE = Memory");
    server.ask("INSERT INTO m SELECT * FROM t");
    server.ask("OPTIMIZE TABLE t");
    let long = format!("({})", (0..3000).map(|word| format!("w{word}x.*")).collect::<Vec<_>>().join("|"));
    for expression in [
        "(a{1,500}b?){1,500}",
        "((\\\\w{1,100}){1,100}){1,10}",
        "(?i)(stra\u{df}e|.){200}",
        &long,
        "(",
        "a**",
    ] {
        for column in ["k", "s", "g"] {
            let ask = |table: &str| {
                let query = format!("SELECT count() FROM {table} WHERE match({column}, '{expression}')");
                server.post("", query.as_bytes())
            };
            let (found, expected) = (ask("t"), ask("m"));
            let code = |header: Option<&str>| header.map(str::to_owned);
            let name = "x-clickhouse-exception-code";
            assert_eq!(code(found.header(name)), code(expected.header(name)), "{column}: {}", found.text());
            if found.status == 200 {
                assert_eq!(found.text(), expected.text(), "{column}: {expression:.50}");
            } else {
                assert!(!found.text().contains("LOGICAL_ERROR"), "{}", found.text());
            }
        }
    }
    assert!(server.is_alive());
}
