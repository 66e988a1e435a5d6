//! A TCP connection or a Unix socket whose every read and write has a timeout.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use basalt_base::query::checkpoint;

use crate::limits::Limits;

/// How often a query that waits for the other side looks whether it must stop.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A stream whose every read and write has a timeout.
pub(crate) struct Timed {
    pub(crate) wire: Wire,
    pub(crate) limits: Limits,
    /// Whether a read waits for bytes.
    pub(crate) waits: bool,
}

pub(crate) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
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
    pub(crate) fn is_idle(&mut self) -> bool {
        let read = self.read_now(&mut [0]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn read_within(&mut self, wait: Duration, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Wire::Tcp(stream) => stream.set_read_timeout(Some(wait)).and_then(|()| stream.read(buffer)),
            Wire::Unix(stream) => stream.set_read_timeout(Some(wait)).and_then(|()| stream.read(buffer)),
        }
    }

    /// What is here already; WouldBlock if that is nothing.
    fn read_now(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let set = |wire: &Wire, waits: bool| match wire {
            Wire::Tcp(stream) => stream.set_nonblocking(!waits),
            Wire::Unix(stream) => stream.set_nonblocking(!waits),
        };
        set(self, false)?;
        let read = match self {
            Wire::Tcp(stream) => stream.read(buffer),
            Wire::Unix(stream) => stream.read(buffer),
        };
        set(self, true)?;
        read
    }
}

impl Read for Timed {
    /// Waits as long as the limits allow, or until the query of this thread must stop.
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.waits {
            return self.wire.read_now(buffer);
        }
        let begun = Instant::now();
        loop {
            let left = self.limits.receive.saturating_sub(begun.elapsed());
            let wait = self.wait(left)?;
            if wait.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.wire.read_within(wait.min(LOOK_AGAIN), buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    checkpoint().map_err(std::io::Error::other)?;
                }
                other => return other,
            }
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
