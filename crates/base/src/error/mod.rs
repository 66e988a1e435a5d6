//! The error that a client sees: a code, a sentence, and where it came from.
//!
//! Library crates keep their own enums with fields; each converts into [`Error`] with the code that
//! its variant stands for. The message style: lower case, no full stop, values in backticks, the
//! widest context last, and what to do about it.

mod arrow;
mod code;
mod file_action;

pub use code::ErrorCode;
pub use file_action::FileAction;

use std::fmt;

/// A failed statement as a client sees it.
#[derive(Debug, Clone)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    /// `what` is something that Basalt knows and does not implement yet.
    pub fn not_implemented(what: impl fmt::Display) -> Error {
        Error::new(ErrorCode::NotImplemented, format!("{what} is not implemented"))
    }

    /// An internal error: one of our invariants did not hold.
    pub fn logical(what: impl fmt::Display) -> Error {
        Error::new(ErrorCode::LogicalError, format!("{what}; this is a bug in Basalt"))
    }

    /// A failed system call on `path`.
    pub fn io(action: FileAction, path: &std::path::Path, source: &std::io::Error) -> Error {
        let message = format!("cannot {} {}: {source}", action.verb(), path.display());
        Error::new(action.code(source.kind()), message)
    }

    /// The error of a reader: the one that it carries, or one that says that reading failed.
    pub fn of_reading(source: std::io::Error) -> Error {
        match source.downcast::<Error>() {
            Ok(error) => error,
            Err(other) => {
                Error::new(ErrorCode::CannotReadFromFile, format!("the input cannot be read: {other}"))
            }
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error with `context` appended: `message: context`.
    #[must_use]
    pub fn within(mut self, context: impl fmt::Display) -> Error {
        self.message = format!("{}: {context}", self.message);
        self
    }
}

/// `Code: 60. DB::Exception: text (UNKNOWN_TABLE)`: ClickHouse's form, which its clients parse.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { code, message } = self;
        write!(f, "Code: {}. DB::Exception: {message}. ({})", code.number(), code.name())
    }
}

impl std::error::Error for Error {}

/// Shorthand for `Err(Error::new(code, format!(..)))`.
#[macro_export]
macro_rules! bail {
    ($code:ident, $($message:tt)+) => {
        return Err($crate::Error::new($crate::ErrorCode::$code, format!($($message)+)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_prints_number_and_name() {
        let error = Error::new(ErrorCode::UnknownTable, "table `shop.orders` does not exist");
        assert_eq!(
            error.to_string(),
            "Code: 60. DB::Exception: table `shop.orders` does not exist. (UNKNOWN_TABLE)"
        );
    }
}
