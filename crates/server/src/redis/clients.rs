//! The open connections of Redis' protocol, for CLIENT LIST and INFO.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use basalt_redis::ClientFacts;
use parking_lot::Mutex;

/// The connections by their numbers.
pub(crate) struct RedisClients {
    started: Instant,
    opened: AtomicU64,
    commands: AtomicU64,
    open: Mutex<BTreeMap<u64, Known>>,
}

struct Known {
    since: Instant,
    facts: ClientFacts,
}

/// The place of a connection, given up when it is dropped.
pub(super) struct RedisPlace {
    clients: Arc<RedisClients>,
    pub(super) id: u64,
}

impl Default for RedisClients {
    fn default() -> RedisClients {
        RedisClients {
            started: Instant::now(),
            opened: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }
}

impl RedisClients {
    pub(super) fn enter(self: &Arc<Self>, address: String, local_address: String) -> RedisPlace {
        let id = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let facts = ClientFacts { id, address, local_address, ..ClientFacts::default() };
        self.open.lock().insert(id, Known { since: Instant::now(), facts });
        RedisPlace { clients: Arc::clone(self), id }
    }

    pub(super) fn all(&self) -> Vec<ClientFacts> {
        let facts = |known: &Known| ClientFacts {
            age_seconds: known.since.elapsed().as_secs(),
            ..known.facts.clone()
        };
        self.open.lock().values().map(facts).collect()
    }

    pub(super) fn count(&self) -> u64 {
        self.open.lock().len() as u64
    }

    pub(super) fn count_reads(&self) {
        self.commands.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    pub(super) fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}

impl RedisPlace {
    /// What CLIENT LIST tells of the connection from now on.
    pub(super) fn describe(&self, client: &basalt_redis::Client) {
        let mut open = self.clients.open.lock();
        let Some(known) = open.get_mut(&self.id) else { return };
        let facts = &mut known.facts;
        let is_same = facts.database == client.database_number()
            && facts.name.as_bytes() == client.name()
            && Some(facts.user.as_str()) == client.user();
        if !is_same {
            facts.database = client.database_number();
            facts.name = String::from_utf8_lossy(client.name()).into_owned();
            client.user().unwrap_or_default().clone_into(&mut facts.user);
        }
    }
}

impl Drop for RedisPlace {
    fn drop(&mut self) {
        self.clients.open.lock().remove(&self.id);
    }
}
