//! The greeting of both sides.

use std::io::Read;

use super::exception::read_exception;
use super::revision::{ADDENDUM, INTERSERVER_SECRET_V2, PASSWORD_RULES, negotiated};
use super::server_packet::EXCEPTION;
use crate::read::{ReadError, ReadPrimitives, ReadResult, malformed};
use crate::write::{put_text, put_varint};

const HELLO: u64 = 0;

/// Names, passwords and other short texts.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Rules that a server has for new passwords.
const PASSWORD_RULES_MAX: u64 = 1000;

/// The first packet of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    pub client_name: String,
    pub version: (u64, u64),
    pub revision: u64,
    pub database: String,
    pub user: String,
    pub password: String,
}

impl ClientHello {
    pub fn read(mut input: impl Read) -> ReadResult<ClientHello> {
        let input = &mut input;
        match input.varint()? {
            HELLO => {}
            // A browser that came to the wrong port.
            71 | 80 => return Err(malformed("this port speaks ClickHouse's native protocol, not HTTP")),
            other => return Err(malformed(format!("the first packet of a client is Hello, not {other}"))),
        }
        Ok(ClientHello {
            client_name: input.text(TEXT_BYTES_MAX, "the client's name")?,
            version: (input.varint()?, input.varint()?),
            revision: input.varint()?,
            database: input.text(TEXT_BYTES_MAX, "the database")?,
            user: input.text(TEXT_BYTES_MAX, "the user")?,
            password: input.text(TEXT_BYTES_MAX, "the password")?,
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, HELLO);
        put_text(out, &self.client_name);
        put_varint(out, self.version.0);
        put_varint(out, self.version.1);
        put_varint(out, self.revision);
        put_text(out, &self.database);
        put_text(out, &self.user);
        put_text(out, &self.password);
    }
}

/// What a client sends after the server's hello: its quota key.
pub fn read_addendum(mut input: impl Read, revision: u64) -> ReadResult<String> {
    if revision < ADDENDUM {
        return Ok(String::new());
    }
    input.text(TEXT_BYTES_MAX, "the quota key")
}

/// Appends what [`read_addendum`] reads.
pub fn write_addendum(quota_key: &str, revision: u64, out: &mut Vec<u8>) {
    if revision >= ADDENDUM {
        put_text(out, quota_key);
    }
}

/// The answer of a server to a client's hello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerHello {
    pub server_name: String,
    pub version: (u64, u64, u64),
    pub revision: u64,
    pub timezone: String,
    pub display_name: String,
    /// A random number for the secret between servers.
    pub nonce: u64,
}

impl ServerHello {
    /// Appends the packet for a client of `revision`.
    pub fn write(&self, revision: u64, out: &mut Vec<u8>) {
        put_varint(out, HELLO);
        put_text(out, &self.server_name);
        put_varint(out, self.version.0);
        put_varint(out, self.version.1);
        put_varint(out, self.revision);
        put_text(out, &self.timezone);
        put_text(out, &self.display_name);
        put_varint(out, self.version.2);
        if revision >= PASSWORD_RULES {
            put_varint(out, 0);
        }
        if revision >= INTERSERVER_SECRET_V2 {
            out.extend_from_slice(&self.nonce.to_le_bytes());
        }
    }

    /// Reads the packet. A server that refuses the client sends its exception instead, which is the error then.
    pub fn read(mut input: impl Read) -> ReadResult<ServerHello> {
        let input = &mut input;
        match input.varint()? {
            HELLO => {}
            EXCEPTION => return Err(ReadError::Failed(read_exception(input)?)),
            72 => return Err(malformed("the server speaks HTTP: name the port of its native protocol")),
            other => return Err(malformed(format!("the first packet of a server is Hello, not {other}"))),
        }
        let server_name = input.text(TEXT_BYTES_MAX, "the server's name")?;
        let (major, minor, revision) = (input.varint()?, input.varint()?, input.varint()?);
        let timezone = input.text(TEXT_BYTES_MAX, "the server's time zone")?;
        let display_name = input.text(TEXT_BYTES_MAX, "the server's display name")?;
        let patch = input.varint()?;
        let common = negotiated(revision);
        if common >= PASSWORD_RULES {
            let rules = input.varint()?;
            if rules > PASSWORD_RULES_MAX {
                return Err(malformed(format!("the server has {rules} rules of passwords")));
            }
            for _ in 0..2 * rules {
                input.prefixed(TEXT_BYTES_MAX, "a rule of passwords")?;
            }
        }
        let nonce = if common >= INTERSERVER_SECRET_V2 { input.number64()? } else { 0 };
        Ok(ServerHello {
            server_name,
            version: (major, minor, patch),
            revision,
            timezone,
            display_name,
            nonce,
        })
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::{Error, ErrorCode};

    use super::*;
    use crate::native::PacketWriter;

    fn client() -> ClientHello {
        ClientHello {
            client_name: "a client".into(),
            version: (26, 9),
            revision: 54_492,
            database: "d".into(),
            user: "default".into(),
            password: "x'\0".into(),
        }
    }

    #[test]
    fn a_client_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        client().write(&mut bytes);
        assert_eq!(ClientHello::read(bytes.as_slice()).expect("whole"), client());
        for length in 0..bytes.len() {
            assert!(matches!(ClientHello::read(&bytes[..length]), Err(ReadError::Incomplete(_))), "{length}");
        }
    }

    #[test]
    fn a_server_is_read_as_it_was_written_for_its_revision() {
        for revision in [54_429, 54_460, 54_461, 54_462, 54_468] {
            let nonce = if revision >= INTERSERVER_SECRET_V2 { 7 } else { 0 };
            let server = ServerHello {
                server_name: "Basalt".into(),
                version: (26, 9, 1),
                revision,
                timezone: "UTC".into(),
                display_name: "here".into(),
                nonce,
            };
            let mut bytes = Vec::new();
            server.write(revision, &mut bytes);
            assert_eq!(ServerHello::read(bytes.as_slice()).expect("whole"), server);
            for length in 0..bytes.len() {
                assert!(
                    matches!(ServerHello::read(&bytes[..length]), Err(ReadError::Incomplete(_))),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn a_refusal_is_the_error_of_the_client() {
        let mut bytes = Vec::new();
        let refused = Error::new(ErrorCode::AuthenticationFailed, "no");
        PacketWriter::new(54_468, None).exception(&refused, &mut bytes);
        let Err(ReadError::Failed(error)) = ServerHello::read(bytes.as_slice()) else {
            panic!("it was read")
        };
        assert_eq!((error.code(), error.message()), (refused.code(), refused.message()));
        let Err(ReadError::Failed(error)) = ServerHello::read(b"HTTP/1.1 400 ".as_slice()) else {
            panic!("it was read");
        };
        assert!(error.message().contains("speaks HTTP"), "{error}");
    }

    #[test]
    fn a_browser_learns_that_the_port_is_the_wrong_one() {
        let Err(ReadError::Failed(error)) = ClientHello::read(b"GET / HTTP/1.1\r\n".as_slice()) else {
            panic!("it was read");
        };
        assert!(error.message().contains("not HTTP"), "{error}");
    }
}
