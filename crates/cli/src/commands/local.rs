//! `basalt local`: statements on a data directory, in this process.

use basalt_engine::{EngineOptions, release_free_pages};

use crate::arguments::{LocalOptions, Settings};
use crate::connection::LocalConnection;
use crate::failure::Failure;
use crate::script;

pub(crate) fn run(options: LocalOptions, settings: Settings) -> Result<(), Failure> {
    let LocalOptions { path, max_server_memory_usage, uncompressed_cache_size, statements } = options;
    let engine = EngineOptions {
        path,
        max_server_memory_usage,
        uncompressed_cache_size,
        release_memory: Some(release_free_pages),
        ..EngineOptions::default()
    };
    let mut connection = LocalConnection::open(engine, settings)?;
    let done = script::run(&mut connection, &statements);
    connection.close();
    done
}
