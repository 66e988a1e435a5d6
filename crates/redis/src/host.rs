//! The contract of the server: databases, tables by name, the time.

use std::sync::Arc;

use basalt_base::Result;

use crate::database::Database;

/// What commands need of the server that runs them.
pub trait Host: Send + Sync {
    /// Database `number`, which is made if it does not exist.
    fn database(&self, number: u32) -> Result<Arc<Database>>;

    /// The number of databases: SELECT takes smaller numbers.
    fn databases(&self) -> u32 {
        16
    }

    /// The databases that exist, for FLUSHALL and INFO.
    fn existing(&self) -> Vec<u32>;

    fn tables(&self) -> &dyn Tables;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    fn facts(&self) -> ServerFacts;

    /// The connections of this protocol, for CLIENT LIST.
    fn clients(&self) -> Vec<ClientFacts>;
}

/// What INFO tells of the server.
#[derive(Clone, Debug, Default)]
pub struct ServerFacts {
    pub version: String,
    pub tcp_port: u16,
    pub uptime_seconds: u64,
    pub connected_clients: u64,
    pub memory_bytes: u64,
    pub commands: u64,
}

/// A connection.
#[derive(Clone, Debug, Default)]
pub struct ClientFacts {
    pub id: u64,
    pub address: String,
    pub local_address: String,
    pub name: String,
    pub age_seconds: u64,
    pub database: u32,
    pub user: String,
}

/// SQL tables with one key column. [`Tables::find`] is called for each key with a colon, so it must be quick.
pub trait Tables: Send + Sync {
    /// The table `name`, or `database.name`.
    fn find(&self, name: &str) -> Option<Arc<dyn RowTable>>;
}

/// A table whose rows are hashes, or strings if it has one column besides the key.
pub trait RowTable: Send + Sync {
    /// The columns without the key.
    fn columns(&self) -> Vec<String>;

    /// The columns of a row as texts, `None` for NULL; `None` if there is no such row.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<Option<Vec<u8>>>>>;

    /// Sets columns of a row by their positions. A new row has defaults in the others. Returns whether it is new.
    fn put(&self, key: &[u8], fields: &[(usize, &[u8])]) -> Result<bool>;

    /// Removes a row. Returns whether there was one.
    fn delete(&self, key: &[u8]) -> Result<bool>;
}
