//! Random trees survive printing and parsing; random text never panics.

mod trees;

use basalt_sql::{Script, parse_codec, parse_expr, parse_statement, parse_type, resolve_type};
use proptest::prelude::*;

/// Feeds bytes to every entry point of the parser. Any answer will do, but there must be one.
fn feed(bytes: &[u8]) {
    for parsed in Script::new(bytes) {
        match parsed {
            // A parsed statement must print as text that parses.
            Ok(parsed) => {
                let printed = parsed.statement.to_string();
                if let Err(error) = parse_statement(printed.as_bytes()) {
                    panic!("{}\nprints as\n{printed}\n{error}", String::from_utf8_lossy(bytes));
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let _ = parse_expr(bytes);
    let _ = parse_codec(bytes);
    if let Ok(ty) = parse_type(bytes) {
        let _ = resolve_type(&ty).map(|ty| ty.to_string());
    }
}

/// Keywords of the grammar in any order.
fn token_soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "WITH",
        "TOTALS",
        "FILL",
        "LIMIT",
        "BY",
        "UNION ALL",
        "EXCEPT",
        "INTERSECT",
        "JOIN",
        "LEFT",
        "ARRAY JOIN",
        "ANY",
        "ASOF",
        "ON",
        "USING",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "CAST",
        "AS",
        "INTERVAL",
        "DAY",
        "NOT",
        "IN",
        "BETWEEN",
        "AND",
        "OR",
        "LIKE",
        "IS",
        "NULL",
        "EXISTS",
        "INSERT INTO",
        "VALUES",
        "FORMAT",
        "CREATE TABLE",
        "CREATE DICTIONARY",
        "CREATE VIEW",
        "ENGINE",
        "PRIMARY KEY",
        "TTL",
        "SETTINGS",
        "CODEC",
        "DEFAULT",
        "INDEX",
        "TYPE",
        "ALTER TABLE",
        "ADD COLUMN",
        "UPDATE",
        "DELETE",
        "UPDATE t SET",
        "COLUMN GROUP",
        "BACKUP TABLE",
        "RESTORE TABLE",
        "TO",
        "DROP",
        "SHOW",
        "TABLES",
        "EXPLAIN",
        "SYSTEM",
        "SET",
        "OVER",
        "PARTITION BY",
        "ROWS",
        "COPY",
        "DATE",
        "EXTRACT",
        "TRIM",
        "BOTH",
        "POSITION",
        "SUBSTRING",
        "FOR",
        "DATE_ADD",
        "COLUMNS",
        "DISTINCT",
        "FINAL",
        "SAMPLE",
        "a",
        "b",
        "t",
        "f(",
        "1",
        "2.5",
        "0x1F",
        "'x'",
        "`q`",
        "$$h$$",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ";",
        ".",
        ":",
        "::",
        "?",
        "->",
        "+",
        "-",
        "*",
        "/",
        "=",
        "<",
        "||",
        "\n",
        "--",
        "/*",
        "*/",
        "'",
        "Array(",
        "Tuple(",
        "Enum8('a' = 1)",
        "SOURCE(",
        "LAYOUT(",
        "LIFETIME(",
    ];
    prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.join(" "))
}

/// How many random inputs a test tries.
const CASES: u32 = 512;

/// Runs a test where there is room for the generators, which recurse with large frames.
fn with_room(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(test).expect("a thread starts");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn expressions_print_as_themselves() {
    with_room(|| {
        proptest!(config(), |(tree in trees::expr())| {
            let printed = tree.to_string();
            let again = parse_expr(printed.as_bytes()).map_err(|error| error.to_string());
            prop_assert!(again.as_ref() == Ok(&tree), "{printed}\nparses as\n{}", show(&again));
        });
    });
}

#[test]
fn statements_print_as_themselves() {
    with_room(|| {
        proptest!(config(), |(tree in trees::statement())| {
            let printed = tree.to_string();
            let again = parse_statement(printed.as_bytes()).map_err(|error| error.to_string());
            prop_assert!(again.as_ref() == Ok(&tree), "{printed}\nparses as\n{}", show(&again));
        });
    });
}

/// The parsed text, printed again.
fn show<T: std::fmt::Display>(parsed: &Result<T, String>) -> String {
    parsed.as_ref().map_or_else(String::clone, T::to_string)
}

#[test]
fn bytes_never_panic() {
    proptest!(config(), |(bytes in prop::collection::vec(any::<u8>(), 0..200))| feed(&bytes));
}

#[test]
fn soup_never_panics() {
    with_room(|| proptest!(config(), |(text in token_soup())| feed(text.as_bytes())));
}

#[test]
fn cut_and_flipped_statements_never_panic() {
    let statements = include_bytes!("statements.sql");
    with_room(|| {
        proptest!(config(), |(at in any::<prop::sample::Index>(), bit in 0..8_u8, length in 1..300_usize)| {
            let mut bytes = statements.to_vec();
            let start = at.index(bytes.len());
            bytes[start] ^= 1 << bit;
            let to = (start + length).min(bytes.len());
            feed(&bytes[start.saturating_sub(length)..to]);
        });
    });
}
