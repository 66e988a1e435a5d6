//! A connection with timeouts, read by exact counts of bytes: TCP or a Unix socket, with or without TLS.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;

use basalt_base::{Error, ErrorCode, Result, bail};
use rustls::{ClientConnection, StreamOwned};

use crate::Address;
use crate::limits::{Limits, timed_out};
use crate::timed::{Timed, Wire};
use crate::tls::{TlsOptions, explained, handshake, handshake_timed_out, is_of_tls};

const READ_BYTES: usize = 64 << 10;

/// A longer message is refused: its length is corrupt.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

pub(crate) struct Socket {
    stream: Stream,
    /// The name of the other side, for errors.
    peer: String,
    input: Vec<u8>,
    at: usize,
}

enum Stream {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Socket {
    /// Connects without TLS: to the Unix socket, or to the first address of the host that accepts.
    pub(crate) fn connect(kind: &str, address: &Address, limits: Limits) -> Result<Socket> {
        let peer = format!("{kind} at {address}");
        let wire = match &address.socket {
            Some(path) => connect_unix(path, &peer)?,
            None => connect_tcp(address, limits, &peer)?,
        };
        Ok(Socket {
            stream: Stream::Plain(Timed { wire, limits, waits: true }),
            peer,
            input: Vec::new(),
            at: 0,
        })
    }

    /// Starts TLS on the connection. The handshake has the connect timeout.
    pub(crate) fn protected(self, host: &str, tls: &TlsOptions) -> Result<Socket> {
        let Socket { stream: Stream::Plain(mut timed), peer, input, at } = self else {
            return Err(Error::logical("a connection is protected twice"));
        };
        if input.len() > at {
            // An attacker could have inserted these bytes before TLS.
            bail!(IncorrectData, "{peer} sends more than its answer before TLS begins");
        }
        let config = tls.config()?;
        let limits = timed.limits;
        timed.limits = limits.within(limits.connect);
        let shaken = handshake(config, host, &mut timed);
        let connection = shaken.map_err(|error| match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => handshake_timed_out(&peer),
            _ => explained(&peer, &error),
        })?;
        timed.limits = limits;
        let stream = Stream::Tls(Box::new(StreamOwned::new(connection, timed)));
        Ok(Socket { stream, peer, input: Vec::new(), at: 0 })
    }

    pub(crate) fn is_protected(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Sets the limits of the next request on the connection.
    pub(crate) fn renew(&mut self, limits: Limits) {
        self.timed().limits = limits;
    }

    pub(crate) fn limits(&mut self) -> Limits {
        self.timed().limits
    }

    /// Whether the connection is open and has no unread bytes. Otherwise it must not be used again.
    pub(crate) fn is_idle(&mut self) -> bool {
        let is_drained = self.input.len() == self.at;
        is_drained && self.timed().wire.is_idle()
    }

    /// Whether bytes of the other side are here. Does not wait for them.
    pub(crate) fn has_arrived(&mut self) -> Result<bool> {
        if self.input.len() > self.at {
            return Ok(true);
        }
        self.timed().waits = false;
        let read = self.read_more();
        self.timed().waits = true;
        match read {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(network(&self.peer, &error)),
        }
    }

    fn timed(&mut self) -> &mut Timed {
        match &mut self.stream {
            Stream::Plain(timed) => timed,
            Stream::Tls(stream) => &mut stream.sock,
        }
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        };
        sent.map_err(|error| network(&self.peer, &error))
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&[u8]> {
        if count > MESSAGE_BYTES_MAX {
            bail!(IncorrectData, "{} announces a message of {count} bytes", self.peer);
        }
        while self.input.len() - self.at < count {
            self.fill()?;
        }
        self.at += count;
        Ok(&self.input[self.at - count..self.at])
    }

    /// The bytes up to the next `\r\n`, without it.
    pub(crate) fn take_line(&mut self) -> Result<&[u8]> {
        let mut searched = 0;
        let end = loop {
            let rest = &self.input[self.at..];
            match rest[searched..].windows(2).position(|pair| pair == b"\r\n") {
                Some(found) => break searched + found,
                None if rest.len() > READ_BYTES => {
                    bail!(IncorrectData, "{} sends an endless line", self.peer)
                }
                None => searched = rest.len().saturating_sub(1),
            }
            self.fill()?;
            searched = searched.min(self.input.len() - self.at);
        };
        let start = self.at;
        self.at += end + 2;
        Ok(&self.input[start..start + end])
    }

    fn fill(&mut self) -> Result<()> {
        self.read_more().map_err(|error| network(&self.peer, &error))
    }

    /// Reads at least one byte more. The end of the stream is an error.
    fn read_more(&mut self) -> std::io::Result<()> {
        self.input.drain(..self.at);
        self.at = 0;
        let filled = self.input.len();
        self.input.resize(filled + READ_BYTES, 0);
        let read = loop {
            let space = &mut self.input[filled..];
            let read = match &mut self.stream {
                Stream::Plain(stream) => stream.read(space),
                Stream::Tls(stream) => stream.read(space),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A server that is killed closes without a TLS close_notify.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break Ok(0),
                other => break other,
            }
        };
        self.input.truncate(filled + *read.as_ref().unwrap_or(&0));
        match read? {
            0 => {
                let what = format!("{} closed the connection in the middle of an answer", self.peer);
                Err(std::io::Error::other(Error::new(ErrorCode::NetworkError, what)))
            }
            _ => Ok(()),
        }
    }
}

/// The bytes of the other side, for decoders that read them from a stream. Errors are those of [`Socket::take`].
impl BufRead for Socket {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.input.len() == self.at {
            self.fill().map_err(std::io::Error::other)?;
        }
        Ok(&self.input[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at = self.input.len().min(self.at + count);
    }
}

impl Read for Socket {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = out.len().min(bytes.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

fn connect_unix(path: &Path, peer: &str) -> Result<Wire> {
    UnixStream::connect(path).map(Wire::Unix).map_err(|error| network(peer, &error))
}

fn connect_tcp(address: &Address, limits: Limits, peer: &str) -> Result<Wire> {
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let found = found.map_err(|error| network(peer, &error))?;
    let mut failure = None;
    for address in found {
        match TcpStream::connect_timeout(&address, limits.wait(limits.connect, peer)?) {
            Ok(stream) => {
                // Small requests are sent at once.
                stream.set_nodelay(true).map_err(|error| network(peer, &error))?;
                return Ok(Wire::Tcp(stream));
            }
            Err(error) => failure = Some(network(peer, &error)),
        }
    }
    Err(failure
        .unwrap_or_else(|| Error::new(ErrorCode::NetworkError, format!("{peer}: the host has no address"))))
}

pub(crate) fn network(peer: &str, error: &std::io::Error) -> Error {
    if let Some(own) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return own.clone();
    }
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => timed_out(peer),
        _ if is_of_tls(error) => explained(peer, error),
        _ => Error::new(ErrorCode::NetworkError, format!("{peer}: {error}")),
    }
}
