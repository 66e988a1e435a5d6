//! An open data directory.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::Result;

use crate::Session;

/// How to open a database.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// The data directory, made if it is not there; `None` is a temporary one, removed at the end.
    pub path: Option<PathBuf>,
    /// Memory that all queries together may take; 0 is nine tenths of the machine's.
    pub max_server_memory_usage: u64,
    /// Directory that `file()`, INFILE and COPY may read from; `None`: anywhere (the `local` tool).
    pub user_files_path: Option<PathBuf>,
}

/// An open data directory: tables, dictionaries, background work. One process at a time has it.
pub struct Engine {}

impl Engine {
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        let _ = options;
        Ok(Arc::new(Engine {}))
    }

    /// A new session with default settings.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
    }

    /// Ends running queries and background work, and writes what is buffered.
    pub async fn shutdown(&self) {}
}
