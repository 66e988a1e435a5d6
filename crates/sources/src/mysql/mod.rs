//! MySQL and MariaDB: the rows of one query, over the text protocol.
//!
//! Layout of a packet: its length in 24 bits, little-endian, a sequence number, and the payload. A packet of 2^24 -
//! 1 bytes continues in the next one.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod capabilities;
mod greeting;
mod password;
mod transport;
mod values;

use std::borrow::BorrowMut;

use basalt_base::{Error, ErrorCode, Result, bail};

use self::capabilities::{
    COMPRESSION, CONNECT_WITH_DB, LONG_PASSWORD, PLUGIN_AUTH, PROTOCOL_41, SECURE_CONNECTION, TLS,
    TRANSACTIONS,
};
use self::greeting::{Greeting, parse_greeting};
use self::transport::Transport;
use self::values::{parse_is_bit, parse_number, parse_row};
use crate::socket::Socket;
use crate::{Address, Limits, Row, RowStream, TlsMode};

const PACKET_BYTES_MAX: u32 = (1 << 24) - 1;
/// The most bytes of a message that continues over several packets.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// The most messages from the greeting to the end of the authentication.
const LOGIN_STEPS_MAX: usize = 100;
const COLUMNS_MAX: u64 = 4096;
const UTF8MB4: u8 = 45;

const OK: u8 = 0;
const MORE_AUTHENTICATION: u8 = 1;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// Runs `query` on its own connection; the rows are streamed.
pub fn query(address: &Address, query: &str, limits: Limits) -> Result<impl RowStream + use<>> {
    let mut client = Client::connect(address, limits)?;
    let bits = client.ask(query)?;
    Ok(QueryRows { client, bits, is_done: false })
}

/// A connection.
pub struct Client {
    transport: Transport,
    sequence: u8,
}

impl Client {
    pub fn connect(address: &Address, limits: Limits) -> Result<Client> {
        let (mut client, greeting) = Client::reach(address, limits)?;
        client.start(address, &greeting)?;
        client.command("SET time_zone = '+00:00'")?;
        client.receive()?;
        Ok(client)
    }

    /// Runs `query`. The connection can be used again only after all rows were read without an error.
    pub fn query(&mut self, query: &str, limits: Limits) -> Result<impl RowStream> {
        self.transport.renew(limits);
        let bits = self.ask(query)?;
        Ok(QueryRows { client: self, bits, is_done: false })
    }

    /// Whether the connection can be used again; if not, it must be closed.
    pub fn is_ready(&mut self) -> bool {
        self.transport.is_idle()
    }

    /// Sends `query`, and reads the messages before its rows: for each column, whether its values are BIT.
    fn ask(&mut self, query: &str) -> Result<Vec<bool>> {
        self.command(query)?;
        let head = self.receive()?;
        let count = parse_number(&mut &head[..]).filter(|&count| count > 0).ok_or_else(|| self.damaged())?;
        if count > COLUMNS_MAX {
            return Err(self.damaged());
        }
        let mut bits = Vec::new();
        for _ in 0..count {
            let column = self.receive()?;
            bits.push(parse_is_bit(&column).ok_or_else(|| self.damaged())?);
        }
        self.receive()?;
        Ok(bits)
    }

    /// Connects with the TLS that the address requires, and reads the server's greeting.
    fn reach(address: &Address, limits: Limits) -> Result<(Client, Greeting)> {
        match Client::greeted(address, address.tls.mode, limits) {
            Err(error)
                if address.tls.mode == TlsMode::Prefer && error.code() != ErrorCode::TimeoutExceeded =>
            {
                Client::greeted(address, TlsMode::Disable, limits)
            }
            other => other,
        }
    }

    fn greeted(address: &Address, mode: TlsMode, limits: Limits) -> Result<(Client, Greeting)> {
        let transport = Transport::new(Socket::connect("MySQL", address, limits)?);
        let mut client = Client { transport, sequence: 0 };
        let greeting = client.receive()?;
        let greeting = parse_greeting(&greeting).ok_or_else(|| client.damaged())?;
        if mode == TlsMode::Disable || !greeting.has_tls && mode == TlsMode::Prefer {
            return Ok((client, greeting));
        }
        if !greeting.has_tls {
            bail!(
                NetworkError,
                "{} has no TLS: set it up there, or ssl_mode 'prefer' or 'disable' here",
                client.transport.peer()
            );
        }
        client.send(&client_head(abilities(address, &greeting) | TLS))?;
        client.transport = client.transport.protected(&address.host, &address.tls)?;
        Ok((client, greeting))
    }

