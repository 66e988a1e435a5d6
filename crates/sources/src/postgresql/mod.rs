//! PostgreSQL: the rows of one query, over version 3 of its protocol.
//!
//! Layout of a message: one letter, its length as a big-endian 32-bit number (which counts its own four bytes), and
//! the body. Rows come as text, one message a row, so a result of any size takes little memory.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod scram;

use std::borrow::BorrowMut;

use basalt_base::{Error, ErrorCode, Result, bail};
use md5::{Digest, Md5};

use self::scram::Scram;
use crate::socket::Socket;
use crate::{Address, Limits, Row, RowStream, TlsMode};

const NAME: &str = "PostgreSQL";
const PROTOCOL_VERSION: i32 = 196_608;
/// The most messages from the first one to the end of the authentication.
const LOGIN_STEPS_MAX: usize = 1000;
/// The request for TLS, which has no letter; the answer is one letter.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Runs `query` on its own connection; the rows are streamed.
pub fn query(address: &Address, query: &str, limits: Limits) -> Result<impl RowStream + use<>> {
    let mut client = Client::connect(address, limits)?;
    client.ask(query)?;
    Ok(QueryRows { client, is_done: false })
}

/// Connects with the TLS that the address requires.
fn connect(address: &Address, limits: Limits) -> Result<Socket> {
    let plain = || Socket::connect(NAME, address, limits);
    match address.tls.mode {
        TlsMode::Disable => plain(),
        TlsMode::Prefer => match protected(plain()?, address) {
            Err(error) if error.code() != ErrorCode::TimeoutExceeded => plain(),
            other => other,
        },
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => protected(plain()?, address),
    }
}

fn protected(mut socket: Socket, address: &Address) -> Result<Socket> {
    socket.send(&TLS_REQUEST)?;
    match socket.take(1)?[0] {
        b'S' => socket.protected(&address.host, &address.tls),
        b'N' if address.tls.mode == TlsMode::Prefer => Ok(socket),
        b'N' => bail!(
            NetworkError,
            "{} has no TLS: set ssl = on there, or sslmode 'prefer' or 'disable' here",
            socket.peer()
        ),
        other => bail!(
            IncorrectData,
            "{} answers `{}` to the request for TLS, which PostgreSQL does not",
            socket.peer(),
            char::from(other)
        ),
    }
}

/// A connection.
pub struct Client {
    socket: Socket,
}

impl Client {
    pub fn connect(address: &Address, limits: Limits) -> Result<Client> {
        let mut client = Client { socket: connect(address, limits)? };
        client.start(address)?;
        Ok(client)
    }

    /// Runs `query`. The connection can be used again only after all rows were read without an error.
    pub fn query(&mut self, query: &str, limits: Limits) -> Result<impl RowStream> {
        self.socket.renew(limits);
        self.ask(query)?;
        Ok(QueryRows { client: self, is_done: false })
    }

    /// Whether the connection can be used again; if not, it must be closed.
    pub fn is_ready(&mut self) -> bool {
        self.socket.is_idle()
    }

    fn ask(&mut self, query: &str) -> Result<()> {
        self.send(b'Q', &text(query))
    }

    /// Authenticates, from the first message to ReadyForQuery.
    fn start(&mut self, address: &Address) -> Result<()> {
        let mut message = PROTOCOL_VERSION.to_be_bytes().to_vec();
        let database = if address.database.is_empty() { &address.user } else { &address.database };
        let parameters = [
            ("user", address.user.as_str()),
            ("database", database),
            ("client_encoding", "UTF8"),
            ("TimeZone", "UTC"),
            ("DateStyle", "ISO"),
        ];
        for (name, value) in parameters {
            message.extend(text(name));
            message.extend(text(value));
        }
        message.push(0);
        let mut framed = length(message.len() + 4)?.to_vec();
        framed.extend(message);
        self.socket.send(&framed)?;
        let mut scram = None;
        for _ in 0..LOGIN_STEPS_MAX {
            match self.receive()? {
                (b'R', body) => self.authenticate(address, &body, &mut scram)?,
                (b'Z', _) => return Ok(()),
                // Parameters, and the key that would cancel a query.
                (b'S' | b'K' | b'N', _) => {}
                (kind, _) => return Err(self.unexpected(kind)),
            }
        }
        bail!(IncorrectData, "{} does not come to the end of the authentication", self.socket.peer())
    }

