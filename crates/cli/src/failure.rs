//! An error as printed to the terminal, and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use basalt_engine::ErrorCode;

/// The failure of the program, or of one statement in the shell.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    number: u16,
    text: String,
}

impl Failure {
    /// `text` as it will be printed, after `Code: N.`.
    pub(crate) fn new(number: u16, text: impl Into<String>) -> Failure {
        Failure { number, text: text.into() }
    }

    pub(crate) fn with_code(code: ErrorCode, message: impl Into<String>) -> Failure {
        basalt_engine::Error::new(code, message).into()
    }

    /// Standard output, or the file used instead, cannot be written to.
    pub(crate) fn output(source: &io::Error) -> Failure {
        if source.kind() == io::ErrorKind::BrokenPipe {
            // The reader closed the pipe: nothing to report.
            return Failure { number: 0, text: String::new() };
        }
        Failure::with_code(ErrorCode::CannotWriteToFile, format!("cannot write the answer: {source}"))
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn print(&self) {
        if !self.is_silent() {
            // Standard error may be closed, too.
            let _ = writeln!(io::stderr(), "{}", self.text.trim_end());
        }
    }

    /// ClickHouse's error number, as far as an exit code can represent it; never 0 for an error.
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
