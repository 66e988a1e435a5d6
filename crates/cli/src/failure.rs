//! An error as somebody at a terminal sees it, and the exit code that it means.

use std::io::{self, Write};
use std::process::ExitCode;

use basalt_engine::ErrorCode;

/// Why the program, or one statement in the shell, did not do what it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    number: u16,
    text: String,
}

impl Failure {
    /// `text` as it will be printed, with its `Code: N.` in front.
    pub(crate) fn new(number: u16, text: impl Into<String>) -> Failure {
        Failure { number, text: text.into() }
    }

    pub(crate) fn with_code(code: ErrorCode, message: impl Into<String>) -> Failure {
        basalt_engine::Error::new(code, message).into()
    }

    /// Standard output, or the file in its place, took no more.
    pub(crate) fn output(source: &io::Error) -> Failure {
        if source.kind() == io::ErrorKind::BrokenPipe {
            // Whoever reads has seen enough: nothing to report.
            return Failure { number: 0, text: String::new() };
        }
        Failure::with_code(ErrorCode::CannotWriteToFile, format!("cannot write the answer: {source}"))
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn print(&self) {
        if !self.is_silent() {
            // Nothing is left to tell if even standard error is closed.
            let _ = writeln!(io::stderr(), "{}", self.text.trim_end());
        }
    }

    /// ClickHouse's number as far as an exit code can hold it; never 0 for an error.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.is_silent() {
            return ExitCode::SUCCESS;
        }
        ExitCode::from(u8::try_from(self.number).unwrap_or(u8::MAX).max(1))
    }
}

impl From<basalt_engine::Error> for Failure {
    fn from(error: basalt_engine::Error) -> Failure {
        Failure { number: error.code().number(), text: error.to_string() }
    }
}