    fn authenticate(&mut self, address: &Address, body: &[u8], scram: &mut Option<Scram>) -> Result<()> {
        let (kind, rest) = body.split_first_chunk::<4>().ok_or_else(|| self.unexpected(b'R'))?;
        let (user, password) = (address.user.as_bytes(), address.password.as_bytes());
        match i32::from_be_bytes(*kind) {
            0 => Ok(()),
            3 => self.send(b'p', &text(&address.password)),
            5 => {
                let inner = hex::encode(Md5::digest([password, user].concat()));
                let outer = hex::encode(Md5::digest([inner.as_bytes(), rest].concat()));
                self.send(b'p', &text(&format!("md5{outer}")))
            }
            10 if rest.split(|&byte| byte == 0).any(|name| name == b"SCRAM-SHA-256") => {
                let exchange = Scram::new(password)?;
                let first = exchange.first_message();
                let mut message = text("SCRAM-SHA-256");
                message.extend(length(first.len())?);
                message.extend(first.as_bytes());
                *scram = Some(exchange);
                self.send(b'p', &message)
            }
            11 => match scram {
                Some(exchange) => {
                    let answer = exchange.final_message(rest)?;
                    self.send(b'p', answer.as_bytes())
                }
                None => Err(self.unexpected(b'R')),
            },
            12 => match scram {
                Some(exchange) => exchange.verify(rest),
                None => Err(self.unexpected(b'R')),
            },
            other => bail!(
                NotImplemented,
                "{} wants authentication of kind {other}, which is not implemented",
                self.socket.peer()
            ),
        }
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        let mut message = vec![kind];
        message.extend(length(body.len() + 4)?);
        message.extend_from_slice(body);
        self.socket.send(&message)
    }

    /// The kind and the body of the next message; the server's error becomes ours.
    fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        let head = self.socket.take(5)?;
        let kind = head[0];
        let bytes = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let body = self.socket.take(bytes.checked_sub(4).ok_or_else(|| bad_length(bytes))?)?.to_vec();
        if kind == b'E' {
            let message = format!("{} answers: {}", self.socket.peer(), error_text(&body));
            return Err(Error::new(error_code(&body), message));
        }
        Ok((kind, body))
    }

    fn unexpected(&self, kind: u8) -> Error {
        let message = format!("{} sends an unexpected message `{}`", self.socket.peer(), char::from(kind));
        Error::new(ErrorCode::IncorrectData, message)
    }
}

struct QueryRows<C> {
    client: C,
    is_done: bool,
}

impl<C: BorrowMut<Client> + Send> RowStream for QueryRows<C> {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        let client = self.client.borrow_mut();
        while !self.is_done {
            match client.receive()? {
                (b'D', body) => {
                    parse_row(&body, row).ok_or_else(|| client.unexpected(b'D'))?;
                    return Ok(true);
                }
                // The names of the columns, notices, parameters, the end of the rows.
                (b'T' | b'N' | b'S' | b'C' | b'I', _) => {}
                (b'Z', _) => self.is_done = true,
                (kind, _) => return Err(client.unexpected(kind)),
            }
        }
        Ok(false)
    }
}

/// Fills `row` from a DataRow message; `None` if it is damaged.
fn parse_row(body: &[u8], row: &mut Row) -> Option<()> {
    row.clear();
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    for _ in 0..u16::from_be_bytes(*count) {
        let (bytes, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        match usize::try_from(i32::from_be_bytes(*bytes)) {
            Ok(bytes) => {
                row.push(Some(rest.get(..bytes)?));
                rest = &rest[bytes..];
            }
            Err(_) => row.push(None),
        }
    }
    rest.is_empty().then_some(())
}

/// A field of an error.
fn field(body: &[u8], letter: u8) -> String {
    let mut fields = body.split(|&byte| byte == 0);
    let found = fields.find(|field| field.first() == Some(&letter));
    found.map_or(String::new(), |field| String::from_utf8_lossy(&field[1..]).into_owned())
}

/// Code and message of an error.
fn error_text(body: &[u8]) -> String {
    format!("{} (SQLSTATE {})", field(body, b'M'), field(body, b'C'))
}

/// Distinguishes errors of the connection, of the authentication and of the query.
fn error_code(body: &[u8]) -> ErrorCode {
    let state = field(body, b'C');
    match state.get(..2) {
        // Connection failures, too many connections, a server that stops or has just started.
        Some("08" | "53" | "57") => ErrorCode::NetworkError,
        Some("28") => ErrorCode::AuthenticationFailed,
        _ => ErrorCode::ReceivedErrorFromRemoteIoServer,
    }
}

/// A length as the protocol has it: signed, in four bytes.
fn length(bytes: usize) -> Result<[u8; 4]> {
    match i32::try_from(bytes) {
        Ok(bytes) => Ok(bytes.to_be_bytes()),
        Err(_) => bail!(BadArguments, "a query to PostgreSQL has {bytes} bytes"),
    }
}

fn bad_length(bytes: usize) -> Error {
    Error::new(ErrorCode::IncorrectData, format!("PostgreSQL announces a message of {bytes} bytes"))
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_row_is_refused() {
        let body = [&[0, 3][..], &[0, 0, 0, 2], b"ab", &[0xff; 4], &[0, 0, 0, 1], b"c"].concat();
        let mut row = Row::default();
        assert_eq!(parse_row(&body, &mut row), Some(()));
        assert_eq!(row.fields().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(b"c")]);
        for end in 0..body.len() {
            assert_eq!(parse_row(&body[..end], &mut row), None, "{end}");
        }
        for bit in 0..body.len() * 8 {
            let mut damaged = body.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A flipped bit may give another text; none may panic.
            let _ = parse_row(&damaged, &mut row);
        }
    }
}
