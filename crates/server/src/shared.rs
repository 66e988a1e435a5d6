//! What the interfaces of a server share: the engine, users and sessions.

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
    /// A session with the server's settings.
    pub(crate) fn open_session(&self, user: &str) -> Result<Session> {
        let mut session = self.engine.session();
        session.set_user(user);
        for (name, value) in &self.settings {
            session.set(name, value)?;
        }
        Ok(session)
    }
}
