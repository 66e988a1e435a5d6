//! Errors as PostgreSQL reports them.

use basalt_engine::Error;

/// SQLSTATEs of errors that only this protocol has.
pub(super) mod state {
    pub(crate) const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub(crate) const INVALID_AUTHORIZATION: &str = "28000";
    pub(crate) const INVALID_PASSWORD: &str = "28P01";
    pub(crate) const NO_ACTIVE_TRANSACTION: &str = "25P01";
    pub(crate) const ACTIVE_TRANSACTION: &str = "25001";
    pub(crate) const IN_FAILED_TRANSACTION: &str = "25P02";
    pub(crate) const INVALID_STATEMENT_NAME: &str = "26000";
    pub(crate) const INVALID_CURSOR_NAME: &str = "34000";
    pub(crate) const INVALID_DATABASE: &str = "3D000";
    pub(crate) const INVALID_VALUE: &str = "22023";
    pub(crate) const DUPLICATE_STATEMENT: &str = "42P05";
    pub(crate) const DUPLICATE_CURSOR: &str = "42P03";
    pub(crate) const UNKNOWN_VARIABLE: &str = "42704";
    pub(crate) const LIMIT_EXCEEDED: &str = "54000";
    pub(crate) const PROTOCOL_VIOLATION: &str = "08P01";
    pub(crate) const SHUTDOWN: &str = "57P01";
    pub(crate) const WARNING: &str = "01000";
}

/// An error of a statement: the connection goes on.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) state: &'static str,
    pub(super) text: String,
}

/// The result of a statement.
pub(super) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(super) fn new(state: &'static str, text: impl Into<String>) -> Failure {
        Failure { state, text: text.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(error.code().sqlstate(), error.message())
    }
}
