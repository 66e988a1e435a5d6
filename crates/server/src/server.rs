//! A server: listeners of all interfaces over one engine.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use basalt_base::open_files;
use basalt_engine::{Engine, Error, ErrorCode, Result, Session};
use basalt_redis::SyncPolicy;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connections::{self, ConnectionLimits, Connections, Entrance, Protocol};
use crate::http::{Http, HttpState, Origins};
use crate::native::Native;
use crate::options::{RedisSync, ServerOptions};
use crate::ports::{Bound, Port, Ports};
use crate::postgres::Postgres;
use crate::redis::{Redis, maintain};
use crate::sessions::Sessions;
use crate::shared::Shared;
use crate::tls::{Application, Tls};
use crate::users::Users;
use crate::waits::seconds;

/// How long running requests may continue after the server is stopped.
const GRACE: Duration = Duration::from_secs(3);

/// How long connections may take to close after their queries were ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Threads that serve sockets: they only copy bytes.
const SOCKET_THREADS: usize = 2;

/// Bound listeners that do not answer yet.
pub struct Server {
    shared: Arc<Shared>,
    connections: Arc<Connections>,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    /// For HTTP: accepted host names and origins.
    origins: Origins,
    metrics_without_password: bool,
    redis_sync: RedisSync,
}

/// The ports that are on.
struct Listeners {
    http: Option<Bound>,
    https: Option<Bound>,
    tcp: Option<Bound>,
    tcp_secure: Option<Bound>,
    postgres: Option<Bound>,
    redis: Option<Bound>,
}

impl Listeners {
    async fn bind(ports: &Ports, host: &str) -> Result<Listeners> {
        Ok(Listeners {
            http: ports.http.bind(host).await?,
            https: ports.https.bind(host).await?,
            tcp: ports.tcp.bind(host).await?,
            tcp_secure: ports.tcp_secure.bind(host).await?,
            postgres: ports.postgres.bind(host).await?,
            redis: ports.redis.bind(host).await?,
        })
    }

    /// The listeners that are on, with the schemes of their URLs.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Bound)> {
        let all = [
            ("http", &self.http),
            ("https", &self.https),
            ("tcp", &self.tcp),
            ("tcps", &self.tcp_secure),
            ("postgresql", &self.postgres),
            ("redis", &self.redis),
        ];
        all.into_iter().filter_map(|(scheme, bound)| Some((scheme, bound.as_ref()?)))
    }
}

impl Server {
    /// Takes the ports, on the runtime where queries will run. An unknown setting in `options` is an error here, not
    /// in each request. So is an address that other machines can reach if a user has no password.
    pub async fn bind(engine: Arc<Engine>, options: ServerOptions) -> Result<Server> {
        let mut session = engine.session();
        for (name, value) in &options.settings {
            session.set(name, value)?;
        }
        let connections = Connections::new(limits(&options, &session)?);
        let tls = options.tls.map(|files| Tls::open(files, options.log)).transpose()?;
        if tls.is_none() && (options.ports.https != Port::Off || options.ports.tcp_secure != Port::Off) {
            return Err(without_certificate());
        }
        let listeners = Listeners::bind(&options.ports, &options.listen_host).await?;
        if listeners.all().next().is_none() {
            return Err(without_ports());
        }
        let is_loopback = listeners.all().all(|(_, bound)| bound.address.ip().is_loopback());
        if !is_loopback && engine.has_open_user() && !options.allow_no_password {
            return Err(without_password(&options.listen_host));
        }
        let origins = Origins { is_loopback, hosts: options.allowed_hosts, origins: options.allowed_origins };
        let users = Users::new(&engine);
        let shared = Shared {
            engine,
            queries: Handle::current(),
            sessions: Sessions::default(),
            settings: options.settings,
            users,
        };
        let (metrics_without_password, redis_sync) = (options.metrics_without_password, options.redis_sync);
        let shared = Arc::new(shared);
        Ok(Server { shared, connections, listeners, tls, origins, metrics_without_password, redis_sync })
    }

    /// The address of each interface that is on, as a URL.
    pub fn addresses(&self) -> Vec<String> {
        self.listeners.all().map(|(scheme, bound)| format!("{scheme}://{}/", bound.address)).collect()
    }

