//! The error reply of a command.

use std::borrow::Cow;

use basalt_base::Error;

/// Bytes of an unknown subcommand that its error shows.
const SHOWN_BYTES: usize = 128;

/// The words of an error reply, with the code in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) Cow<'static, [u8]>);

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

pub(crate) const WRONG_TYPE: Failure =
    Failure::text("WRONGTYPE Operation against a key holding the wrong kind of value");
pub(crate) const SYNTAX: Failure = Failure::text("ERR syntax error");
pub(crate) const NOT_INTEGER: Failure = Failure::text("ERR value is not an integer or out of range");
pub(crate) const NOT_FLOAT: Failure = Failure::text("ERR value is not a valid float");
pub(crate) const NO_SUCH_KEY: Failure = Failure::text("ERR no such key");
pub(crate) const OUT_OF_RANGE: Failure = Failure::text("ERR index out of range");
pub(crate) const MUST_BE_POSITIVE: Failure = Failure::text("ERR value is out of range, must be positive");
pub(crate) const NOT_IN_RANGE: Failure = Failure::text("ERR value is out of range");
pub(crate) const OVERFLOW: Failure = Failure::text("ERR increment or decrement would overflow");
pub(crate) const NOT_FINITE: Failure = Failure::text("ERR increment would produce NaN or Infinity");
pub(crate) const TOO_LONG: Failure =
    Failure::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
pub(crate) const REPLY_TOO_LONG: Failure = Failure::text("ERR the reply is longer than 512 MiB");

impl Failure {
    pub(crate) const fn text(text: &'static str) -> Failure {
        Failure(Cow::Borrowed(text.as_bytes()))
    }

    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Failure {
        Failure(Cow::Owned(text.into()))
    }

    /// The wrong number of words for a command.
    pub(crate) fn arity(command: &str) -> Failure {
        Failure::new(format!("ERR wrong number of arguments for '{command}' command"))
    }

    /// A subcommand that the command does not have.
    pub(crate) fn subcommand(word: &[u8], command: &str) -> Failure {
        let shown = printed(word, SHOWN_BYTES);
        Failure::new([b"ERR unknown subcommand '", shown, b"'. Try ", command.as_bytes(), b" HELP."].concat())
    }
}

/// The beginning of a word up to a zero byte, as C prints it.
pub(crate) fn printed(word: &[u8], most: usize) -> &[u8] {
    let word = &word[..word.len().min(most)];
    let end = word.iter().position(|&byte| byte == 0).unwrap_or(word.len());
    &word[..end]
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(format!("ERR {}", error.message()))
    }
}
