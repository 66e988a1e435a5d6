//! The first message of a connection: it has no kind, and its number says what the client wants.

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use super::client_message::Fields;
use crate::read::{ReadError, ReadPrimitives, ReadResult, malformed};

/// The largest first message, as in PostgreSQL.
const MESSAGE_BYTES_MAX: usize = 10_000;
/// The length itself and the number after it.
const HEAD_BYTES: usize = 8;

const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startup {
    /// Asks for TLS; a byte is the answer, and another first message follows.
    Tls,
    /// Asks for encryption by GSSAPI; a byte is the answer, and another first message follows.
    Gss,
    /// Asks to end the statement of another connection.
    Cancel { process: u32, secret: u32 },
    /// The version (3.`minor`), and names with values.
    Session { minor: u16, parameters: Vec<(String, String)> },
}

impl Startup {
    /// Reads a message from the start of `input`, and moves `input` to the byte after it.
    pub fn read(input: &mut &[u8]) -> ReadResult<Startup> {
        let mut rest = *input;
        let length = u32::from_be_bytes(rest.array()?);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(HEAD_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(malformed(format!(
                "the first message has {length} bytes: this is no client of PostgreSQL"
            )));
        }
        let Some(body) = input.get(4..length) else {
            return Err(ReadError::Incomplete(length - input.len()));
        };
        let mut fields = Fields::new(body);
        let message = match fields.number32()? {
            TLS => Startup::Tls,
            GSS => Startup::Gss,
            CANCEL => Startup::Cancel { process: fields.number32()?, secret: fields.number32()? },
            version if version >> 16 == 3 => {
                let minor = u16::try_from(version & 0xffff).unwrap_or(u16::MAX);
                Startup::Session { minor, parameters: read_parameters(&mut fields)? }
            }
            version => {
                let (major, minor) = (version >> 16, version & 0xffff);
                return Err(malformed(format!(
                    "version {major}.{minor} of the protocol; 3.0 is the one that is known"
                )));
            }
        };
        *input = &input[length..];
        Ok(message)
    }
}

fn read_parameters(fields: &mut Fields<'_>) -> ReadResult<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    loop {
        let name = fields.text("a name of the first message")?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name, fields.text("a value of the first message")?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &[u8]) -> Vec<u8> {
        let mut bytes = u32::try_from(body.len() + 4).expect("short").to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_session_has_its_parameters() {
        let bytes = message(b"\0\x03\0\x02user\0me\0database\0shop\0\0");
        let mut input = bytes.as_slice();
        let parameters = [("user", "me"), ("database", "shop")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let expected = Startup::Session { minor: 2, parameters: parameters.to_vec() };
        assert_eq!(Startup::read(&mut input).expect("whole"), expected);
        assert!(input.is_empty());
        for end in 0..bytes.len() {
            assert!(matches!(Startup::read(&mut &bytes[..end]), Err(ReadError::Incomplete(_))), "{end}");
        }
    }

    #[test]
    fn other_first_messages_are_known_or_refused() {
        for (number, expected) in [(TLS, Startup::Tls), (GSS, Startup::Gss)] {
            let bytes = message(&number.to_be_bytes());
            assert_eq!(Startup::read(&mut bytes.as_slice()).expect("whole"), expected);
        }
        for bytes in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x08\0\x02\0\0", b"\0\0\0\x09\0\x03\0\0u", b"\0\0\0\x04"]
        {
            assert!(matches!(Startup::read(&mut &*bytes), Err(ReadError::Failed(_))), "{bytes:?}");
        }
    }
}
