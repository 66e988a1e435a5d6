//! A stream with the messages that are read from it and written to it.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode, Result};
use basalt_wire::{ReadError, ReadResult};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::activity::Activity;
use super::peer::Peer;
use super::slots::ConnectionLimits;
use super::stream::Stream;
use crate::tls::{Application, Tls};

/// How much is read from the stream at once, from a client that sends little and from one that sends much.
const READ_BYTES: std::ops::RangeInclusive<usize> = (4 << 10)..=(64 << 10);

/// The largest message: a statement with its settings.
const MESSAGE_BYTES_MAX: usize = 130 << 20;

/// A connection's stream and the bytes that have arrived.
pub(crate) struct Channel {
    stream: Stream,
    peer: Peer,
    activity: Arc<Activity>,
    arrived: BytesMut,
    /// Bytes of memory for the next read: idle clients hold little.
    read_bytes: usize,
    limits: ConnectionLimits,
}

impl Channel {
    pub(crate) fn new(
        stream: Stream,
        peer: Peer,
        activity: Arc<Activity>,
        limits: ConnectionLimits,
    ) -> Channel {
        Channel { stream, peer, activity, arrived: BytesMut::new(), read_bytes: *READ_BYTES.start(), limits }
    }

    /// The first byte of a client that has sent nothing yet; `None` if it has gone. The byte stays to be read.
    pub(crate) async fn first_byte(&mut self) -> Result<Option<u8>> {
        match &self.stream {
            Stream::Plain(socket) => socket.first_byte().await.map_err(|error| network_error(&error)),
            Stream::Tls(_) | Stream::Gone => Ok(None),
        }
    }

    /// Does the handshake of TLS with a client that has asked for it. The caller limits its time.
    pub(crate) async fn secure(&mut self, tls: &Arc<Tls>, application: Application) -> Result<()> {
        // Bytes from before would look as if they had come under protection.
        if !self.arrived.is_empty() {
            let what = "the client sent unencrypted bytes after it had asked for encryption";
            return Err(Error::new(ErrorCode::UnexpectedPacketFromClient, what));
        }
        let Stream::Plain(socket) = std::mem::replace(&mut self.stream, Stream::Gone) else {
            return Err(Error::new(
                ErrorCode::UnexpectedPacketFromClient,
                "the connection is encrypted already",
            ));
        };
        let (stream, certificate) =
            tls.accept(socket, application).await.map_err(|error| network_error(&error))?;
        self.stream = Stream::Tls(stream);
        self.peer.is_encrypted = true;
        self.peer.certificate = certificate;
        Ok(())
    }

    /// The protocol that the handshake named (ALPN).
    pub(crate) fn application_name(&self) -> Option<&[u8]> {
        match &self.stream {
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            Stream::Plain(_) | Stream::Gone => None,
        }
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn limits(&self) -> ConnectionLimits {
        self.limits
    }

    /// Reads a message; `None` if the client has gone before it. The client has `idle` time to begin it.
    pub(crate) async fn message<T>(
        &mut self,
        idle: Duration,
        mut parse: impl FnMut(&mut &[u8]) -> ReadResult<T>,
    ) -> Result<Option<T>> {
        self.activity.wait();
        let mut patience = if self.arrived.is_empty() { idle } else { self.limits.receive };
        // Fewer bytes cannot be a whole message.
        let mut needed = 1;
        loop {
            if self.arrived.len() >= needed {
                let mut rest = &self.arrived[..];
                match parse(&mut rest) {
                    Ok(message) => {
                        let consumed = self.arrived.len() - rest.len();
                        drop(self.arrived.split_to(consumed));
                        self.activity.work();
                        return Ok(Some(message));
                    }
                    Err(ReadError::Failed(error)) => return Err(error),
                    Err(ReadError::Incomplete(_)) if self.arrived.len() > MESSAGE_BYTES_MAX => {
                        return Err(too_long());
                    }
                    Err(ReadError::Incomplete(missing)) => {
                        needed = self.arrived.len().saturating_add(missing);
                    }
                }
            }
            let read = tokio::time::timeout(patience, self.receive()).await;
            if read.unwrap_or_else(|_| Err(too_slow(patience)))? == 0 {
                return match self.arrived.is_empty() {
                    true => Ok(None),
                    false => Err(broken_off()),
                };
            }
            patience = self.limits.receive;
        }
    }

    /// Reads what the client has sent; 0 means that it has gone. Dropping the future loses nothing.
    pub(crate) async fn receive(&mut self) -> Result<usize> {
        self.arrived.reserve(self.read_bytes);
        let read = self.stream.read_buf(&mut self.arrived).await;
        let count = read.map_err(|error| network_error(&error))?;
        let next = if count < self.read_bytes { self.read_bytes / 2 } else { self.read_bytes * 4 };
        self.read_bytes = next.clamp(*READ_BYTES.start(), *READ_BYTES.end());
        Ok(count)
    }

    /// Takes the bytes that have arrived.
    pub(crate) fn take_arrived(&mut self) -> Bytes {
        self.arrived.split().freeze()
    }

    pub(crate) fn arrived(&self) -> &[u8] {
        &self.arrived
    }

    /// Puts bytes back in front of those that have arrived since.
    pub(crate) fn put_back(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let mut all = BytesMut::with_capacity(bytes.len() + self.arrived.len());
            all.extend_from_slice(bytes);
            all.extend_from_slice(&self.arrived);
            self.arrived = all;
        }
    }

    pub(crate) fn consume(&mut self, count: usize) {
        drop(self.arrived.split_to(count));
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sending = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        sending.await.map_err(|error| network_error(&error))
    }

    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    pub(crate) fn patience(&self) -> Duration {
        self.limits.receive
    }

    /// Tells the client that nothing more comes.
    pub(crate) async fn finish(mut self) {
        // The client may have gone first.
        let _ = self.stream.shutdown().await;
    }
}

fn network_error(source: &std::io::Error) -> Error {
    Error::new(ErrorCode::NetworkError, format!("the connection broke off: {source}"))
}

pub(crate) fn broken_off() -> Error {
    Error::new(ErrorCode::NetworkError, "the client disconnected in the middle of a message")
}

fn too_slow(patience: Duration) -> Error {
    let seconds = patience.as_secs_f64();
    Error::new(ErrorCode::SocketTimeout, format!("the client sent nothing for {seconds} s"))
}

fn too_long() -> Error {
    let what = format!("a statement with its settings has more than {MESSAGE_BYTES_MAX} bytes");
    Error::new(ErrorCode::LimitExceeded, what)
}
