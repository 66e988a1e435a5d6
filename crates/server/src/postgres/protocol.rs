//! A connection from its first message to its end.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode};
use basalt_wire::postgres::{MessageWriter, Severity};

use super::cancels::Cancels;
use super::client::Client;
use super::failure::{Failure, state};
use super::login::{Opened, greet};
use super::messages;
use crate::connections::{Channel, Connection, Protocol};
use crate::shared::Shared;
use crate::tls::Tls;

/// How long a client may take to read the error that ends its connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// The protocol of PostgreSQL, as a protocol of connections.
pub(crate) struct Postgres {
    pub(super) shared: Arc<Shared>,
    pub(super) cancels: Arc<Cancels>,
    /// `None` if the server has no certificate.
    pub(super) tls: Option<Arc<Tls>>,
}

impl Postgres {
    pub(crate) fn new(shared: Arc<Shared>, tls: Option<Arc<Tls>>) -> Postgres {
        Postgres { shared, cancels: Arc::default(), tls }
    }
}

impl Protocol for Postgres {
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
        fatal(&Failure::new("53300", error.message()))
    }
}

/// The message of an error that ends the connection.
fn fatal(failure: &Failure) -> Vec<u8> {
    let mut out = MessageWriter::default();
    out.error(Severity::Fatal, failure.state, &failure.text);
    out.bytes
}

async fn converse(postgres: &Postgres, mut channel: Channel, stop: tokio::sync::watch::Receiver<bool>) {
    let login = channel.limits().login;
    let greeted = tokio::time::timeout(login, greet(postgres, &mut channel)).await;
    let Opened { session, key, answers } = match greeted.unwrap_or_else(|_| Err(login_too_slow(login))) {
        Ok(Some(Ok(opened))) => opened,
        Ok(Some(Err(failure))) => return refuse(channel, &failure).await,
        Ok(None) => return channel.finish().await,
        Err(error) => return refuse(channel, &error.into()).await,
    };
    let mut client = Client::new(Arc::clone(&postgres.shared), channel, stop, key, session, answers);
    match messages::answer_all(&mut client).await {
        Ok(messages::End::Gone) => client.channel.finish().await,
        Ok(messages::End::Stopped) => {
            let what = "terminating connection due to administrator command";
            refuse(client.channel, &Failure::new(state::SHUTDOWN, what)).await;
        }
        Err(error) => refuse(client.channel, &error.into()).await,
    }
}

/// Tells the client an error and ends the connection.
async fn refuse(mut channel: Channel, failure: &Failure) {
    // The client may have gone.
    let _ = tokio::time::timeout(FAREWELL, channel.send(&fatal(failure))).await;
    channel.finish().await;
}

fn login_too_slow(login: Duration) -> Error {
    let what = format!("the client did not log in within {} s", login.as_secs_f64());
    Error::new(ErrorCode::SocketTimeout, what)
}
