//! A TCP connection that is read by exact counts of bytes and gives up in time.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use basalt_base::{Error, ErrorCode, Result, bail};

use crate::Address;
use crate::limits::{Limits, timed_out};

const READ_BYTES: usize = 64 << 10;

/// A message longer than this is refused: its length is damaged, or is no length.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

pub(crate) struct Socket {
    stream: TcpStream,
    /// Who is on the other side, for errors.
    peer: String,
    limits: Limits,
    input: Vec<u8>,
    at: usize,
}

impl Socket {
    /// Connects to the first address of the host that accepts.
    pub(crate) fn connect(kind: &str, address: &Address, limits: Limits) -> Result<Socket> {
        let peer = format!("{kind} at {address}");
        let found = (address.host.as_str(), address.port).to_socket_addrs();
        let found = found.map_err(|error| network(&peer, &error))?;
        let mut failure = None;
        for address in found {
            match TcpStream::connect_timeout(&address, limits.wait(limits.connect, &peer)?) {
                Ok(stream) => {
                    // Small questions go out at once.
                    stream.set_nodelay(true).map_err(|error| network(&peer, &error))?;
                    return Ok(Socket { stream, peer, limits, input: Vec::new(), at: 0 });
                }
                Err(error) => failure = Some(network(&peer, &error)),
            }
        }
        Err(failure.unwrap_or_else(|| {
            Error::new(ErrorCode::NetworkError, format!("{peer}: the host has no address"))
        }))
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let wait = self.limits.wait(self.limits.silence, &self.peer)?;
        let sent = self.stream.set_write_timeout(Some(wait)).and_then(|()| self.stream.write_all(bytes));
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
        let wait = self.limits.wait(self.limits.silence, &self.peer)?;
        self.stream.set_read_timeout(Some(wait)).map_err(|error| network(&self.peer, &error))?;
        let filled = self.input.len();
        self.input.resize(filled + READ_BYTES, 0);
        let count = loop {
            match self.stream.read(&mut self.input[filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
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

pub(crate) fn network(peer: &str, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => timed_out(peer),
        _ => Error::new(ErrorCode::NetworkError, format!("{peer}: {error}")),
    }
}
