//! The messages of a client after the first one: a kind, the length, and fields.

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use super::Format;
use crate::read::{ReadError, ReadResult, malformed};

/// The largest message: a statement, the values of its parameters, or a piece of the data of COPY.
const MESSAGE_BYTES_MAX: usize = 128 << 20;
/// The kind and the length.
const HEAD_BYTES: usize = 5;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// The text of statements.
    Query(Vec<u8>),
    Parse(Parse),
    Bind(Bind),
    Describe(Target),
    Execute {
        portal: String,
        rows_max: u32,
    },
    Close(Target),
    Sync,
    Flush,
    Terminate,
    CopyData(Vec<u8>),
    CopyDone,
    /// The reason of the client.
    CopyFail(String),
    /// A password, or another answer to a demand for one.
    Password(Vec<u8>),
    /// A call of a function by its number, which no client uses any more.
    FunctionCall,
}

/// A statement with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse {
    pub name: String,
    pub text: Vec<u8>,
    /// The types of the first parameters; 0 leaves one to the server.
    pub types: Vec<u32>,
}

/// A statement with values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    pub portal: String,
    pub statement: String,
    pub formats: Vec<Format>,
    /// `None` is NULL.
    pub values: Vec<Option<Vec<u8>>>,
    pub result_formats: Vec<Format>,
}

/// The name of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Statement(String),
    Portal(String),
}

impl ClientMessage {
    /// Reads a message from the start of `input`, and moves `input` to the byte after it.
    pub fn read(input: &mut &[u8]) -> ReadResult<ClientMessage> {
        let Some(head) = input.get(..HEAD_BYTES) else {
            return Err(ReadError::Incomplete(HEAD_BYTES - input.len()));
        };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(malformed(format!("a message of {length} bytes; the limit is {MESSAGE_BYTES_MAX}")));
        }
        let Some(body) = input.get(HEAD_BYTES..=length) else {
            return Err(ReadError::Incomplete(length + 1 - input.len()));
        };
        let message = read_body(head[0], &mut Fields::new(body))?;
        *input = &input[length + 1..];
        Ok(message)
    }
}

fn read_body(kind: u8, fields: &mut Fields<'_>) -> ReadResult<ClientMessage> {
    let message = match kind {
        b'Q' => ClientMessage::Query(fields.string()?.to_vec()),
        b'P' => ClientMessage::Parse(read_parse(fields)?),
        b'B' => ClientMessage::Bind(read_bind(fields)?),
        b'D' => ClientMessage::Describe(read_target(fields)?),
        b'E' => ClientMessage::Execute { portal: fields.text("a portal")?, rows_max: fields.number32()? },
        b'C' => ClientMessage::Close(read_target(fields)?),
        b'S' => ClientMessage::Sync,
        b'H' => ClientMessage::Flush,
        b'X' => ClientMessage::Terminate,
        b'd' => return Ok(ClientMessage::CopyData(fields.rest().to_vec())),
        b'c' => ClientMessage::CopyDone,
        b'f' => ClientMessage::CopyFail(fields.text("the reason of a client")?),
        b'p' => return Ok(ClientMessage::Password(fields.rest().to_vec())),
        b'F' => return Ok(ClientMessage::FunctionCall),
        other => {
            return Err(malformed(format!("there is no message `{}` of a client", other.escape_ascii())));
        }
    };
    match fields.rest() {
        [] => Ok(message),
        more => {
            Err(malformed(format!("a message `{}` has {} bytes too many", kind.escape_ascii(), more.len())))
        }
    }
}

fn read_parse(fields: &mut Fields<'_>) -> ReadResult<Parse> {
    let name = fields.text("the name of a statement")?;
    let text = fields.string()?.to_vec();
    let types = fields.list(Fields::number32)?;
    Ok(Parse { name, text, types })
}

fn read_bind(fields: &mut Fields<'_>) -> ReadResult<Bind> {
    Ok(Bind {
        portal: fields.text("a portal")?,
        statement: fields.text("the name of a statement")?,
        formats: fields.list(Fields::format)?,
        values: fields.list(|fields| Ok(fields.value()?.map(<[u8]>::to_vec)))?,
        result_formats: fields.list(Fields::format)?,
    })
}

