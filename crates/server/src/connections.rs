//! The connections of a listener: accepted, served, bounded in number and in what they may wait for.
//!
//! # Invariants
//!
//! - **Bounded**: there are at most as many as [`ConnectionLimits::most`]. One more takes the place of the one whose
//!   client has kept the server waiting for longest, in the head or the body of a request or between two; where the
//!   server waits for nobody, the new one is refused. So a crowd of slow clients keeps nobody out.
//! - **Nobody waits for ever**: a head must be whole in time, a body and an answer must move.

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

/// Of a head, and of a body's pieces on their way: a connection has no more in memory.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// Tells for how long the connection stays open without a request.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// How long accepting rests when the process has no file left for a socket.
const PAUSE: Duration = Duration::from_millis(20);

/// How many connections there may be, and how long they may keep the server waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) most: usize,
    /// From the end of an answer, or from the beginning, to the end of the head of the next request.
    pub(crate) keep_alive: Duration,
    /// Until more of a body comes.
    pub(crate) receive: Duration,
    /// Until the client takes more of an answer.
    pub(crate) send: Duration,
}

/// The connections that are open.
struct Connections {
    limits: ConnectionLimits,
    open: Mutex<HashMap<u64, Arc<Activity>>>,
}

/// A connection's place among those that may be open.
struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

impl Connections {
    /// A place for the connection `number`, or `None` if there is none.
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

    /// Closes the connection that has kept the server waiting for longest.
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

/// Serves connections until `stop` changes; returns when the last request of the last one was answered.
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
            // The client went away before it was accepted.
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
    // Answers are small and latency matters; a socket that refuses the option still works.
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
            // However it ended, nobody is left to be told.
            _ = connection.as_mut() => return,
            () = slot.activity.closed() => return,
            _ = stop.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Says that the server has all the connections that it may have.
async fn refuse(mut stream: TcpStream) {
    let error = Error::new(
        basalt_engine::ErrorCode::TooManySimultaneousQueries,
        "the server answers as many connections as its max_connections; try again later",
    );
    let text = format!("{error}\n");
    let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain; charset=UTF-8\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{text}", text.len());
    // A client that does not listen misses nothing.
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(answer.as_bytes())).await;
}
