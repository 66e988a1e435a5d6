//! Commands: arrays of bulk strings, or lines of words.
//!
//! # Cost
//!
//! A command that has arrived is read once, and its arguments are places in the buffer. Of a long one whose bytes arrive
//! piece by piece, only the unread part is looked at: [`CommandReader`] remembers where it stopped.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

/// The most bytes of a number with its line end.
const NUMBER_BYTES_MAX: usize = 32;

/// How much a client may send at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub arguments: usize,
    pub string_bytes: usize,
    /// A line without its end.
    pub line_bytes: usize,
    /// All arguments of a command.
    pub command_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { arguments: 1 << 20, string_bytes: 512 << 20, line_bytes: 64 << 10, command_bytes: 1 << 30 }
    }
}

impl Limits {
    /// Limits of a client that has not authenticated yet.
    pub fn before_authentication() -> Limits {
        Limits { arguments: 10, string_bytes: 16 << 10, ..Limits::default() }
    }
}

/// Why bytes are no command: the words of an error reply. Nothing can be read after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A command, whose end is here. It may have no arguments, then it has no reply either.
    Command { end: usize },
    /// The command has not arrived wholly.
    Incomplete,
}

/// Reads commands from the front of a buffer.
#[derive(Debug, Default)]
pub struct CommandReader {
    limits: Limits,
    /// The arguments that have been read, as places in the buffer.
    arguments: Vec<Range<usize>>,
    /// Arguments that are missing, and where the next one begins; 0 between commands.
    missing: usize,
    at: usize,
    /// The length of the argument that is being read.
    length: Option<usize>,
    /// The words of a line, whose quotes and escapes are undone.
    words: Vec<u8>,
    is_line: bool,
}