    /// Authenticates, from the greeting to the server's OK.
    fn start(&mut self, address: &Address, greeting: &Greeting) -> Result<()> {
        let Greeting { plugin, salt, .. } = greeting;
        let password = address.password.as_bytes();
        let answer = password::answer(plugin, password, salt).unwrap_or_default();
        let abilities = abilities(address, greeting);
        let tls = if self.transport.is_protected() { TLS } else { 0 };
        let mut message = client_head(abilities | tls);
        message.extend(text(&address.user));
        message.push(u8::try_from(answer.len()).map_err(Error::logical)?);
        message.extend(answer);
        if !address.database.is_empty() {
            message.extend(text(&address.database));
        }
        message.extend(text(plugin));
        self.send(&message)?;
        for _ in 0..LOGIN_STEPS_MAX {
            let reply = self.receive()?;
            match reply.split_first() {
                Some((&OK, _)) => {
                    if abilities & COMPRESSION > 0 {
                        self.transport.compress();
                    }
                    return Ok(());
                }
                Some((&END, rest)) => self.change_plugin(rest, password)?,
                // 3: the server has the password's hash cached; 4: it needs the password itself.
                Some((&MORE_AUTHENTICATION, [3, ..])) => {}
                Some((&MORE_AUTHENTICATION, _)) if self.transport.is_protected() => {
                    self.send(&text(&address.password))?;
                }
                Some((&MORE_AUTHENTICATION, _)) => bail!(
                    AuthenticationFailed,
                    "{} wants the password itself (caching_sha2_password), which goes over TLS alone: set ssl_mode to \
                     'require' or more",
                    self.transport.peer()
                ),
                _ => return Err(self.damaged()),
            }
        }
        Err(self.damaged())
    }

    fn change_plugin(&mut self, request: &[u8], password: &[u8]) -> Result<()> {
        let mut parts = request.splitn(2, |&byte| byte == 0);
        let plugin = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let salt = parts.next().unwrap_or_default();
        let salt = salt.strip_suffix(&[0]).unwrap_or(salt);
        match password::answer(&plugin, password, salt) {
            Some(answer) => self.send(&answer),
            None => bail!(
                NotImplemented,
                "{} wants authentication by {plugin}, which is not implemented",
                self.transport.peer()
            ),
        }
    }

    fn command(&mut self, query: &str) -> Result<()> {
        self.sequence = 0;
        let mut message = vec![3];
        message.extend_from_slice(query.as_bytes());
        self.send(&message)
    }

    fn send(&mut self, message: &[u8]) -> Result<()> {
        let bytes = u32::try_from(message.len()).ok().filter(|&bytes| bytes < PACKET_BYTES_MAX);
        let Some(bytes) = bytes else { bail!(BadArguments, "a query to MySQL has {} bytes", message.len()) };
        let mut packet = bytes.to_le_bytes().to_vec();
        packet[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        packet.extend_from_slice(message);
        self.transport.send(&packet)
    }

    /// The next message; the server's error becomes ours.
    fn receive(&mut self) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let head = self.transport.take(4)?;
            let bytes = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            self.sequence = head[3].wrapping_add(1);
            message.extend_from_slice(self.transport.take(bytes as usize)?);
            if bytes < PACKET_BYTES_MAX {
                break;
            }
            if message.len() > MESSAGE_BYTES_MAX {
                return Err(self.damaged());
            }
        }
        if message.first() == Some(&ERROR) {
            let code = message.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
            let text = String::from_utf8_lossy(message.get(3..).unwrap_or_default()).into_owned();
            let message = format!("{} answers: {text} (error {code})", self.transport.peer());
            return Err(Error::new(error_code(code), message));
        }
        Ok(message)
    }

    fn damaged(&self) -> Error {
        let message = format!("{} sends a message that MySQL does not", self.transport.peer());
        Error::new(ErrorCode::IncorrectData, message)
    }
}

struct QueryRows<C> {
    client: C,
    bits: Vec<bool>,
    is_done: bool,
}

impl<C: BorrowMut<Client> + Send> RowStream for QueryRows<C> {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        if self.is_done {
            return Ok(false);
        }
        let client = self.client.borrow_mut();
        let message = client.receive()?;
        if message.first() == Some(&END) && message.len() < 9 {
            self.is_done = true;
            return Ok(false);
        }
        parse_row(&message, &self.bits, row).ok_or_else(|| client.damaged())?;
        Ok(true)
    }
}

/// Distinguishes errors of the connection, of the authentication and of the query.
fn error_code(number: u16) -> ErrorCode {
    match number {
        // Too many connections, shutdown, killed connection, timeout, blocked host.
        1040 | 1053 | 1129 | 1152..=1161 | 1184 | 1203 | 1205 => ErrorCode::NetworkError,
        1044 | 1045 | 1130 | 1227 | 1698 => ErrorCode::AuthenticationFailed,
        _ => ErrorCode::ReceivedErrorFromRemoteIoServer,
    }
}

/// The common beginning of the TLS request and the login message.
fn client_head(abilities: u32) -> Vec<u8> {
    let mut head = abilities.to_le_bytes().to_vec();
    head.extend(PACKET_BYTES_MAX.to_le_bytes());
    head.push(UTF8MB4);
    head.extend([0; 23]);
    head
}

fn abilities(address: &Address, greeting: &Greeting) -> u32 {
    let mut abilities = LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH;
    if !address.database.is_empty() {
        abilities |= CONNECT_WITH_DB;
    }
    if address.compression && greeting.can_compress {
        abilities |= COMPRESSION;
    }
    abilities
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    bytes.push(0);
    bytes
}
