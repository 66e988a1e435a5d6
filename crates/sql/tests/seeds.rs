//! Every statement of the acceptance documents parses, prints, and parses back to the same tree.

use std::io::Write as _;
use std::path::PathBuf;

use basalt_sql::{Script, parse_statement};

/// The file of statements, if this machine has it.
fn seeds() -> Option<Vec<u8>> {
    let shared = std::env::var_os("BASALT_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    std::fs::read(shared.join("acceptance/seeds.sql")).ok()
}

#[test]
fn every_statement_of_the_documents_parses() {
    let Some(text) = seeds() else {
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(b"skipped: seeds.sql is not here (set BASALT_SHARED)\n");
        return;
    };
    let mut count = 0;
    for parsed in Script::new(&text) {
        match parsed {
            Ok(parsed) => {
                count += 1;
                let printed = parsed.statement.to_string();
                let again = parse_statement(printed.as_bytes());
                assert_eq!(again, Ok(parsed.statement), "{printed}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(count > 30, "only {count} statements");
}
