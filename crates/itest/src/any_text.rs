//! Runs any text as SQL, for the fuzz target `sql_execute` and the test of mutated statements.

use std::time::Duration;

use basalt_engine::{EngineOptions, ErrorCode, Request, Session};
use tempfile::TempDir;

use crate::in_process::{InProcess, foreign_word};

/// Statements end at `max_execution_time`. One that still runs after this time does not check it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The limits of each statement, as settings.
const LIMITS: &[(&str, &str)] = &[
    ("max_execution_time", "1"),
    ("max_memory_usage", "200000000"),
    ("max_result_rows", "100000"),
    ("max_threads", "2"),
];

/// An engine that reads only files of its own directory, and connects to no other host.
pub struct AnyText {
    engine: InProcess,
    session: Session,
    /// The number of statements that were answered; the others were refused.
    pub answered: u64,
    _files: TempDir,
}

impl Default for AnyText {
    fn default() -> AnyText {
        let files = tempfile::tempdir().expect("a directory");
        let engine = InProcess::open(EngineOptions {
            user_files_path: Some(files.path().to_owned()),
            remote_url_allow_hosts: Some(Vec::new()),
            ..EngineOptions::default()
        });
        let session = engine.session();
        AnyText { engine, session, answered: 0, _files: files }
    }
}

impl AnyText {
    /// Runs the statements of `text`. The error names the broken promise: every statement is answered or refused in
    /// time, with an error in our words that is not an internal error.
    pub fn run(&mut self, text: &[u8]) -> Result<(), String> {
        let Ok(statements) = Session::split(text) else { return Ok(()) };
        statements.into_iter().try_for_each(|statement| self.run_statement(statement))
    }

    fn run_statement(&mut self, statement: Vec<u8>) -> Result<(), String> {
        let shown = String::from_utf8_lossy(&statement).into_owned();
        let mut request = Request::new(statement);
        request.settings = LIMITS.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let Some(answer) = self.engine.answer_within(PATIENCE, &mut self.session, request) else {
            return Err(format!("still runs after {PATIENCE:?}: {shown}"));
        };
        let Err(error) = answer else {
            self.answered += 1;
            return Ok(());
        };
        if let Some(word) = foreign_word(&error) {
            return Err(format!("the error says `{word}`: {error}\n{shown}"));
        }
        if error.code() == ErrorCode::LogicalError {
            return Err(format!("{error}\n{shown}"));
        }
        Ok(())
    }
}

impl Drop for AnyText {
    fn drop(&mut self) {
        self.engine.shutdown();
    }
}
