//! The options of a server.

use crate::ports::Ports;
use crate::tls::TlsOptions;

/// When changes of Redis' clients are on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisSync {
    /// Within a second, as with Redis' `appendfsync everysec`.
    #[default]
    EverySecond,
    /// Before their replies are sent: `appendfsync always`.
    Always,
}

impl std::str::FromStr for RedisSync {
    type Err = String;

    fn from_str(text: &str) -> Result<RedisSync, String> {
        match text {
            "everysec" => Ok(RedisSync::EverySecond),
            "always" => Ok(RedisSync::Always),
            _ => Err(format!("`{text}` is not everysec or always")),
        }
    }
}

/// The addresses to listen on, the accepted clients, and the settings of new sessions.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub listen_host: String,
    pub ports: Ports,
    /// Set in each new session, before the settings of the request.
    pub settings: Vec<(String, String)>,
    /// Whether to listen on addresses that other machines can reach although a user has no password.
    pub allow_no_password: bool,
    /// Accepted host names on a loopback address, in addition to those of every machine.
    pub allowed_hosts: Vec<String>,
    /// Origins of accepted pages, such as `https://host:port`; `*` means all pages.
    pub allowed_origins: Vec<String>,
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// The maximum number of open connections of one address; 0 means no limit.
    pub max_connections_per_address: usize,
    /// How long a client may take for the handshake of TLS and for its login, in seconds.
    pub login_timeout: f64,
    /// The certificate of the server; without it, the ports with TLS must be off.
    pub tls: Option<TlsOptions>,
    /// Whether `/metrics` needs no password on addresses that other machines can reach, either.
    pub metrics_without_password: bool,
    /// Gets lines about failures that no client learns of.
    pub log: Option<fn(&str)>,
    /// How long a connection may be idle, in seconds.
    pub keep_alive_timeout: f64,
    pub redis_sync: RedisSync,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen_host: "127.0.0.1".to_owned(),
            ports: Ports::default(),
            settings: Vec::new(),
            allow_no_password: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_connections: 4096,
            max_connections_per_address: 0,
            login_timeout: 30.0,
            tls: None,
            metrics_without_password: false,
            log: None,
            keep_alive_timeout: 30.0,
            redis_sync: RedisSync::default(),
        }
    }
}
