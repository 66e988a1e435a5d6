//! How does a program reach it over a socket? The HTTP interface of an open [`Engine`].
//!
//! [`Server::bind`] takes the port, [`Server::run`] answers until it is told to stop. What a request
//! may say is in `http`; sessions that outlive a request are in `sessions`.
//!
//! # Limits
//!
//! The HTTP library refuses a URL over 64 KiB (414) and a head over 400 KiB (431). A body has no
//! limit: it streams into the engine, which asks for more when it has used what came.
//!
//! # Not here
//!
//! No SQL, no formats, no storage: a request is turned into [`basalt_engine::Request`] and an
//! [`basalt_engine::Outcome`] into a response.

mod http;
mod sessions;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use basalt_engine::{Engine, Error, ErrorCode, Result};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::http::Shared;

/// How long requests that run may go on after the server was told to stop.
const GRACE: Duration = Duration::from_secs(3);

/// How long connections may take to close once their queries were ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Where to listen and what each session starts with.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub listen_host: String,
    /// 0 takes any free port.
    pub http_port: u16,
    /// Set in each new session, before what the request says.
    pub settings: Vec<(String, String)>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions { listen_host: "127.0.0.1".to_owned(), http_port: 8123, settings: Vec::new() }
    }
}

/// A listener that has its port and does not answer yet.
pub struct Server {
    engine: Arc<Engine>,
    listener: TcpListener,
    address: SocketAddr,
    settings: Vec<(String, String)>,
}

impl Server {
    /// Takes the port. An unknown setting in `options` is an error here, not in each request.
    pub async fn bind(engine: Arc<Engine>, options: ServerOptions) -> Result<Server> {
        let mut session = engine.session();
        for (name, value) in &options.settings {
            session.set(name, value)?;
        }
        let wanted = (options.listen_host.as_str(), options.http_port);
        let listener = TcpListener::bind(wanted).await.map_err(|e| cannot_listen(&options, &e))?;
        let address = listener.local_addr().map_err(|e| cannot_listen(&options, &e))?;
        Ok(Server { engine, listener, address, settings: options.settings })
    }

    /// The address in use, with the port that was chosen if 0 was asked for.
    pub fn http_address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` ends; then lets running requests end, within limits, and closes
    /// the engine.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let (stopping, mut stopped) = oneshot::channel();
        let shared = Arc::new(Shared::new(Arc::clone(&self.engine), self.settings));
        let listener = self.listener.tap_io(|socket| {
            // Answers are small and latency matters; a socket that refuses the option still works.
            let _ = socket.set_nodelay(true);
        });
        let serving = axum::serve(listener, http::router(shared)).with_graceful_shutdown(async move {
            stop.await;
            let _ = stopping.send(());
        });
        let mut serving = Box::pin(std::future::IntoFuture::into_future(serving));
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            _ = &mut stopped => tokio::time::timeout(GRACE, &mut serving).await.ok(),
        };
        self.engine.shutdown().await;
        let ended = match ended {
            Some(ended) => ended,
            None => tokio::time::timeout(CLOSE_TIMEOUT, &mut serving).await.unwrap_or(Ok(())),
        };
        ended.map_err(|e| Error::new(ErrorCode::NetworkError, format!("the HTTP listener failed: {e}")))
    }
}

fn cannot_listen(options: &ServerOptions, source: &std::io::Error) -> Error {
    let ServerOptions { listen_host, http_port, .. } = options;
    Error::new(ErrorCode::NetworkError, format!("cannot listen on `{listen_host}:{http_port}`: {source}"))
}
