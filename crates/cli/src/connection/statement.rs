//! A statement, the connection that runs it, and how it ended.

use std::time::Duration;

use basalt_engine::{ErrorCode, Input, ProgressSnapshot};

use crate::failure::Failure;
use crate::output::Output;
use crate::progress::ProgressLine;

/// Lists of names for the tab key. A server without one of the tables completes fewer names.
pub(super) const COMPLETION_QUERIES: [&str; 4] = [
    "SELECT name FROM system.functions",
    "SELECT name FROM system.databases",
    "SELECT DISTINCT name FROM system.tables",
    "SELECT DISTINCT name FROM system.columns",
];

/// Runs statements one after another, in one session.
pub(crate) trait Connection {
    /// Runs a statement and writes its answer. Ctrl-C ends the statement with an error.
    fn run(
        &mut self,
        statement: Statement,
        output: &mut Output,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure>;

    /// Names that the tab key completes.
    fn completions(&mut self) -> Vec<String>;
}

/// One statement to run.
pub(crate) struct Statement {
    pub(crate) text: Vec<u8>,
    pub(crate) input: Input,
    pub(crate) default_format: String,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    /// Whether it answered a result set, even an empty one.
    pub(crate) has_rows: bool,
    pub(crate) figures: ProgressSnapshot,
    pub(crate) elapsed: Duration,
}

pub(super) fn cancelled_by_user() -> Failure {
    Failure::with_code(ErrorCode::QueryWasCancelled, "the query was cancelled")
}
