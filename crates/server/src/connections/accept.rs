//! The accept loop of a listener.

use std::future::Future;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::slots::{ConnectionLimits, ConnectionSlot, Connections};
use super::socket::Socket;

/// The pause in accepting when the process has no free file descriptor.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a refused client may take to accept the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// A protocol that is spoken on connections.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Answers the requests of a connection. Returns when the client has gone, when [`Connection::closed`] resolves,
    /// or after the running request once [`Connection::stop`] has changed.
    fn converse(self: Arc<Self>, connection: Connection) -> impl Future<Output = ()> + Send;

    /// The bytes that tell a new client why it is refused.
    fn refusal(&self, error: &Error) -> Vec<u8>;
}

/// An accepted connection.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    pub(crate) slot: ConnectionSlot,
    pub(crate) limits: ConnectionLimits,
    /// Changes when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Serves connections until `stop` changes. Returns after the last request of the last connection was answered.
pub(crate) async fn serve<P: Protocol>(
    listener: TcpListener,
    protocol: Arc<P>,
    connections: Arc<Connections>,
    mut stop: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => match connections.admit() {
                Some(slot) => {
                    let limits = connections.limits;
                    // Answers are small and latency matters. A socket that refuses the option still works.
                    let _ = stream.set_nodelay(true);
                    let socket = Socket::new(stream, limits.send);
                    let connection = Connection { socket, slot, limits, stop: stop.clone() };
                    tasks.spawn(Arc::clone(&protocol).converse(connection));
                }
                None => drop(tasks.spawn(refuse(stream, protocol.refusal(&too_many())))),
            },
            // The client disconnected before it was accepted.
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(_) => {
                connections.close_slowest();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

async fn refuse(mut stream: TcpStream, reason: Vec<u8>) {
    // The client may not read the answer.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, stream.write_all(&reason)).await;
}

fn too_many() -> Error {
    Error::new(
        ErrorCode::TooManySimultaneousQueries,
        "the server has max_connections open connections; try again later",
    )
}
