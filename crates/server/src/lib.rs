//! How does a program reach it over a socket? The HTTP interface of an open [`Engine`].
//!
//! [`Server::bind`] takes the port, [`Server::run`] answers until it is stopped. `http` defines the requests;
//! `sessions` holds sessions that outlive a request.
//!
//! # Concurrency
//!
//! Sockets have threads of their own: connections, heads, bodies, `/ping`. Statements run on the runtime that the
//! engine was opened in and pass on their answers piece by piece. A slow client therefore blocks no thread, and no
//! query delays other clients.
//!
//! # Limits
//!
//! The HTTP library refuses a URL over 64 KiB (414) and a head over 128 KiB (431). A body has no limit: it streams
//! into the engine, with backpressure. `connections` defines the maximum number of connections, and how long a client
//! may make the server wait.
//!
//! # Not here
//!
//! No SQL, no formats, no storage: a request is converted to [`basalt_engine::Request`], and an
//! [`basalt_engine::Outcome`] to a response.

mod connections;
mod http;
mod password;
mod sessions;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use basalt_base::open_files;
use basalt_engine::{Engine, Error, ErrorCode, Result};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use crate::connections::ConnectionLimits;
use crate::http::{Origins, Shared};
pub use crate::password::Password;
use crate::sessions::Sessions;

/// How long running requests may continue after the server is stopped.
const GRACE: Duration = Duration::from_secs(3);

/// How long connections may take to close after their queries were ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Threads that serve sockets: they only copy bytes.
const SOCKET_THREADS: usize = 2;

/// The maximum length of any wait.
const SECONDS_MAX: f64 = 1e9;

/// The address to listen on, the accepted clients, and the settings of new sessions.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub listen_host: String,
    /// 0 selects a free port.
    pub http_port: u16,
    /// Set in each new session, before the settings of the request.
    pub settings: Vec<(String, String)>,
    /// The password of the user `default`.
    pub password: Option<Password>,
    /// Whether to listen on addresses that other machines can reach without a password.
    pub allow_no_password: bool,
    /// Accepted host names on a loopback address, in addition to those of every machine.
    pub allowed_hosts: Vec<String>,
    /// Origins of accepted pages, such as `https://host:port`; `*` means all pages.
    pub allowed_origins: Vec<String>,
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// How long a connection may be idle, in seconds.
    pub keep_alive_timeout: f64,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen_host: "127.0.0.1".to_owned(),
            http_port: 8123,
            settings: Vec::new(),
            password: None,
            allow_no_password: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_connections: 4096,
            keep_alive_timeout: 30.0,
        }
    }
}

/// A bound listener that does not answer yet.
pub struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
    limits: ConnectionLimits,
}

impl Server {
    /// Takes the port, on the runtime where queries will run. An unknown setting in `options` is an error here, not
    /// in each request. So is an address that other machines can reach if there is no password.
    pub async fn bind(engine: Arc<Engine>, options: ServerOptions) -> Result<Server> {
        let mut session = engine.session();
        for (name, value) in &options.settings {
            session.set(name, value)?;
        }
        let patience = |name: &str| session.setting(name).map(|text| seconds(text.parse().unwrap_or(0.0)));
        let limits = ConnectionLimits {
            most: connections_max(options.max_connections),
            keep_alive: seconds(options.keep_alive_timeout),
            receive: patience("http_receive_timeout")?,
            send: patience("http_send_timeout")?,
        };
        let wanted = (options.listen_host.as_str(), options.http_port);
        let listener = TcpListener::bind(wanted).await.map_err(|e| cannot_listen(&options, &e))?;
        let address = listener.local_addr().map_err(|e| cannot_listen(&options, &e))?;
        let is_loopback = address.ip().is_loopback();
        if !is_loopback && options.password.is_none() && !options.allow_no_password {
            return Err(without_password(&options.listen_host));
        }
        let origins = Origins { is_loopback, hosts: options.allowed_hosts, origins: options.allowed_origins };
        let shared = Shared {
            engine,
            queries: Handle::current(),
            sessions: Sessions::default(),
            bodies: Default::default(),
            settings: options.settings,
            password: options.password,
            origins,
        };
        Ok(Server { shared: Arc::new(shared), listener, address, limits })
    }

    /// The address in use, with the port that was selected if 0 was requested.
    pub fn http_address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` resolves; then lets running requests end, within limits, and closes the engine.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let engine = Arc::clone(&self.shared.engine);
        let sockets = socket_threads()?;
        let listener = self.listener.into_std().and_then(|listener| {
            let _inside = sockets.enter();
            TcpListener::from_std(listener)
        });
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                sockets.shutdown_background();
                return Err(network_error(&error));
            }
        };
        let (stopping, stopped) = watch::channel(false);
        let router = http::router(self.shared);
        let mut serving = sockets.spawn(connections::serve(listener, router, self.limits, stopped));
        stop.await;
        // The receiver lives until the listener ends.
        let _ = stopping.send(true);
        let in_time = tokio::time::timeout(GRACE, &mut serving).await.is_ok();
        engine.shutdown().await;
        if !in_time {
            // The remaining connections are broken off.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, serving).await;
        }
        sockets.shutdown_background();
        Ok(())
    }
}

fn socket_threads() -> Result<Runtime> {
    let runtime =
        Builder::new_multi_thread().worker_threads(SOCKET_THREADS).thread_name("http").enable_all().build();
    runtime.map_err(|e| Error::new(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}

/// Sockets leave half of the process's file descriptors to tables.
fn connections_max(wanted: usize) -> usize {
    let files = open_files::raise_limit().and_then(|files| usize::try_from(files).ok());
    wanted.min(files.map_or(usize::MAX, |files| files / 2)).max(1)
}

/// 0 means no limit.
fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(if seconds > 0.0 { seconds.min(SECONDS_MAX) } else { SECONDS_MAX })
}

fn cannot_listen(options: &ServerOptions, source: &std::io::Error) -> Error {
    let ServerOptions { listen_host, http_port, .. } = options;
    Error::new(ErrorCode::NetworkError, format!("cannot listen on `{listen_host}:{http_port}`: {source}"))
}

fn network_error(source: &std::io::Error) -> Error {
    Error::new(ErrorCode::NetworkError, format!("the HTTP listener failed: {source}"))
}

fn without_password(listen_host: &str) -> Error {
    let what = format!(
        "other machines reach `{listen_host}`, and the user has no password: set `password` or `password_sha256_hex` under \
         [users.default] in the server's configuration, listen on 127.0.0.1, or let everybody in with --allow-no-password"
    );
    Error::new(ErrorCode::InvalidConfigParameter, what)
}
