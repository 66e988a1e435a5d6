//! `basalt local`: statements on a data directory, in this process.

use basalt_engine::{EngineOptions, release_free_pages};

use super::server::say;
use crate::arguments::{LocalOptions, Settings};
use crate::connection::LocalConnection;
use crate::failure::Failure;
use crate::script;

pub(crate) fn run(options: LocalOptions, settings: Settings) -> Result<(), Failure> {
    let LocalOptions { path, max_server_memory_usage, uncompressed_cache_size, .. } = options;
    let engine = EngineOptions {
        path,
        max_server_memory_usage,
        uncompressed_cache_size,
        user_scripts_path: options.user_scripts_path,
        allow_shell_commands: options.allow_shell_commands == Some(true),
        log: Some(say),
        release_memory: Some(release_free_pages),
        ..EngineOptions::default()
    };
    let mut connection = LocalConnection::open(engine, settings)?;
    let done = script::run(&mut connection, &options.statements);
    connection.close();
    done
}
