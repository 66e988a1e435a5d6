//! The connections of a listener, with limits on their number and on the time they may make the server wait.
//!
//! # Invariants
//!
//! - **Bounded**: there are at most [`ConnectionLimits::most`] connections. A new one replaces the one whose client
//!   has made the server wait longest, in the head or the body of a request or between requests. If the server waits
//!   for no client, the new connection is refused. Slow clients therefore cannot lock out others.
//! - **No endless waits**: a head must arrive in time, and a body and an answer must make progress.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use basalt_engine::Error;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http::{ActiveRequest, Activity, AnswerBody, RequestBody, Socket};

/// The maximum bytes of a head, and of buffered pieces of a body: a connection holds no more in memory.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// Announces how long an idle connection stays open.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// The pause in accepting when the process has no free file descriptor.
const PAUSE: Duration = Duration::from_millis(20);

/// The maximum number of connections, and how long a client may make the server wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) most: usize,
    /// From the end of an answer, or from the start, to the end of the next head.
    pub(crate) keep_alive: Duration,
    /// Until the next part of a body arrives.
    pub(crate) receive: Duration,
    /// Until the client accepts more of an answer.
    pub(crate) send: Duration,
}

/// The open connections.
struct Connections {
    limits: ConnectionLimits,
    open: Mutex<HashMap<u64, Arc<Activity>>>,
}

/// A slot of the connection limit.
struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

impl Connections {
    /// A slot for connection `number`, or `None` if all are in use.
    fn admit(self: &Arc<Self>, number: u64) -> Option<ConnectionSlot> {
        let mut open = self.open.lock();
        if open.len() >= self.limits.most {
            let slowest = slowest(&open)?;
            if let Some(activity) = open.remove(&slowest) {
                activity.close();
            }
        }
        let activity = Activity::new();
        open.insert(number, Arc::clone(&activity));
        Some(ConnectionSlot { connections: Arc::clone(self), number, activity })
    }

    /// Closes the connection whose client has made the server wait longest.
    fn close_slowest(&self) {
        let open = self.open.lock();
        if let Some(activity) = slowest(&open).and_then(|number| open.get(&number)) {
            activity.close();
        }
    }
}

fn slowest(open: &HashMap<u64, Arc<Activity>>) -> Option<u64> {
    let waiting = open.iter().filter_map(|(number, activity)| Some((activity.waits_since()?, *number)));
    waiting.min().map(|(_, number)| number)
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
    }
}

/// Serves connections until `stop` changes. Returns after the last request of the last connection was answered.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
) {
    let connections = Arc::new(Connections { limits, open: Mutex::default() });
    let mut tasks = JoinSet::new();
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                number += 1;
                match connections.admit(number) {
                    Some(slot) => drop(tasks.spawn(converse(stream, router.clone(), slot, stop.clone()))),
                    None => drop(tasks.spawn(refuse(stream))),
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

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, router: Router, slot: ConnectionSlot, mut stop: watch::Receiver<bool>) {
    // Answers are small and latency matters. A socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let limits = slot.connections.limits;
    let inner = TowerToHyperService::new(router);
    let keep_alive = HeaderValue::from_str(&format!("timeout={}", limits.keep_alive.as_secs()));
    let keep_alive = keep_alive.unwrap_or(HeaderValue::from_static("timeout=0"));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let active = ActiveRequest::begin(&slot.activity);
        let activity = Arc::clone(&slot.activity);
        let answering = inner.call(request.map(|body| RequestBody::new(body, activity, limits.receive)));
        let keep_alive = keep_alive.clone();
        async move {
            let mut response = answering.await?;
            response.headers_mut().insert(KEEP_ALIVE, keep_alive);
            Ok::<_, Infallible>(response.map(|body| AnswerBody { body, _active: active }))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.keep_alive)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Socket::new(stream, limits.send)), service);
    let mut connection = pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            // The connection is over, so there is no one to report an error to.
            _ = connection.as_mut() => return,
            () = slot.activity.closed() => return,
            _ = stop.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Reports that the server has no free connections.
async fn refuse(mut stream: TcpStream) {
    let error = Error::new(
        basalt_engine::ErrorCode::TooManySimultaneousQueries,
        "the server has max_connections open connections; try again later",
    );
    let text = format!("{error}\n");
    let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain; charset=UTF-8\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{text}", text.len());
    // The client may not read the answer.
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(answer.as_bytes())).await;
}
