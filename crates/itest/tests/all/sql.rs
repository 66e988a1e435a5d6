//! The SQL tests of `tests/sql`, on an engine in this process.
//!
//! Each file has its own database. A record that Basalt cannot pass yet is marked `skipif basalt`, with the reason in
//! a comment above it; their number is printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_engine::{EngineOptions, Error, Request, Session};
use basalt_itest::in_process::{InProcess, foreign_word};
use basalt_itest::{note, shared};
use sqllogictest::{DB, DBOutput, DefaultColumnType, MakeConnection, Normalizer, Record, Runner};

/// Represents a row with empty text, which a test file could not distinguish from the end of the record.
const EMPTY_ROW: &str = "(empty)";

/// The database of one file.
struct Database {
    engine: Arc<InProcess>,
    session: Session,
}

impl DB for Database {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        self.answer(sql).map_err(in_our_words)
    }

    fn engine_name(&self) -> &str {
        "basalt"
    }
}

impl Database {
    fn answer(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let rows = self.engine.answer(&mut self.session, Request::new(sql))?;
        Ok(match rows {
            None => DBOutput::StatementComplete(0),
            Some(text) => {
                let rows = rows_of(&String::from_utf8_lossy(&text));
                DBOutput::Rows { types: vec![DefaultColumnType::Text], rows }
            }
        })
    }
}

/// Fails the record if the error names internal components.
fn in_our_words(error: Error) -> Error {
    match foreign_word(&error) {
        Some(word) => Error::logical(format!("the error says `{word}`: {}", error.message())),
        None => error,
    }
}

/// One row per line, as in the files.
fn rows_of(text: &str) -> Vec<Vec<String>> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let visible = |line: &str| if line.is_empty() { EMPTY_ROW.to_owned() } else { line.to_owned() };
    body.split('\n').map(|line| vec![visible(line)]).collect()
}

/// Compares rows by their exact text, without trimming.
fn exactly(_: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    actual.iter().map(|row| row.concat()).eq(expected.iter().cloned())
}

#[test]
fn statements_answer_what_the_files_say() {
    let only = std::env::var("BASALT_SLT").unwrap_or_default();
    let mut files = Vec::new();
    collect(&shared::checkout().join("tests/sql"), &mut files);
    files.sort();
    files.retain(|path| path.to_string_lossy().contains(&only));
    assert!(!files.is_empty(), "no .slt file has `{only}` in its path");
    let (mut records, mut skipped, mut failures) = (0, 0, Vec::new());
    for path in &files {
        let engine = Arc::new(InProcess::open(EngineOptions::default()));
        let open = || {
            let database = Database { engine: Arc::clone(&engine), session: engine.session() };
            std::future::ready(Ok(database))
        };
        let mut runner = Runner::new(open);
        runner.with_validator(exactly);
        let (ran, left_out) = run_file(&mut runner, path, &mut failures);
        records += ran;
        skipped += left_out;
        runner.shutdown();
        engine.shutdown();
    }
    note(&format!("{} SQL files: {records} records, {skipped} of them skipped", files.len()));
    for failure in &failures {
        note(failure);
    }
    assert!(failures.is_empty(), "{} of {records} records failed; they are listed above", failures.len());
}

/// Runs every record, also after a failed one. Returns how many ran and how many were skipped.
fn run_file<M: MakeConnection<Conn = Database>>(
    runner: &mut Runner<Database, M>,
    path: &Path,
    failures: &mut Vec<String>,
) -> (usize, usize) {
    let file = sqllogictest::parse_file::<DefaultColumnType>(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut records, mut skipped) = (0, 0);
    for record in file {
        let conditions = match &record {
            Record::Statement { conditions, .. } | Record::Query { conditions, .. } => conditions.len(),
            _ => {
                runner.run(record).expect("only statements and queries can fail");
                continue;
            }
        };
        records += 1;
        skipped += usize::from(conditions > 0);
        if let Err(error) = runner.run(record) {
            failures.push(error.display(false).to_string());
        }
    }
    (records, skipped)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the SQL tests are in the checkout") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
}
