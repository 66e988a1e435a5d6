//! Connections to the servers of a call.

use std::sync::Arc;

use basalt_base::query::checkpoint;
use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sources::clickhouse::Client;
use basalt_sources::{Address, Limits};

use crate::context::QueryContext;

/// The servers of a call: at least one shard, each with at least one replica.
#[derive(Debug)]
pub(super) struct Servers {
    shards: Vec<Vec<Address>>,
    limits: Limits,
}

impl Servers {
    pub(super) fn new(shards: Vec<Vec<Address>>, query: &QueryContext) -> Arc<Servers> {
        let settings = &query.settings;
        let (connect, send) = (settings.connect_timeout, settings.send_timeout);
        let limits = Limits::default().of_seconds(connect, send, settings.receive_timeout);
        Arc::new(Servers { shards, limits })
    }

    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// A connection to the first replica of a shard that answers. Called on a thread that may block.
    pub(super) fn connect(&self, shard: usize) -> Result<Client> {
        let mut failures: Vec<Error> = Vec::new();
        for address in &self.shards[shard] {
            match Client::connect(address, self.limits) {
                Err(error) if is_of_one(&error) => failures.push(error),
                other => return other,
            }
            checkpoint()?;
        }
        let messages: Vec<&str> = failures.iter().map(Error::message).collect();
        match failures.as_slice() {
            [only] => Err(only.clone()),
            _ => bail!(AllConnectionTriesFailed, "no replica answers: {}", messages.join("; ")),
        }
    }
}

/// The addresses, for EXPLAIN.
impl std::fmt::Display for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, shard) in self.shards.iter().enumerate() {
            f.write_str(if at > 0 { "," } else { "" })?;
            for (at, address) in shard.iter().enumerate() {
                write!(f, "{}{address}", if at > 0 { "|" } else { "" })?;
            }
        }
        Ok(())
    }
}

/// Whether another replica may succeed.
fn is_of_one(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::NetworkError | ErrorCode::TimeoutExceeded)
}
