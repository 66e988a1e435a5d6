//! `basalt server`: the HTTP interface of a data directory, until the process is told to stop.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use basalt_engine::{Engine, EngineOptions, ErrorCode, VERSION, release_free_pages};
use basalt_server::Server;
use serde::Deserialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::arguments::{ServerOptions, Settings};
use crate::failure::Failure;

/// The file of `--config`: the command line's keys, and settings for each session.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    path: Option<PathBuf>,
    http_port: Option<u16>,
    listen_host: Option<String>,
    max_server_memory_usage: Option<u64>,
    uncompressed_cache_size: Option<u64>,
    user_files_path: Option<PathBuf>,
    dictionaries_lazy_load: Option<bool>,
    user_scripts_path: Option<PathBuf>,
    allow_shell_commands: Option<bool>,
    tls_ca_file: Option<PathBuf>,
    #[serde(default)]
    settings: BTreeMap<String, toml::Value>,
}

pub(crate) fn run(options: ServerOptions, settings: Settings) -> Result<(), Failure> {
    let (engine, server) = merge(options, settings)?;
    let runtime = super::runtime()?;
    let done = runtime.block_on(serve(engine, server));
    super::end(runtime);
    done
}

async fn serve(
    engine_options: EngineOptions,
    server_options: basalt_server::ServerOptions,
) -> Result<(), Failure> {
    let path = engine_options.path.clone().unwrap_or_default();
    let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let engine = Engine::open(engine_options)?;
    let server = Server::bind(engine, server_options).await?;
    let address = server.http_address();
    say(&format!("Basalt {VERSION} is ready on http://{address}/, its data is in {}", path.display()));
    server.run(told_to_stop(interrupt, terminate)).await?;
    say("Basalt has stopped");
    Ok(())
}

async fn told_to_stop(mut interrupt: Signal, mut terminate: Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    say("Basalt is stopping");
    // A second signal ends it at once: what was acknowledged is on disk.
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(1);
    });
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::with_code(ErrorCode::CannotScheduleTask, format!("no signals: {e}")))
}

fn say(line: &str) {
    // A server without a standard error serves all the same.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The command line over the file over the defaults.
fn merge(
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
    let defaults = basalt_server::ServerOptions::default();
    let Some(path) = options.path.or(file.path) else {
        return Err(Failure::with_code(
            ErrorCode::BadArguments,
            "the server needs --path, or path in its config",
        ));
    };
    let listen_host = options.listen_host.or(file.listen_host).unwrap_or(defaults.listen_host);
    let mut all = Vec::new();
    for (name, value) in &file.settings {
        all.push((name.clone(), setting_text(name, value)?));
    }
    all.extend(settings.settings);
    let user_files = options.user_files_path.or(file.user_files_path);
    let engine = EngineOptions {
        user_files_path: user_files.or_else(|| (!is_loopback(&listen_host)).then(|| path.join("user_files"))),
        path: Some(path),
        user_scripts_path: options.user_scripts_path.or(file.user_scripts_path),
        allow_shell_commands: options.allow_shell_commands.or(file.allow_shell_commands) == Some(true),
        tls_ca_file: options.tls_ca_file.or(file.tls_ca_file),
        log: Some(say),
        release_memory: Some(release_free_pages),
        load_dictionaries_eagerly: options.dictionaries_lazy_load.or(file.dictionaries_lazy_load)
            == Some(false),
        max_server_memory_usage: options
            .max_server_memory_usage
            .or(file.max_server_memory_usage)
            .unwrap_or(0),
        uncompressed_cache_size: options.uncompressed_cache_size.or(file.uncompressed_cache_size),
    };
    let http_port = options.http_port.or(file.http_port).unwrap_or(defaults.http_port);
    Ok((engine, basalt_server::ServerOptions { listen_host, http_port, settings: all }))
}

/// Only somebody on this machine can reach it, who may read files without a database's help.
fn is_loopback(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
}

fn read_config(path: &Path) -> Result<ConfigFile, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::with_code(ErrorCode::FileDoesntExist, format!("{}: {e}", path.display())))?;
    toml::from_str(&text).map_err(|e| {
        Failure::with_code(ErrorCode::UnknownElementInConfig, format!("{}: {e}", path.display()))
    })
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

    #[test]
    fn config_file_refuses_unknown_keys() {
        assert!(toml::from_str::<ConfigFile>("http_prot = 1").is_err());
        let file: ConfigFile =
            toml::from_str("path = \"x\"\n[settings]\nmax_threads = 2\nextremes = true").expect("valid");
        assert_eq!(setting_text("max_threads", &file.settings["max_threads"]).expect("a number"), "2");
        assert_eq!(setting_text("extremes", &file.settings["extremes"]).expect("a boolean"), "1");
    }

    #[test]
    fn loopback_addresses_are_known() {
        assert!(is_loopback("127.0.0.1") && is_loopback("::1"));
        assert!(!is_loopback("0.0.0.0") && !is_loopback(""));
    }
}
