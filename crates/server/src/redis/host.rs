//! The server as the commands of one connection see it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use basalt_base::machine::resident_bytes;
use basalt_engine::{Error, ErrorCode, RedisUser, Result, VERSION};
use basalt_redis::{ClientFacts, Database, Host, RowTable, ServerFacts, Tables};

use super::clients::RedisClients;

/// The user, once the client has logged in, and the other connections.
pub(super) struct RedisHost {
    pub(super) user: Option<Arc<RedisUser>>,
    pub(super) clients: Arc<RedisClients>,
    pub(super) port: u16,
}

impl Host for RedisHost {
    fn database(&self, number: u32) -> Result<Arc<Database>> {
        match &self.user {
            Some(user) => user.database(number),
            None => Err(Error::new(ErrorCode::AuthenticationFailed, "the client has not logged in")),
        }
    }

    fn existing(&self) -> Vec<u32> {
        self.user.as_ref().map(|user| user.databases()).unwrap_or_default()
    }

    fn tables(&self) -> &dyn Tables {
        self
    }

    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn facts(&self) -> ServerFacts {
        ServerFacts {
            version: VERSION.to_owned(),
            tcp_port: self.port,
            uptime_seconds: self.clients.uptime_seconds(),
            connected_clients: self.clients.count(),
            memory_bytes: resident_bytes().unwrap_or_default(),
            commands: self.clients.commands(),
        }
    }

    fn clients(&self) -> Vec<ClientFacts> {
        self.clients.all()
    }
}

impl Tables for RedisHost {
    fn find(&self, name: &str) -> Option<Arc<dyn RowTable>> {
        self.user.as_ref()?.table(name)
    }
}
