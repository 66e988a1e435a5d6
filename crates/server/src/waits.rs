//! How long a client may make the server wait, as settings and options state it: in seconds.

use std::time::Duration;

use basalt_engine::Session;

/// The maximum length of any wait.
const SECONDS_MAX: f64 = 1e9;

/// The wait if a session says nothing of it.
const IDLE_SECONDS: f64 = 3600.0;

/// 0 means no limit.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(if seconds > 0.0 { seconds.min(SECONDS_MAX) } else { SECONDS_MAX })
}

/// The time between two statements: `idle_connection_timeout` of the session.
pub(crate) fn idle(session: Option<&Session>) -> Duration {
    let text = session.and_then(|session| session.setting("idle_connection_timeout").ok());
    seconds(text.and_then(|text| text.parse().ok()).unwrap_or(IDLE_SECONDS))
}
