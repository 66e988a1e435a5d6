//! Refused texts, with their error codes and messages.

use basalt_base::{Error, ErrorCode};
use basalt_sql::{parse_expr, parse_statement};

/// The statement fails with this code, and the message holds this part.
fn check(text: &str, code: ErrorCode, part: &str) {
    match parse_statement(text.as_bytes()) {
        Ok(tree) => panic!("{text} parses as {tree:?}"),
        Err(failure) => {
            let error = Error::from(failure);
            assert_eq!(error.code(), code, "{text}: {error}");
            assert!(error.message().contains(part), "{text}: {error}");
        }
    }
}

#[test]
fn syntax_errors_say_where_and_what_was_expected() {
    check("SELECT 1 FROM t WHERE", ErrorCode::SyntaxError, "the end of the query; expected expression");
    check("SELECT 1\nFRM t x", ErrorCode::SyntaxError, "line 2, column 5 near `t`");
    check("SELECT (1, 2", ErrorCode::SyntaxError, "`)`");
    check("SELEC 1", ErrorCode::SyntaxError, "expected one of: SELECT");
    check("SELECT 'abc", ErrorCode::SyntaxError, "the quote is not closed");
    check("SELECT 1 SELECT 2", ErrorCode::SyntaxError, "line 1, column 10 near `SELECT`");
    check("DROP TABLE", ErrorCode::SyntaxError, "name");
    check("UPDATE t SET a = 1", ErrorCode::SyntaxError, "WHERE");
    check("CREATE TABLE t (a UInt8, INDEX i (a) GRANULARITY 4)", ErrorCode::SyntaxError, "TYPE");
    check("CREATE TABLE t (COLUMN GROUP g (1))", ErrorCode::SyntaxError, "name");
    check("BACKUP TABLE t", ErrorCode::SyntaxError, "TO");
}

#[test]
fn what_clickhouse_has_and_basalt_has_not_is_refused_by_name() {
    let code = ErrorCode::NotImplemented;
    check("CREATE TABLE t ON CLUSTER c (a UInt8) ENGINE = Memory", code, "ON CLUSTER is not implemented");
    check("DROP TABLE t ON CLUSTER c", code, "ON CLUSTER");
    check("GRANT CURRENT GRANTS ON *.* TO y", code, "GRANT CURRENT GRANTS");
    check("CREATE USER u HOST LIKE '%'", code, "HOST by name");
    check("CREATE USER u IDENTIFIED WITH ldap SERVER 'x'", code, "ldap");
    check("CREATE FUNCTION f AS x -> x", code, "CREATE FUNCTION");
    check("BACKUP DATABASE d TO File('x')", code, "BACKUP DATABASE");
    check("RESTORE ALL FROM File('x')", code, "RESTORE ALL");
    check("UPDATE t ON CLUSTER c SET a = 1 WHERE 1", code, "ON CLUSTER");
    check("SELECT * APPLY(sum) FROM t", code, "APPLY");
}

#[test]
fn attach_takes_no_definition() {
    let code = ErrorCode::IncorrectQuery;
    check("ATTACH TABLE t (x UInt8) ENGINE = Memory", code, "ATTACH TABLE takes no definition");
    check("ATTACH TABLE t ENGINE = MergeTree ORDER BY x", code, "CREATE TABLE makes a new one");
    check("ATTACH DATABASE d ENGINE = Atomic", code, "ATTACH DATABASE takes no definition");
    let uuid = "ATTACH TABLE t UUID '61f0c404-5cb3-41e7-907b-a6006ad3dba0' (x UInt8) ENGINE = Memory";
    check(uuid, ErrorCode::NotImplemented, "UUID");
    check("ATTACH TABLE t FROM 'dir' (x UInt8)", ErrorCode::NotImplemented, "ATTACH from a directory");
    check("ATTACH DICTIONARY d (x UInt64) PRIMARY KEY x", ErrorCode::SyntaxError, "near `(`");
}

/// The smallest stack that a thread of the server has; without optimization, frames are larger.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };

#[test]
fn deep_nesting_is_refused_and_never_overflows() {
    let deep = |open: &str, middle: &str, close: &str| open.repeat(100_000) + middle + &close.repeat(100_000);
    let texts = [
        format!("SELECT {}", deep("(", "1", ")")),
        format!("SELECT {}", deep("[", "1", "]")),
        format!("SELECT {}", deep("f(", "1", ")")),
        format!("SELECT {}", deep("- ", "1", "")),
        format!("SELECT {}", deep("NOT ", "1", "")),
        format!("SELECT {}", deep("CASE WHEN ", "1", "")),
        format!("SELECT 1{}", deep(" + 1", "", "")),
        format!("SELECT a{}", deep("[1]", "", "")),
        format!("SELECT a{}", deep(" ? 1 : a", "", "")),
        format!("SELECT {}x", deep("x -> ", "", "")),
        deep("SELECT * FROM (", "SELECT 1", ")"),
        deep("SELECT (", "SELECT 1", ")"),
        deep("(", "SELECT 1", ")"),
        deep("SELECT 1 UNION ALL ", "SELECT 1", ""),
        deep("EXPLAIN ", "SELECT 1", ""),
        format!("SELECT CAST(1 AS {})", deep("Array(", "UInt8", ")")),
        format!("SELECT * FROM t{}", deep(", t", "", "")),
    ];
    let check_all = move || {
        for text in &texts {
            check(text, ErrorCode::TooDeepRecursion, "too deep");
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(check_all);
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}

/// Programs write long chains of AND; they need no depth.
#[test]
fn chains_up_to_the_limit_parse_and_print() {
    let chain = vec!["a = 1"; 4900].join(" AND ");
    let tree = parse_expr(chain.as_bytes());
    assert_eq!(tree.map(|tree| tree.to_string()), Ok(chain));
}
