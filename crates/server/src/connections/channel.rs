//! A socket with the messages that are read from it and written to it.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode, Result};
use basalt_wire::{ReadError, ReadResult};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::activity::Activity;
use super::socket::Socket;

/// How much is read from the socket at once.
const READ_BYTES: usize = 64 << 10;

/// The largest message: a statement with its settings.
const MESSAGE_BYTES_MAX: usize = 130 << 20;

/// A connection's socket and the bytes that have arrived.
pub(crate) struct Channel {
    socket: Socket,
    activity: Arc<Activity>,
    arrived: BytesMut,
    /// How long the rest of a message may take.
    patience: Duration,
}

impl Channel {
    pub(crate) fn new(socket: Socket, activity: Arc<Activity>, patience: Duration) -> Channel {
        Channel { socket, activity, arrived: BytesMut::new(), patience }
    }

    /// Reads a message; `None` if the client has gone before it. The client has `idle` time to begin it.
    pub(crate) async fn message<T>(
        &mut self,
        idle: Duration,
        mut parse: impl FnMut(&mut &[u8]) -> ReadResult<T>,
    ) -> Result<Option<T>> {
        self.activity.wait();
        let mut patience = if self.arrived.is_empty() { idle } else { self.patience };
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
            patience = self.patience;
        }
    }

    /// Reads what the client has sent; 0 means that it has gone. Dropping the future loses nothing.
    pub(crate) async fn receive(&mut self) -> Result<usize> {
        self.arrived.reserve(READ_BYTES);
        self.socket.read_buf(&mut self.arrived).await.map_err(|error| network_error(&error))
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
        self.socket.write_all(bytes).await.map_err(|error| network_error(&error))
    }

    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Tells the client that nothing more comes.
    pub(crate) async fn finish(mut self) {
        // The client may have gone first.
        let _ = self.socket.shutdown().await;
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
