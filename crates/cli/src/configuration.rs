//! The configuration of a server: a TOML file, overridden by the command line.

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use basalt_engine::{DefaultUser, EngineOptions, ErrorCode, release_free_pages};
use basalt_server::{Password, Port, Ports, TlsOptions};
use serde::Deserialize;

use crate::arguments::{ServerOptions, Settings};
use crate::commands::server::say;
use crate::failure::Failure;

/// The default for the number of concurrent queries.
const CONCURRENT_QUERIES_MAX: u64 = 1000;

/// The permissions of others than the owner of a file.
const OF_OTHERS: u32 = 0o077;

/// The file of `--config`: the keys of the command line, settings for each session, and the user.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    path: Option<PathBuf>,
    http_port: Option<PortText>,
    https_port: Option<PortText>,
    tcp_port: Option<PortText>,
    tcp_port_secure: Option<PortText>,
    postgres_port: Option<PortText>,
    redis_port: Option<PortText>,
    redis_appendfsync: Option<String>,
    listen_host: Option<String>,
    allow_no_password: Option<bool>,
    allowed_hosts: Option<Vec<String>>,
    allowed_origins: Option<Vec<String>>,
    remote_url_allow_hosts: Option<Vec<String>>,
    max_connections: Option<usize>,
    max_connections_per_address: Option<usize>,
    login_timeout: Option<f64>,
    metrics_without_password: Option<bool>,
    max_concurrent_queries: Option<u64>,
    keep_alive_timeout: Option<f64>,
    max_server_memory_usage: Option<u64>,
    uncompressed_cache_size: Option<u64>,
    user_files_path: Option<PathBuf>,
    dictionaries_lazy_load: Option<bool>,
    user_scripts_path: Option<PathBuf>,
    allow_shell_commands: Option<bool>,
    tls_ca_file: Option<PathBuf>,
    tls: Option<TlsTable>,
    #[serde(default)]
    settings: BTreeMap<String, toml::Value>,
    #[serde(default)]
    users: Users,
    /// Statements about users, roles, grants, row policies, quotas and profiles, run at each start.
    #[serde(default)]
    access_statements: Vec<String>,
}

/// The certificate of the server. Relative paths start at the directory of the configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsTable {
    certificate_file: PathBuf,
    private_key_file: PathBuf,
    ca_file: Option<PathBuf>,
    verification: Option<String>,
    #[serde(default)]
    require_for_postgres: bool,
}

impl TlsTable {
    fn options(&self, config: &Path) -> Result<TlsOptions, Failure> {
        let directory = config.parent().unwrap_or(Path::new(""));
        let invalid = |what| Failure::with_code(ErrorCode::InvalidConfigParameter, format!("[tls]: {what}"));
        let verification =
            self.verification.as_deref().map(|text| text.parse().map_err(invalid)).transpose()?;
        Ok(TlsOptions {
            certificate_file: directory.join(&self.certificate_file),
            private_key_file: directory.join(&self.private_key_file),
            ca_file: self.ca_file.as_ref().map(|path| directory.join(path)),
            verification: verification.unwrap_or_default(),
            require_for_postgres: self.require_for_postgres,
        })
    }
}

/// A port in the file: a number or a word.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PortText {
    Number(i64),
    Word(String),
}

/// The port of the command line, or else that of the file.
fn port(option: Option<Port>, file: Option<&PortText>) -> Result<Option<Port>, Failure> {
    let text = match (option, file) {
        (Some(port), _) => return Ok(Some(port)),
        (None, None) => return Ok(None),
        (None, Some(PortText::Number(number))) => number.to_string(),
        (None, Some(PortText::Word(word))) => word.clone(),
    };
    text.parse().map(Some).map_err(|what: String| Failure::with_code(ErrorCode::InvalidConfigParameter, what))
}

/// The user `default`; statements make the others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Users {
    #[serde(default)]
    default: User,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    password: Option<String>,
    password_sha256_hex: Option<String>,
}

