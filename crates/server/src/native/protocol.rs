//! The greeting, and then one packet of a client after the other.

use std::sync::Arc;
use std::time::Duration;

use basalt_base::dialect::DIALECT_VERSION;
use basalt_engine::{Error, ErrorCode, Result, Session};
use basalt_wire::native::{
    ClientHello, ClientPacket, OLDEST_REVISION, PacketWriter, REVISION, ServerHello, negotiated,
    read_addendum,
};

use super::statement;
use crate::connections::{Channel, Connection, Protocol};
use crate::shared::Shared;
use crate::waits;

/// How long a client may take to read the error that ends its connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// The native protocol, as a protocol of connections.
pub(crate) struct Native {
    shared: Arc<Shared>,
}

/// A client that has logged in.
pub(super) struct Client {
    pub(super) channel: Channel,
    /// Absent while a statement has it.
    pub(super) session: Option<Session>,
    pub(super) revision: u64,
    pub(super) stop: tokio::sync::watch::Receiver<bool>,
}

impl Native {
    pub(crate) fn new(shared: Arc<Shared>) -> Native {
        Native { shared }
    }
}

impl Protocol for Native {
    async fn converse(self: Arc<Self>, connection: Connection) {
        let Connection { stream, peer, slot, limits, stop } = connection;
        let activity = Arc::clone(&slot.activity);
        let channel = Channel::new(stream, peer, Arc::clone(&activity), limits);
        tokio::select! {
            () = converse(&self.shared, channel, stop) => {}
            () = activity.closed() => {}
        }
    }

    fn refusal(&self, error: &Error) -> Vec<u8> {
        exception(error)
    }
}

/// The packet of an error, the same in every revision.
fn exception(error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    PacketWriter::new(OLDEST_REVISION, None).exception(error, &mut out);
    out
}

async fn converse(shared: &Arc<Shared>, mut channel: Channel, stop: tokio::sync::watch::Receiver<bool>) {
    let login = channel.limits().login;
    let greeted = tokio::time::timeout(login, greet(shared, &mut channel)).await;
    let (session, revision) = match greeted.unwrap_or_else(|_| Err(login_too_slow(login))) {
        Ok(Some(greeted)) => greeted,
        Ok(None) => return,
        Err(error) => return refuse(channel, &error).await,
    };
    let mut client = Client { channel, session: Some(session), revision, stop };
    loop {
        match packet(shared, &mut client).await {
            Ok(true) => {}
            Ok(false) => return client.channel.finish().await,
            Err(error) => return refuse(client.channel, &error).await,
        }
    }
}

/// Tells the client an error and ends the connection.
async fn refuse(mut channel: Channel, error: &Error) {
    // The client may have gone.
    let _ = tokio::time::timeout(FAREWELL, channel.send(&exception(error))).await;
    channel.finish().await;
}

/// The session of a client, and the revision that both sides use; `None` if it has gone.
async fn greet(shared: &Arc<Shared>, channel: &mut Channel) -> Result<Option<(Session, u64)>> {
    let login = channel.limits().login;
    let Some(hello) = channel.message(login, |bytes| ClientHello::read(bytes)).await? else {
        return Ok(None);
    };
    if hello.revision < OLDEST_REVISION {
        let what = format!(
            "the client `{}` speaks revision {} of the native protocol; {OLDEST_REVISION} is the oldest that is known",
            hello.client_name, hello.revision
        );
        return Err(Error::new(ErrorCode::NotImplemented, what));
    }
    let user = shared.users.authenticate(&hello.user, &hello.password, channel.peer()).await?;
    let mut session = shared.open_session(&user, channel.peer().address.ip())?;
    if !hello.database.is_empty() {
        session.use_database(&hello.database)?;
    }
    let revision = negotiated(hello.revision);
    let mut answer = Vec::new();
    server_hello().write(revision, &mut answer);
    channel.send(&answer).await?;
    let addendum = channel.message(login, |bytes| read_addendum(bytes, revision));
    if revision >= basalt_wire::native::ADDENDUM_REVISION && addendum.await?.is_none() {
        return Ok(None);
    }
    Ok(Some((session, revision)))
}

fn login_too_slow(login: Duration) -> Error {
    let what = format!("the client did not log in within {} s", login.as_secs_f64());
    Error::new(ErrorCode::SocketTimeout, what)
}

fn server_hello() -> ServerHello {
    let mut numbers = DIALECT_VERSION.split('.').map(|text| text.parse().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    ServerHello {
        server_name: "ClickHouse".to_owned(),
        version: (number(), number(), number()),
        revision: REVISION,
        timezone: basalt_base::zone::Zone::system().name().to_owned(),
        display_name: "basalt".to_owned(),
        nonce: 0,
    }
}

/// Answers one packet; `false` if the client has gone or the server stops.
async fn packet(shared: &Arc<Shared>, client: &mut Client) -> Result<bool> {
    let revision = client.revision;
    let idle = waits::idle(client.session.as_ref());
    let next = client.channel.message(idle, |bytes| ClientPacket::read(bytes, revision));
    let packet = tokio::select! {
        packet = next => packet?,
        _ = client.stop.changed() => return Ok(false),
    };
    let writer = PacketWriter::new(revision, None);
    let mut answer = Vec::new();
    match packet {
        None => return Ok(false),
        Some(ClientPacket::Query(query)) => {
            return statement::answer(shared, client, *query).await.map(|()| true);
        }
        Some(ClientPacket::Ping) => writer.pong(&mut answer),
        Some(ClientPacket::TablesStatus(tables)) => {
            let session = client.session.as_ref();
            let exists = |(database, table): &(String, String)| {
                session.is_some_and(|session| session.has_table(database, table))
            };
            let known: Vec<_> = tables.into_iter().filter(|name| exists(name)).collect();
            writer.tables_status(&known, &mut answer);
        }
        // It came when the statement had just ended.
        Some(ClientPacket::Cancel) | Some(ClientPacket::KeepAlive) => {}
        Some(ClientPacket::Data | ClientPacket::Scalar) => {
            let what = "a client sent a block without a statement";
            return Err(Error::new(ErrorCode::UnexpectedPacketFromClient, what));
        }
    }
    client.channel.send(&answer).await.map(|()| true)
}