impl CommandReader {
    pub fn new(limits: Limits) -> CommandReader {
        CommandReader { limits, ..CommandReader::default() }
    }

    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Reads the command at the front of `bytes`. After [`Decoded::Incomplete`], the next call has the same bytes and
    /// more of them; after a command, the bytes that follow it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Decoded, ProtocolError> {
        if self.missing == 0 {
            self.arguments.clear();
            self.is_line = false;
            self.at = 0;
            match bytes.first() {
                None => return Ok(Decoded::Incomplete),
                Some(b'*') => {}
                Some(_) => return self.read_line(bytes),
            }
            let Some((count, after)) = self.number(bytes, 1, "mbulk count")? else {
                return Ok(Decoded::Incomplete);
            };
            let count =
                count.filter(|&count| count <= i64::try_from(self.limits.arguments).unwrap_or(i64::MAX));
            let Some(count) = count else {
                return Err(self.count_error());
            };
            self.at = after;
            // A count below one is a command without arguments.
            self.missing = usize::try_from(count).unwrap_or_default();
        }
        self.read_arguments(bytes)
    }

    /// The arguments of the command that was read last; `bytes` are those that it was read from.
    pub fn arguments<'a>(&'a self, bytes: &'a [u8]) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let from = if self.is_line { self.words.as_slice() } else { bytes };
        self.arguments.iter().map(move |place| from.get(place.clone()).unwrap_or_default())
    }

    /// Bytes of the argument that is being read that have not arrived, so that the caller can make room.
    pub fn expected_bytes(&self, arrived: usize) -> usize {
        self.length.map_or(0, |length| (self.at + length + 2).saturating_sub(arrived))
    }

    fn read_arguments(&mut self, bytes: &[u8]) -> Result<Decoded, ProtocolError> {
        while self.missing > 0 {
            let length = match self.length {
                Some(length) => length,
                None => match self.read_length(bytes)? {
                    Some(length) => length,
                    None => return Ok(Decoded::Incomplete),
                },
            };
            let end = self.at + length;
            if bytes.len() < end + 2 {
                return Ok(Decoded::Incomplete);
            }
            self.arguments.push(self.at..end);
            self.at = end + 2;
            self.length = None;
            self.missing -= 1;
        }
        Ok(Decoded::Command { end: self.at })
    }

    fn read_length(&mut self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        match bytes.get(self.at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(&other) => {
                return Err(ProtocolError(format!(
                    "ERR Protocol error: expected '$', got '{}'",
                    char::from(if other.is_ascii_graphic() || other == b' ' { other } else { b' ' })
                )));
            }
        }
        let Some((length, after)) = self.number(bytes, self.at + 1, "bulk count")? else { return Ok(None) };
        let length = length.and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|&length| length <= self.limits.string_bytes) else {
            let is_limited = self.limits.string_bytes < Limits::default().string_bytes;
            let text = match (is_limited, length) {
                (true, Some(_)) => "ERR Protocol error: unauthenticated bulk length",
                _ => "ERR Protocol error: invalid bulk length",
            };
            return Err(ProtocolError(text.to_owned()));
        };
        if after + length > self.limits.command_bytes {
            return Err(ProtocolError("ERR Protocol error: the command is too long".to_owned()));
        }
        self.at = after;
        self.length = Some(length);
        Ok(Some(length))
    }

    /// A number from `at` to the end of its line, `None` inside for what is none, and the place after it.
    fn number(
        &self,
        bytes: &[u8],
        at: usize,
        what: &str,
    ) -> Result<Option<(Option<i64>, usize)>, ProtocolError> {
        let rest = bytes.get(at..).unwrap_or_default();
        let line = &rest[..rest.len().min(NUMBER_BYTES_MAX)];
        match line.iter().position(|&byte| byte == b'\r') {
            Some(end) if rest.len() >= end + 2 => Ok(Some((parse_number(&rest[..end]), at + end + 2))),
            Some(_) => Ok(None),
            None if rest.len() >= NUMBER_BYTES_MAX => match rest.iter().position(|&byte| byte == b'\r') {
                // A number is never as long.
                Some(end) if rest.len() >= end + 2 => Ok(Some((None, at + end + 2))),
                _ if rest.len() > self.limits.line_bytes => {
                    Err(ProtocolError(format!("ERR Protocol error: too big {what} string")))
                }
                _ => Ok(None),
            },
            None => Ok(None),
        }
    }

    fn count_error(&self) -> ProtocolError {
        let is_limited = self.limits.arguments < Limits::default().arguments;
        let what = if is_limited { "unauthenticated multibulk length" } else { "invalid multibulk length" };
        ProtocolError(format!("ERR Protocol error: {what}"))
    }

    fn read_line(&mut self, bytes: &[u8]) -> Result<Decoded, ProtocolError> {
        let searched = &bytes[..bytes.len().min(self.limits.line_bytes + 2)];
        let Some(end) = searched.iter().position(|&byte| byte == b'\n') else {
            if bytes.len() > self.limits.line_bytes {
                return Err(ProtocolError("ERR Protocol error: too big inline request".to_owned()));
            }
            return Ok(Decoded::Incomplete);
        };
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        self.is_line = true;
        self.words.clear();
        if !split_words(line, &mut self.words, &mut self.arguments) {
            return Err(ProtocolError("ERR Protocol error: unbalanced quotes in request".to_owned()));
        }
        Ok(Decoded::Command { end: end + 1 })
    }
}

