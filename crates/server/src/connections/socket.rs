//! A socket whose peer must accept what is sent to it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// Writing fails if the client accepts nothing for too long.
pub(crate) struct Socket {
    stream: TcpStream,
    patience: Duration,
    /// Active while the server waits for the client.
    expiry: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> Socket {
        Socket { stream, patience, expiry: None }
    }

    /// The first byte that the client sends, which stays to be read; `None` if it has gone.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let count = self.stream.peek(&mut first).await?;
        Ok((count > 0).then_some(first[0]))
    }

    fn within_patience<T>(
        &mut self,
        ctx: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.expiry = None;
            return done;
        }
        let patience = self.patience;
        let expiry = self.expiry.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        expiry.as_mut().poll(ctx).map(|()| {
            let what = format!("the client read nothing of the answer for {} s", patience.as_secs_f64());
            Err(io::Error::new(io::ErrorKind::TimedOut, what))
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(ctx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(ctx, bytes);
        self.within_patience(ctx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(ctx, slices);
        self.within_patience(ctx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(ctx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(ctx)
    }
}
