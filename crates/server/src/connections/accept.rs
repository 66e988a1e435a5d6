//! The accept loop of a listener.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use basalt_engine::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::entrance::Entrance;
use super::peer::Peer;
use super::slots::{ConnectionLimits, ConnectionSlot, Connections};
use super::stream::Stream;

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
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    pub(crate) slot: ConnectionSlot,
    pub(crate) limits: ConnectionLimits,
    /// Changes when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Serves connections until `stop` changes. Returns after the last request of the last connection was answered.
pub(crate) async fn serve<P: Protocol>(
    listener: TcpListener,
    protocol: Arc<P>,
    entrance: Entrance,
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
            Ok((stream, address)) => {
                let (protocol, entrance) = (Arc::clone(&protocol), entrance.clone());
                match connections.admit(address.ip()) {
                    Ok(slot) => {
                        let admitted = Admitted { stream, address, slot, limits: connections.limits };
                        drop(tasks.spawn(admitted.converse(protocol, entrance, stop.clone())));
                    }
                    Err(error) => {
                        drop(tasks.spawn(refuse(stream, address, entrance, protocol.refusal(&error))));
                    }
                }
            }
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

/// A socket that has a slot.
struct Admitted {
    stream: TcpStream,
    address: SocketAddr,
    slot: ConnectionSlot,
    limits: ConnectionLimits,
}

impl Admitted {
    /// Lets the client in and answers its requests.
    async fn converse<P: Protocol>(
        self,
        protocol: Arc<P>,
        entrance: Entrance,
        mut stop: watch::Receiver<bool>,
    ) {
        let Admitted { stream, address, slot, limits } = self;
        // Answers are small and latency matters. A socket that refuses the option still works.
        let _ = stream.set_nodelay(true);
        let activity = Arc::clone(&slot.activity);
        let entering = entrance.enter(stream, address, limits.send, |error| protocol.refusal(error));
        let entered = tokio::select! {
            entered = tokio::time::timeout(limits.login, entering) => entered.ok().flatten(),
            () = activity.closed() => None,
            _ = stop.changed() => None,
        };
        if let Some((stream, peer)) = entered {
            protocol.converse(Connection { stream, peer, slot, limits, stop }).await;
        }
    }
}

async fn refuse(stream: TcpStream, address: SocketAddr, entrance: Entrance, reason: Vec<u8>) {
    let telling = async {
        let entered = entrance.enter(stream, address, REFUSAL_TIMEOUT, |_| reason.clone()).await;
        let Some((mut stream, _)) = entered else { return };
        if stream.write_all(&reason).await.is_ok() && stream.shutdown().await.is_ok() {
            // A socket that is closed with unread bytes of the client takes the reason away again.
            let mut unread = [0; 1024];
            while stream.read(&mut unread).await.is_ok_and(|count| count > 0) {}
        }
    };
    // The client may not read the answer.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, telling).await;
}