fn read_target(fields: &mut Fields<'_>) -> ReadResult<Target> {
    match fields.byte()? {
        b'S' => Ok(Target::Statement(fields.text("the name of a statement")?)),
        b'P' => Ok(Target::Portal(fields.text("a portal")?)),
        other => Err(malformed(format!("`{}` is neither a statement nor a portal", other.escape_ascii()))),
    }
}

/// The fields of a whole message.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Fields<'a> {
        Fields { rest }
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> ReadResult<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("a message ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        self.bytes(N)?.try_into().map_err(|_| malformed("a message ends too early"))
    }

    fn byte(&mut self) -> ReadResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn number16(&mut self) -> ReadResult<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn number32(&mut self) -> ReadResult<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Bytes up to a zero byte.
    fn string(&mut self) -> ReadResult<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let bytes = self.bytes(end.ok_or_else(|| malformed("a string does not end"))?)?;
        self.rest = &self.rest[1..];
        Ok(bytes)
    }

    pub(super) fn text(&mut self, what: &str) -> ReadResult<String> {
        let bytes = self.string()?.to_vec();
        String::from_utf8(bytes).map_err(|_| malformed(format!("{what} is not UTF-8")))
    }

    /// Bytes with their number in front; `None` is NULL.
    pub(super) fn value(&mut self) -> ReadResult<Option<&'a [u8]>> {
        match self.number32()? {
            u32::MAX => Ok(None),
            length => self.bytes(usize::try_from(length).unwrap_or(usize::MAX)).map(Some),
        }
    }

    fn format(&mut self) -> ReadResult<Format> {
        match self.number16()? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(malformed(format!("there is no format {other} of values"))),
        }
    }

    /// Elements with their number in front.
    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> ReadResult<T>) -> ReadResult<Vec<T>> {
        let count = self.number16()?;
        (0..count).map(|_| element(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&u32::try_from(body.len() + 4).expect("short").to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn check(kind: u8, body: &[u8], expected: ClientMessage) {
        let bytes = message(kind, body);
        let mut input = bytes.as_slice();
        assert_eq!(ClientMessage::read(&mut input).expect("whole"), expected);
        assert!(input.is_empty());
        for end in 0..bytes.len() {
            let missing = ClientMessage::read(&mut &bytes[..end]);
            assert!(matches!(missing, Err(ReadError::Incomplete(_))), "{end} bytes of {expected:?}");
        }
    }

    #[test]
    fn messages_have_their_fields() {
        check(b'Q', b"SELECT 1\0", ClientMessage::Query(b"SELECT 1".to_vec()));
        let parse = Parse { name: "s".to_owned(), text: b"SELECT $1".to_vec(), types: vec![23] };
        check(b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17", ClientMessage::Parse(parse));
        let bind = Bind {
            portal: String::new(),
            statement: "s".to_owned(),
            formats: vec![Format::Binary],
            values: vec![Some(vec![7]), None],
            result_formats: Vec::new(),
        };
        let body = b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01\x07\xff\xff\xff\xff\0\0";
        check(b'B', body, ClientMessage::Bind(bind));
        check(b'E', b"p\0\0\0\0\x05", ClientMessage::Execute { portal: "p".to_owned(), rows_max: 5 });
        check(b'C', b"Ss\0", ClientMessage::Close(Target::Statement("s".to_owned())));
        check(b'd', b"1\t2\n", ClientMessage::CopyData(b"1\t2\n".to_vec()));
        check(b'S', b"", ClientMessage::Sync);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let bad = [
            message(b'Z', b""),
            message(b'Q', b"SELECT 1"),
            message(b'Q', b"SELECT 1\0more"),
            message(b'B', b"\0\0\xff\xff"),
            message(b'B', b"\0\0\0\0\0\x01\x7f\0\0\0"),
            message(b'D', b"X\0"),
            vec![b'Q', 0, 0, 0, 3],
            vec![b'd', 0x7f, 0xff, 0xff, 0xff],
        ];
        for bytes in bad {
            let read = ClientMessage::read(&mut bytes.as_slice());
            assert!(matches!(read, Err(ReadError::Failed(_))), "{bytes:?}: {read:?}");
        }
    }
}
