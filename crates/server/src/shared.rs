//! What the interfaces of a server share: the engine, users and sessions.

use std::net::IpAddr;
use std::sync::Arc;

use basalt_engine::{Engine, Result, Session};

use crate::sessions::Sessions;
use crate::users::Users;

/// The state that all connections of all listeners share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    /// The runtime of queries, whose threads do not serve sockets.
    pub(crate) queries: tokio::runtime::Handle,
    pub(crate) sessions: Sessions,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) users: Users,
}

impl Shared {
    /// A session with the server's settings, then those of the user.
    pub(crate) fn open_session(&self, user: &str, address: IpAddr) -> Result<Session> {
        let mut session = self.engine.session();
        for (name, value) in &self.settings {
            session.set(name, value)?;
        }
        session.log_in(user, Some(address))?;
        Ok(session)
    }
}
