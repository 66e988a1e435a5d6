//! How a client enters a port: as it comes, or after a handshake of TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::peer::Peer;
use super::socket::Socket;
use super::stream::Stream;
use crate::tls::{Application, Tls, is_hello};

/// Whether a port speaks TLS.
#[derive(Clone)]
pub(crate) enum Entrance {
    Open,
    Tls(Arc<Tls>, Application),
}

impl Entrance {
    /// The stream of a client that is let in. A client that speaks no TLS where it should is told so, by `refusal`, in
    /// its own protocol. The caller limits the time.
    pub(super) async fn enter(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        send: Duration,
        refusal: impl FnOnce(&Error) -> Vec<u8>,
    ) -> Option<(Stream, Peer)> {
        let mut socket = Socket::new(stream, send);
        let Entrance::Tls(tls, application) = self else {
            return Some((Stream::Plain(socket), Peer { address, is_encrypted: false, certificate: None }));
        };
        let first = socket.first_byte().await.ok()??;
        if !is_hello(first) {
            // The client may have gone.
            let _ = socket.write_all(&refusal(&without_tls())).await;
            let _ = socket.shutdown().await;
            return None;
        }
        // The client has learned of a failure by an alert.
        let (stream, certificate) = tls.accept(socket, *application).await.ok()?;
        Some((Stream::Tls(stream), Peer { address, is_encrypted: true, certificate }))
    }
}

fn without_tls() -> Error {
    Error::new(
        ErrorCode::UnexpectedPacketFromClient,
        "this port speaks TLS: connect to it with TLS (https, secure=1), or to the port without TLS",
    )
}
