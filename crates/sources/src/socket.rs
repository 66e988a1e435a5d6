//! A connection with timeouts, read by exact counts of bytes: TCP or a Unix socket, with or without TLS.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result, bail};
use rustls::{ClientConnection, StreamOwned};

use crate::Address;
use crate::limits::{Limits, timed_out};
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

/// A stream whose every read and write has a timeout.
struct Timed {
    wire: Wire,
    limits: Limits,
}

enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects without TLS: to the Unix socket, or to the first address of the host that accepts.
    pub(crate) fn connect(kind: &str, address: &Address, limits: Limits) -> Result<Socket> {
        let peer = format!("{kind} at {address}");
        let wire = match &address.socket {
            Some(path) => connect_unix(path, &peer)?,
            None => connect_tcp(address, limits, &peer)?,
        };
        Ok(Socket { stream: Stream::Plain(Timed { wire, limits }), peer, input: Vec::new(), at: 0 })
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
        match &mut self.stream {
            Stream::Plain(timed) => timed.limits = limits,
            Stream::Tls(stream) => stream.sock.limits = limits,
        }
    }

    /// Whether the connection is open and has no unread bytes. Otherwise it must not be used again.
    pub(crate) fn is_idle(&mut self) -> bool {
        let timed = match &mut self.stream {
            Stream::Plain(timed) => timed,
            Stream::Tls(stream) => &mut stream.sock,
        };
        self.input.len() == self.at && timed.wire.is_idle()
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
        self.input.drain(..self.at);
        self.at = 0;
        let filled = self.input.len();
        self.input.resize(filled + READ_BYTES, 0);
        let count = loop {
            let space = &mut self.input[filled..];
            let read = match &mut self.stream {
                Stream::Plain(stream) => stream.read(space),
                Stream::Tls(stream) => stream.read(space),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A server that is killed closes without a TLS close_notify.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break 0,
                other => break other.map_err(|error| network(&self.peer, &error))?,
            }
        };
        self.input.truncate(filled + count);
        if count == 0 {
            bail!(NetworkError, "{} closed the connection in the middle of an answer", self.peer);
        }
        Ok(())
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

impl Timed {
    /// The timeout of the next wait.
    fn wait(&self, longest: Duration) -> std::io::Result<Duration> {
        let left = self.limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if left.is_zero() => Err(ErrorKind::TimedOut.into()),
            Some(left) => Ok(left.min(longest)),
            None => Ok(longest),
        }
    }
}

impl Wire {
    /// Whether there is nothing to read and the stream has not ended. Bytes read here are lost; they belong to no
    /// response.
    fn is_idle(&mut self) -> bool {
        let mut byte = [0];
        let read = match self {
            Wire::Tcp(stream) => stream.set_nonblocking(true).and_then(|()| stream.read(&mut byte)),
            Wire::Unix(stream) => stream.set_nonblocking(true).and_then(|()| stream.read(&mut byte)),
        };
        let waits_again = match self {
            Wire::Tcp(stream) => stream.set_nonblocking(false),
            Wire::Unix(stream) => stream.set_nonblocking(false),
        };
        waits_again.is_ok() && read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wait = Some(self.wait(self.limits.receive)?);
        match &mut self.wire {
            Wire::Tcp(stream) => stream.set_read_timeout(wait).and_then(|()| stream.read(buffer)),
            Wire::Unix(stream) => stream.set_read_timeout(wait).and_then(|()| stream.read(buffer)),
        }
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let wait = Some(self.wait(self.limits.send)?);
        match &mut self.wire {
            Wire::Tcp(stream) => stream.set_write_timeout(wait).and_then(|()| stream.write(bytes)),
            Wire::Unix(stream) => stream.set_write_timeout(wait).and_then(|()| stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.wire {
            Wire::Tcp(stream) => stream.flush(),
            Wire::Unix(stream) => stream.flush(),
        }
    }
}

pub(crate) fn network(peer: &str, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => timed_out(peer),
        _ if is_of_tls(error) => explained(peer, error),
        _ => Error::new(ErrorCode::NetworkError, format!("{peer}: {error}")),
    }
}