    /// Reads the files of certificates again when it is called. Does nothing in a server without TLS.
    pub fn reload(&self) -> impl Fn() -> Result<()> + Send + Sync + 'static {
        let tls = self.tls.clone();
        move || tls.as_ref().map_or(Ok(()), |tls| tls.reload())
    }

    /// Answers requests until `stop` resolves; then lets running requests end, within limits, and closes the engine.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let engine = Arc::clone(&self.shared.engine);
        let (sockets, redis) = (socket_threads("sockets")?, socket_threads("redis")?);
        let (stopping, stopped) = watch::channel(false);
        let mut serving = match self.listen(&sockets, &redis, &stopped) {
            Ok(serving) => serving,
            Err(error) => {
                sockets.shutdown_background();
                redis.shutdown_background();
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
        redis.shutdown_background();
        Ok(())
    }

    /// Begins to accept connections, on the threads of sockets; those of Redis have threads of their own.
    fn listen(
        self,
        sockets: &Runtime,
        redis_threads: &Runtime,
        stopped: &watch::Receiver<bool>,
    ) -> Result<JoinSet<()>> {
        let mut listening = Listening {
            sockets,
            connections: self.connections,
            stopped: stopped.clone(),
            tasks: JoinSet::new(),
        };
        let Listeners { http, https, tcp, tcp_secure, postgres, redis } = self.listeners;
        let entrance = |application: Application| match &self.tls {
            Some(tls) => Entrance::Tls(Arc::clone(tls), application),
            None => Entrance::Open,
        };
        let shared = &self.shared;
        let state = HttpState::new(Arc::clone(shared), self.origins, self.metrics_without_password);
        let over_http = Arc::new(Http::new(state));
        listening.start(http, &over_http, Entrance::Open)?;
        listening.start(https, &over_http, entrance(Application::Http))?;
        let native = Arc::new(Native::new(Arc::clone(shared)));
        listening.start(tcp, &native, Entrance::Open)?;
        listening.start(tcp_secure, &native, entrance(Application::Native))?;
        // Its clients ask for TLS on the port itself.
        let over_postgres = Arc::new(Postgres::new(Arc::clone(shared), self.tls.clone()));
        listening.start(postgres, &over_postgres, Entrance::Open)?;
        if let Some(redis) = redis {
            let policy = match self.redis_sync {
                RedisSync::EverySecond => SyncPolicy::EverySecond,
                RedisSync::Always => SyncPolicy::Always,
            };
            let over_redis = Arc::new(Redis::new(Arc::clone(shared), policy, redis.address.port()));
            listening.sockets = redis_threads;
            listening.start(Some(redis), &over_redis, Entrance::Open)?;
            let maintaining = maintain(Arc::clone(&shared.engine), stopped.clone());
            listening.tasks.spawn_on(maintaining, redis_threads.handle());
        }
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
    fn start(
        &mut self,
        bound: Option<Bound>,
        protocol: &Arc<impl Protocol>,
        entrance: Entrance,
    ) -> Result<()> {
        let Some(bound) = bound else { return Ok(()) };
        let listener = bound.listener.into_std().and_then(|listener| {
            let _inside = self.sockets.enter();
            TcpListener::from_std(listener)
        });
        let listener = listener.map_err(|e| network_error(bound.address, &e))?;
        let connections = Arc::clone(&self.connections);
        let protocol = Arc::clone(protocol);
        let serving = connections::serve(listener, protocol, entrance, connections, self.stopped.clone());
        self.tasks.spawn_on(serving, self.sockets.handle());
        Ok(())
    }
}

async fn ended(serving: &mut JoinSet<()>) {
    while serving.join_next().await.is_some() {}
}

fn socket_threads(name: &str) -> Result<Runtime> {
    let runtime =
        Builder::new_multi_thread().worker_threads(SOCKET_THREADS).thread_name(name).enable_all().build();
    runtime.map_err(|e| Error::new(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}

fn limits(options: &ServerOptions, session: &Session) -> Result<ConnectionLimits> {
    let patience = |name: &str| session.setting(name).map(|text| seconds(text.parse().unwrap_or(0.0)));
    Ok(ConnectionLimits {
        most: connections_max(options.max_connections),
        most_per_address: options.max_connections_per_address,
        login: seconds(options.login_timeout),
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

fn network_error(address: SocketAddr, source: &std::io::Error) -> Error {
    Error::new(ErrorCode::NetworkError, format!("the listener on `{address}` failed: {source}"))
}

fn without_ports() -> Error {
    let what = "the ports of all interfaces are 0: turn at least one of them on";
    Error::new(ErrorCode::InvalidConfigParameter, what)
}

fn without_certificate() -> Error {
    let what = "https_port and tcp_port_secure need a certificate: set certificate_file and private_key_file under [tls] in \
                the server's configuration";
    Error::new(ErrorCode::InvalidConfigParameter, what)
}

fn without_password(listen_host: &str) -> Error {
    let what = format!(
        "other machines reach `{listen_host}`, and a user has no password: set `password` or `password_sha256_hex` under \
         [users.default] in the server's configuration, listen on 127.0.0.1, or let everybody in with --allow-no-password"
    );
    Error::new(ErrorCode::InvalidConfigParameter, what)
}
