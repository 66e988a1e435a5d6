//! Sessions that last for several requests, by a name that the client chooses.
//!
//! # Invariants
//!
//! - **One at a time**: a request holds its session until its answer was sent. A concurrent request with the same
//!   name is refused, as in ClickHouse, but only after [`LOCK_WAIT`], because a cancelled query takes a moment to
//!   end.
//! - **Bounded**: at most [`SESSIONS_MAX`] named sessions; idle ones are dropped when they expire.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_engine::{Error, ErrorCode, Result, Session};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

const SESSIONS_MAX: usize = 10_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT_MAX_SECONDS: u64 = 3600;
/// How long a request waits for the previous one to release the session.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A session for the duration of one request.
pub(crate) type Lease = OwnedMutexGuard<Session>;

/// The session parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionChoice {
    pub(crate) id: Option<String>,
    pub(crate) timeout: Option<Duration>,
    /// Whether to refuse a session that does not exist.
    pub(crate) must_exist: bool,
}

/// The named sessions of a server.
#[derive(Default)]
pub(crate) struct Sessions {
    named: Mutex<HashMap<String, Named>>,
}

struct Named {
    session: Arc<AsyncMutex<Session>>,
    timeout: Duration,
    last_used: Instant,
}

impl Sessions {
    /// The session of `choice`, created by `open` if it has no name or does not exist yet.
    pub(crate) async fn lease(
        &self,
        user: &str,
        choice: &SessionChoice,
        open: impl FnOnce() -> Result<Session>,
    ) -> Result<Lease> {
        match &choice.id {
            None => lock(Arc::new(AsyncMutex::new(open()?)), "").await,
            Some(id) => lock(self.find(user, id, choice, open)?, id).await,
        }
    }

    fn find(
        &self,
        user: &str,
        id: &str,
        choice: &SessionChoice,
        open: impl FnOnce() -> Result<Session>,
    ) -> Result<Arc<AsyncMutex<Session>>> {
        let mut named = self.named.lock();
        drop_expired(&mut named);
        // Users cannot share a session.
        let key = format!("{user}\0{id}");
        if !named.contains_key(&key) {
            admit(&named, id, choice.must_exist)?;
            let session = Arc::new(AsyncMutex::new(open()?));
            named.insert(key.clone(), Named { session, timeout: DEFAULT_TIMEOUT, last_used: Instant::now() });
        }
        let entry = named.get_mut(&key).expect("it was there or has just been put there");
        entry.last_used = Instant::now();
        if let Some(timeout) = choice.timeout {
            entry.timeout = timeout;
        }
        Ok(Arc::clone(&entry.session))
    }
}

/// The value of `session_timeout`, in seconds.
pub(crate) fn parse_timeout(text: &str) -> Result<Duration> {
    match text.parse::<u64>() {
        Ok(seconds) if seconds <= TIMEOUT_MAX_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::new(
            ErrorCode::InvalidSessionTimeout,
            format!("session_timeout is `{text}`, expected seconds from 0 to {TIMEOUT_MAX_SECONDS}"),
        )),
    }
}

async fn lock(session: Arc<AsyncMutex<Session>>, id: &str) -> Result<Lease> {
    tokio::time::timeout(LOCK_WAIT, session.lock_owned()).await.map_err(|_| {
        Error::new(ErrorCode::SessionIsLocked, format!("session `{id}` is in use by another request"))
    })
}

fn admit(named: &HashMap<String, Named>, id: &str, must_exist: bool) -> Result<()> {
    if must_exist {
        return Err(Error::new(ErrorCode::SessionNotFound, format!("session `{id}` does not exist")));
    }
    if named.len() >= SESSIONS_MAX {
        return Err(Error::new(
            ErrorCode::BadArguments,
            format!("there are {SESSIONS_MAX} named sessions, no more can be opened until some expire"),
        ));
    }
    Ok(())
}

/// A session in use does not expire: its `Arc` has a second owner.
fn drop_expired(named: &mut HashMap<String, Named>) {
    let now = Instant::now();
    named.retain(|_, entry| {
        Arc::strong_count(&entry.session) > 1 || now.duration_since(entry.last_used) <= entry.timeout
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_timeout_is_a_number_of_seconds_up_to_an_hour() {
        assert_eq!(parse_timeout("90").expect("in range"), Duration::from_secs(90));
        for bad in ["", "-1", "3601", "soon", "1e3"] {
            assert!(parse_timeout(bad).is_err(), "`{bad}` was accepted");
        }
    }
}