/// A number as Redis takes it: no plus sign, no leading zeros, no spaces.
fn parse_number(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_plain {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends the words of a line, with quotes and escapes undone; `false` if a quote has no end, or a word follows it
/// without a space.
fn split_words(line: &[u8], words: &mut Vec<u8>, places: &mut Vec<Range<usize>>) -> bool {
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return true;
        }
        let start = words.len();
        loop {
            match rest {
                [] | [b' ' | b'\n' | b'\r' | b'\t' | 0, ..] => break,
                [quote @ (b'"' | b'\''), after @ ..] => {
                    let unquoted = if *quote == b'"' {
                        double_quoted(after, words)
                    } else {
                        single_quoted(after, words)
                    };
                    match unquoted {
                        Some(after @ ([] | [b' ' | b'\n' | b'\r' | b'\t' | 0x0b | 0x0c, ..])) => rest = after,
                        _ => return false,
                    }
                    break;
                }
                [byte, after @ ..] => {
                    words.push(*byte);
                    rest = after;
                }
            }
        }
        places.push(start..words.len());
        // A zero byte ends a line.
        if rest.first() == Some(&0) {
            return true;
        }
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                words.push(hex(*high) << 4 | hex(*low));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                words.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                words.push(*byte);
                rest = after;
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                words.push(b'\'');
                rest = after;
            }
            [byte, after @ ..] => {
                words.push(*byte);
                rest = after;
            }
        }
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A') + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands of `bytes`, which arrive in pieces of `step` bytes.
    fn read_all(bytes: &[u8], step: usize) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
        let (mut reader, mut commands, mut start, mut arrived) = (CommandReader::default(), Vec::new(), 0, 0);
        loop {
            match reader.read(&bytes[start..arrived]) {
                Ok(Decoded::Command { end }) => {
                    let arguments = reader.arguments(&bytes[start..arrived]).map(<[u8]>::to_vec);
                    commands.push(arguments.collect());
                    assert!(end > 0 && start + end <= arrived);
                    start += end;
                }
                Ok(Decoded::Incomplete) if arrived == bytes.len() => return (commands, None),
                Ok(Decoded::Incomplete) => arrived = (arrived + step).min(bytes.len()),
                Err(error) => return (commands, Some(error)),
            }
        }
    }

    fn error(bytes: &[u8]) -> String {
        read_all(bytes, usize::MAX / 2).1.expect("an error").0
    }

    const SAMPLE: &[u8] = b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\nPING\r\n\r\n*0\r\n*-1\r\nset \"a\\x41\\n\" 'b\\'c' d\n*1\r\n$0\r\n\r\n";

    #[test]
    fn commands_arrive_in_pieces_of_any_length() {
        let whole = read_all(SAMPLE, SAMPLE.len());
        assert_eq!(whole.1, None);
        let expected: &[&[&[u8]]] =
            &[&[b"GET", b"a\r\nb"], &[b"PING"], &[], &[], &[], &[b"set", b"aA\n", b"b'c", b"d"], &[b""]];
        assert_eq!(
            whole.0,
            expected
                .iter()
                .map(|command| command.iter().map(|word| word.to_vec()).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        );
        for step in 1..20 {
            assert_eq!(read_all(SAMPLE, step), whole, "pieces of {step}");
        }
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        for bit in 0..SAMPLE.len() * 8 {
            let mut flipped = SAMPLE.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_all(&flipped, 1), read_all(&flipped, flipped.len()), "flip of bit {bit}");
        }
        for length in 0..SAMPLE.len() {
            assert_eq!(read_all(&SAMPLE[..length], 3).1, None);
        }
    }

    #[test]
    fn errors_have_the_words_of_redis() {
        assert_eq!(error(b"*x\r\n"), "ERR Protocol error: invalid multibulk length");
        assert_eq!(error(b"*1048577\r\n"), "ERR Protocol error: invalid multibulk length");
        assert_eq!(error(b"*1\r\n+3\r\n"), "ERR Protocol error: expected '$', got '+'");
        assert_eq!(error(b"*1\r\n$-1\r\n"), "ERR Protocol error: invalid bulk length");
        assert_eq!(error(b"*1\r\n$536870913\r\n"), "ERR Protocol error: invalid bulk length");
        assert_eq!(error(b"set \"a\r\n"), "ERR Protocol error: unbalanced quotes in request");
        assert_eq!(error(&[b'a'; 70_000]), "ERR Protocol error: too big inline request");
        assert_eq!(
            error(&[b"*1".as_slice(), &[b'1'; 70_000]].concat()),
            "ERR Protocol error: too big mbulk count string"
        );
    }
}