impl User {
    /// An empty password means no password.
    fn password(&self) -> Result<Option<Password>, Failure> {
        match (self.password.as_deref(), self.password_sha256_hex.as_deref()) {
            (Some(_), Some(_)) => Err(Failure::with_code(
                ErrorCode::InvalidConfigParameter,
                "[users.default] has password and password_sha256_hex: one of them is enough",
            )),
            (None | Some(""), None) => Ok(None),
            (Some(text), None) => Ok(Some(Password::of_text(text))),
            (None, Some(digest)) => Ok(Some(Password::of_sha256_hex(digest)?)),
        }
    }
}

/// Merges the command line, the file and the defaults, in this priority.
pub(crate) fn merge(
    options: ServerOptions,
    settings: Settings,
) -> Result<(EngineOptions, basalt_server::ServerOptions), Failure> {
    if !settings.parameters.is_empty() {
        return Err(Failure::with_code(
            ErrorCode::BadArguments,
            "--param_ belongs to statements, not to a server",
        ));
    }
    let file = options.config.as_deref().map(read_config).transpose()?.unwrap_or_default();
    let server = server_options(&options, &file, settings)?;
    let Some(path) = options.path.or(file.path) else {
        return Err(Failure::with_code(
            ErrorCode::BadArguments,
            "the server needs --path, or path in its config",
        ));
    };
    let user_files = options.user_files_path.or(file.user_files_path);
    let hosts = options.remote_url_allow_hosts.or(file.remote_url_allow_hosts);
    let lazy_load = options.dictionaries_lazy_load.or(file.dictionaries_lazy_load);
    let engine = EngineOptions {
        user_files_path: Some(user_files.unwrap_or_else(|| path.join("user_files"))),
        // Clients on other machines could otherwise use the server to reach what only this machine may reach.
        remote_url_allow_hosts: hosts.or_else(|| (!is_loopback(&server.listen_host)).then(Vec::new)),
        max_concurrent_queries: options
            .max_concurrent_queries
            .or(file.max_concurrent_queries)
            .unwrap_or(CONCURRENT_QUERIES_MAX),
        path: Some(path),
        default_user: DefaultUser {
            password_sha256_hex: file.users.default.password()?.map(|password| password.sha256_hex()),
        },
        access_statements: file.access_statements.join(";\n"),
        user_scripts_path: options.user_scripts_path.or(file.user_scripts_path),
        allow_shell_commands: options.allow_shell_commands.or(file.allow_shell_commands) == Some(true),
        tls_ca_file: options.tls_ca_file.or(file.tls_ca_file),
        log: Some(say),
        release_memory: Some(release_free_pages),
        load_dictionaries_eagerly: lazy_load == Some(false),
        max_server_memory_usage: options
            .max_server_memory_usage
            .or(file.max_server_memory_usage)
            .unwrap_or(0),
        uncompressed_cache_size: options.uncompressed_cache_size.or(file.uncompressed_cache_size),
    };
    Ok((engine, server))
}

