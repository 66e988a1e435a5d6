//! A connection of Redis, from its first command to its end.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Engine, Error, Result};
use basalt_redis::{Client, Next, Served, SyncPolicy};
use basalt_wire::ReadError;
use tokio::task::block_in_place;

use super::clients::RedisClients;
use super::host::RedisHost;
use crate::connections::{Channel, Connection, Protocol};
use crate::shared::Shared;

/// The user of a client that names none.
const DEFAULT_USER: &str = "default";
/// How long a client may be idle: Redis' own clients keep connections for reuse.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a client may take to read the error that ends its connection.
const FAREWELL: Duration = Duration::from_secs(1);
/// The time between two rounds of maintenance.
const MAINTENANCE: Duration = Duration::from_secs(1);

/// The protocol of Redis, as a protocol of connections.
pub(crate) struct Redis {
    shared: Arc<Shared>,
    clients: Arc<RedisClients>,
    policy: SyncPolicy,
    port: u16,
}

impl Redis {
    pub(crate) fn new(shared: Arc<Shared>, policy: SyncPolicy, port: u16) -> Redis {
        Redis { shared, clients: Arc::default(), policy, port }
    }
}

impl Protocol for Redis {
    async fn converse(self: Arc<Self>, connection: Connection) {
        let Connection { stream, peer, slot, limits, stop } = connection;
        let activity = Arc::clone(&slot.activity);
        let channel = Channel::new(stream, peer, Arc::clone(&activity), limits);
        tokio::select! {
            () = converse(&self, channel, stop) => {}
            () = activity.closed() => {}
        }
    }

    fn refusal(&self, error: &Error) -> Vec<u8> {
        refusal(error)
    }
}

fn refusal(error: &Error) -> Vec<u8> {
    format!("-ERR {}\r\n", error.message().replace(['\r', '\n'], " ")).into_bytes()
}

/// Keeps the databases of Redis until `stop` changes, and once after it.
pub(crate) async fn maintain(engine: Arc<Engine>, mut stop: tokio::sync::watch::Receiver<bool>) {
    loop {
        let is_stopped = tokio::select! {
            () = tokio::time::sleep(MAINTENANCE) => false,
            _ = stop.changed() => true,
        };
        let engine = Arc::clone(&engine);
        // A failure is one of the next command as well, whose client learns of it.
        let _ = tokio::task::spawn_blocking(move || engine.maintain_redis()).await;
        if is_stopped {
            return;
        }
    }
}

/// What one connection has.
struct Conversation<'a> {
    redis: &'a Redis,
    channel: Channel,
    client: Client,
    host: RedisHost,
    out: Vec<u8>,
}

async fn converse(redis: &Redis, channel: Channel, mut stop: tokio::sync::watch::Receiver<bool>) {
    let (address, ip) = (channel.peer().address.to_string(), channel.peer().address.ip());
    let place = redis.clients.enter(address, String::new());
    let without_password = redis.shared.users.needs_no_password(DEFAULT_USER, channel.peer());
    let mut host = RedisHost { user: None, clients: Arc::clone(&redis.clients), port: redis.port };
    if let Some(name) = &without_password {
        host.user = redis.shared.engine.redis_user(name, ip, redis.policy).ok();
    }
    let user = without_password.filter(|_| host.user.is_some());
    let client = Client::new(place.id, user);
    let mut conversation = Conversation { redis, channel, client, host, out: Vec::new() };
    loop {
        let served = tokio::select! {
            served = conversation.serve() => served,
            _ = stop.changed() => return conversation.channel.finish().await,
        };
        let goes_on = match served {
            Ok(Some(next)) => conversation.answer(next).await,
            Ok(None) => return conversation.channel.finish().await,
            Err(error) => Err(error),
        };
        place.describe(&conversation.client);
        match goes_on {
            Ok(true) => {}
            Ok(false) => return conversation.channel.finish().await,
            Err(error) => {
                // The client may have gone.
                let text = refusal(&error);
                let _ = tokio::time::timeout(FAREWELL, conversation.channel.send(&text)).await;
                return conversation.channel.finish().await;
            }
        }
    }
}

impl Conversation<'_> {
    /// Runs the commands that have arrived. `None` if the client has gone.
    async fn serve(&mut self) -> Result<Option<Next>> {
        let Conversation { redis, channel, client, host, out } = self;
        let idle = if client.user().is_some() { IDLE } else { channel.limits().login };
        let served = channel.message(idle, |input| {
            let bytes: &[u8] = input;
            // A client that was refused a right since its login is refused here.
            if host.user.as_ref().is_some_and(|user| !user.is_current()) {
                return Err(ReadError::Failed(Error::new(
                    basalt_engine::ErrorCode::AccessDenied,
                    "the rights of the user have changed: connect again",
                )));
            }
            redis.clients.count_reads();
            let mut serve = || client.serve(host, bytes, out);
            let Served { consumed, next, needs_input } = match redis.policy {
                SyncPolicy::EverySecond => serve(),
                SyncPolicy::Always => block_in_place(serve),
            };
            *input = &bytes[consumed..];
            if consumed == 0 && needs_input && out.is_empty() {
                let missing = client.expected_bytes(bytes.len()).max(1);
                return Err(ReadError::Incomplete(missing));
            }
            Ok(next)
        });
        served.await
    }

    /// Sends the replies, and does what the client asked for besides. `false` at the end of the connection.
    async fn answer(&mut self, next: Next) -> Result<bool> {
        if let Next::Authenticate { user, password } = &next {
            self.authenticate(user, password).await;
        }
        if !self.out.is_empty() {
            self.channel.send(&self.out).await?;
            self.out.clear();
        }
        Ok(next != Next::Close)
    }

    async fn authenticate(&mut self, name: &str, password: &[u8]) {
        let Conversation { redis, channel, client, host, out } = self;
        let peer = channel.peer();
        let found = match std::str::from_utf8(password) {
            Ok(password) => redis.shared.users.authenticate(name, password, peer).await,
            Err(_) => Err(basalt_engine::authentication_failed(name)),
        };
        let user = found.and_then(|name| {
            let user = redis.shared.engine.redis_user(&name, peer.address.ip(), redis.policy)?;
            Ok((name, user))
        });
        match user {
            Ok((name, user)) => {
                host.user = Some(user);
                client.authenticated(&name, out);
            }
            Err(_) => client.refused(out),
        }
    }
}
