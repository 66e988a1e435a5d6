//! The requests of one connection, read and answered by the HTTP library.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use basalt_engine::Error;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;

use super::body::{AnswerBody, RequestBody};
use super::routes;
use super::state::HttpState;
use crate::connections::{ActiveRequest, Connection, Protocol};

/// The maximum bytes of a head, and of buffered pieces of a body: a connection holds no more in memory.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// Announces how long an idle connection stays open.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// The HTTP interface, as a protocol of connections.
pub(crate) struct Http {
    router: Router,
}

impl Http {
    pub(crate) fn new(state: HttpState) -> Http {
        Http { router: routes::router(Arc::new(state)) }
    }
}

impl Protocol for Http {
    async fn converse(self: Arc<Self>, connection: Connection) {
        let Connection { stream, peer, slot, limits, mut stop } = connection;
        let inner = TowerToHyperService::new(self.router.clone());
        let keep_alive = HeaderValue::from_str(&format!("timeout={}", limits.keep_alive.as_secs()));
        let keep_alive = keep_alive.unwrap_or(HeaderValue::from_static("timeout=0"));
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
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
        let conversation = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.keep_alive)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut conversation = pin!(conversation);
        let mut stopping = false;
        loop {
            tokio::select! {
                // The connection is over, so there is no one to report an error to.
                _ = conversation.as_mut() => return,
                () = slot.activity.closed() => return,
                _ = stop.changed(), if !stopping => {
                    stopping = true;
                    conversation.as_mut().graceful_shutdown();
                }
            }
        }
    }

    fn refusal(&self, error: &Error) -> Vec<u8> {
        let text = format!("{error}\n");
        let status =
            StatusCode::from_u16(error.code().http_status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let head = "Connection: close\r\nContent-Type: text/plain; charset=UTF-8\r\n";
        format!("HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
    }
}
