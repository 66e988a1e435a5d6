//! A statement, the connection that runs it, and how it ended.

use std::time::Duration;

use basalt_engine::{Input, ProgressSnapshot};

use crate::failure::Failure;
use crate::output::Output;
use crate::progress::ProgressLine;

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
