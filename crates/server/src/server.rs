//! A server: listeners of all interfaces over one engine.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use basalt_base::open_files;
use basalt_engine::{Engine, Error, ErrorCode, Result, Session};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connections::{self, ConnectionLimits, Connections, Protocol};
use crate::http::{HttpState, Origins};
use crate::native::Native;
use crate::options::ServerOptions;
use crate::ports::Bound;
use crate::postgres::Postgres;
use crate::sessions::Sessions;
use crate::shared::Shared;
use crate::users::Users;

/// How long running requests may continue after the server is stopped.
const GRACE: Duration = Duration::from_secs(3);

/// How long connections may take to close after their queries were ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Threads that serve sockets: they only copy bytes.
const SOCKET_THREADS: usize = 2;

/// The maximum length of any wait.
const SECONDS_MAX: f64 = 1e9;

/// Bound listeners that do not answer yet.
pub struct Server {
    shared: Arc<Shared>,
    connections: Arc<Connections>,
    http: Option<Bound>,
    tcp: Option<Bound>,
    postgres: Option<Bound>,
    /// For HTTP: accepted host names and origins.
    origins: Origins,
}

impl Server {
    /// Takes the ports, on the runtime where queries will run. An unknown setting in `options` is an error here, not
    /// in each request. So is an address that other machines can reach if there is no password.
    pub async fn bind(engine: Arc<Engine>, options: ServerOptions) -> Result<Server> {
        let mut session = engine.session();
        for (name, value) in &options.settings {
            session.set(name, value)?;
        }
        let connections = Connections::new(limits(&options, &session)?);
        let http = options.ports.http.bind(&options.listen_host).await?;
        let tcp = options.ports.tcp.bind(&options.listen_host).await?;
        let postgres = options.ports.postgres.bind(&options.listen_host).await?;
        let addresses = [&http, &tcp, &postgres].into_iter().flatten().map(|bound| bound.address.ip());
        let is_loopback = addresses.clone().all(|ip| ip.is_loopback());
        if addresses.count() == 0 {
            return Err(without_ports());
        }
        if !is_loopback && options.password.is_none() && !options.allow_no_password {
            return Err(without_password(&options.listen_host));
        }
        let origins = Origins { is_loopback, hosts: options.allowed_hosts, origins: options.allowed_origins };
        let shared = Shared {
            engine,
            queries: Handle::current(),
            sessions: Sessions::default(),
            settings: options.settings,
            users: Users::new(options.password),
        };
        Ok(Server { shared: Arc::new(shared), connections, http, tcp, postgres, origins })
    }

    /// The address of each interface that is on, as a URL.
    pub fn addresses(&self) -> Vec<String> {
        let url = |scheme: &str, bound: &Option<Bound>| {
            bound.as_ref().map(|bound| format!("{scheme}://{}/", bound.address))
        };
        [url("http", &self.http), url("tcp", &self.tcp), url("postgresql", &self.postgres)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Answers requests until `stop` resolves; then lets running requests end, within limits, and closes the engine.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let engine = Arc::clone(&self.shared.engine);
        let sockets = socket_threads()?;
        let (stopping, stopped) = watch::channel(false);
        let mut serving = match self.listen(&sockets, &stopped) {
            Ok(serving) => serving,
            Err(error) => {
                sockets.shutdown_background();
                return Err(error);
            }
        };
        stop.await;
        // The receiver lives until the listeners end.
        let _ = stopping.send(true);
        let in_time = tokio::time::timeout(GRACE, ended(&mut serving)).await.is_ok();
        engine.shutdown().await;
        if !in_time {
            // The remaining connections are broken off.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, ended(&mut serving)).await;
        }
        sockets.shutdown_background();
        Ok(())
    }

    /// Begins to accept connections, on the threads of sockets.
    fn listen(self, sockets: &Runtime, stopped: &watch::Receiver<bool>) -> Result<JoinSet<()>> {
        let mut listening = Listening {
            sockets,
            connections: self.connections,
            stopped: stopped.clone(),
            tasks: JoinSet::new(),
        };
        let http = HttpState::protocol(Arc::clone(&self.shared), self.origins);
        listening.start(self.http, http)?;
        listening.start(self.tcp, Native::new(Arc::clone(&self.shared)))?;
        listening.start(self.postgres, Postgres::new(self.shared))?;
        Ok(listening.tasks)
    }
}

/// Listeners that accept connections.
struct Listening<'a> {
    sockets: &'a Runtime,
    connections: Arc<Connections>,
    stopped: watch::Receiver<bool>,
    tasks: JoinSet<()>,
}

impl Listening<'_> {
    fn start(&mut self, bound: Option<Bound>, protocol: impl Protocol) -> Result<()> {
        let Some(bound) = bound else { return Ok(()) };
        let listener = bound.listener.into_std().and_then(|listener| {
            let _inside = self.sockets.enter();
            TcpListener::from_std(listener)
        });
        let listener = listener.map_err(|e| network_error(bound.address, &e))?;
        let connections = Arc::clone(&self.connections);
        let serving = connections::serve(listener, Arc::new(protocol), connections, self.stopped.clone());
        self.tasks.spawn_on(serving, self.sockets.handle());
        Ok(())
    }
}

async fn ended(serving: &mut JoinSet<()>) {
    while serving.join_next().await.is_some() {}
}

fn socket_threads() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(SOCKET_THREADS)
        .thread_name("sockets")
        .enable_all()
        .build();
    runtime.map_err(|e| Error::new(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}

fn limits(options: &ServerOptions, session: &Session) -> Result<ConnectionLimits> {
    let patience = |name: &str| session.setting(name).map(|text| seconds(text.parse().unwrap_or(0.0)));
    Ok(ConnectionLimits {
        most: connections_max(options.max_connections),
        keep_alive: seconds(options.keep_alive_timeout),
        receive: patience("http_receive_timeout")?,
        send: patience("http_send_timeout")?,
    })
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

fn network_error(address: SocketAddr, source: &std::io::Error) -> Error {
    Error::new(ErrorCode::NetworkError, format!("the listener on `{address}` failed: {source}"))
}

fn without_ports() -> Error {
    let what = "the ports of all interfaces are 0: turn at least one of them on";
    Error::new(ErrorCode::InvalidConfigParameter, what)
}

fn without_password(listen_host: &str) -> Error {
    let what = format!(
        "other machines reach `{listen_host}`, and the user has no password: set `password` or `password_sha256_hex` under \
         [users.default] in the server's configuration, listen on 127.0.0.1, or let everybody in with --allow-no-password"
    );
    Error::new(ErrorCode::InvalidConfigParameter, what)
}