fn server_options(
    options: &ServerOptions,
    file: &ConfigFile,
    settings: Settings,
) -> Result<basalt_server::ServerOptions, Failure> {
    let defaults = basalt_server::ServerOptions::default();
    let mut all = Vec::new();
    for (name, value) in &file.settings {
        all.push((name.clone(), setting_text(name, value)?));
    }
    all.extend(settings.settings);
    let listed = |first: &Option<Vec<String>>, second: &Option<Vec<String>>| {
        first.as_ref().or(second.as_ref()).cloned().unwrap_or_default()
    };
    let listen_host = options.listen_host.as_ref().or(file.listen_host.as_ref());
    let config = options.config.as_deref().unwrap_or(Path::new(""));
    Ok(basalt_server::ServerOptions {
        listen_host: listen_host.cloned().unwrap_or(defaults.listen_host),
        ports: Ports {
            http: port(options.http_port, file.http_port.as_ref())?.unwrap_or(defaults.ports.http),
            https: port(options.https_port, file.https_port.as_ref())?.unwrap_or(defaults.ports.https),
            tcp_secure: port(options.tcp_port_secure, file.tcp_port_secure.as_ref())?
                .unwrap_or(defaults.ports.tcp_secure),
            tcp: port(options.tcp_port, file.tcp_port.as_ref())?.unwrap_or(defaults.ports.tcp),
            postgres: port(options.postgres_port, file.postgres_port.as_ref())?
                .unwrap_or(defaults.ports.postgres),
            redis: port(options.redis_port, file.redis_port.as_ref())?.unwrap_or(defaults.ports.redis),
        },
        settings: all,
        allow_no_password: options.allow_no_password.or(file.allow_no_password) == Some(true),
        allowed_hosts: listed(&options.allowed_hosts, &file.allowed_hosts),
        allowed_origins: listed(&options.allowed_origins, &file.allowed_origins),
        max_connections: options.max_connections.or(file.max_connections).unwrap_or(defaults.max_connections),
        max_connections_per_address: options
            .max_connections_per_address
            .or(file.max_connections_per_address)
            .unwrap_or(defaults.max_connections_per_address),
        login_timeout: options.login_timeout.or(file.login_timeout).unwrap_or(defaults.login_timeout),
        metrics_without_password: options.metrics_without_password.or(file.metrics_without_password)
            == Some(true),
        tls: file.tls.as_ref().map(|table| table.options(config)).transpose()?,
        log: Some(say),
        keep_alive_timeout: options
            .keep_alive_timeout
            .or(file.keep_alive_timeout)
            .unwrap_or(defaults.keep_alive_timeout),
        redis_sync: match (options.redis_appendfsync, &file.redis_appendfsync) {
            (Some(sync), _) => sync,
            (None, Some(text)) => text.parse().map_err(|what| {
                Failure::with_code(ErrorCode::InvalidConfigParameter, format!("redis_appendfsync: {what}"))
            })?,
            (None, None) => defaults.redis_sync,
        },
    })
}

/// Whether only this machine can reach the address.
fn is_loopback(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
}

fn read_config(path: &Path) -> Result<ConfigFile, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::with_code(ErrorCode::FileDoesntExist, format!("{}: {e}", path.display())))?;
    let file: ConfigFile = toml::from_str(&text).map_err(|e| {
        Failure::with_code(ErrorCode::UnknownElementInConfig, format!("{}: {e}", path.display()))
    })?;
    let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if file.users.default.password.is_some() && mode & OF_OTHERS != 0 {
        say(&format!(
            "{} contains a password and other users may read it: set mode 600, or use password_sha256_hex",
            path.display()
        ));
    }
    Ok(file)
}

fn setting_text(name: &str, value: &toml::Value) -> Result<String, Failure> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(on) => Ok(u8::from(*on).to_string()),
        _ => Err(Failure::with_code(
            ErrorCode::UnknownElementInConfig,
            format!("setting `{name}` is neither a number nor a text nor a boolean"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ConfigFile, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn config_file_refuses_unknown_keys() {
        assert!(parsed("http_prot = 1").is_err());
        assert!(parsed("[users.admin]\npassword = 'x'").is_err());
        let file = parsed("path = \"x\"\n[settings]\nmax_threads = 2\nextremes = true").expect("valid");
        assert_eq!(setting_text("max_threads", &file.settings["max_threads"]).expect("a number"), "2");
        assert_eq!(setting_text("extremes", &file.settings["extremes"]).expect("a boolean"), "1");
    }

    #[test]
    fn user_has_one_password_or_none() {
        let password = |text: &str| {
            let user = parsed(&format!("[users.default]\n{text}")).expect("valid").users.default;
            user.password().map_err(drop)
        };
        assert_eq!(password(""), Ok(None));
        assert_eq!(password("password = ''"), Ok(None));
        assert_eq!(password("password = 'x'"), Ok(Some(Password::of_text("x"))));
        let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        assert_eq!(password(&format!("password_sha256_hex = '{digest}'")), Ok(Some(Password::of_text("x"))));
        assert!(password("password_sha256_hex = 'x'").is_err());
        assert!(password(&format!("password = 'x'\npassword_sha256_hex = '{digest}'")).is_err());
    }

    #[test]
    fn loopback_addresses_are_known() {
        assert!(is_loopback("127.0.0.1") && is_loopback("::1"));
        assert!(!is_loopback("0.0.0.0") && !is_loopback(""));
    }
}
