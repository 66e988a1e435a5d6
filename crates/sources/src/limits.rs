//! Timeouts of connections to the outside.

use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result};

const CONNECT: Duration = Duration::from_secs(10);
const RECEIVE: Duration = Duration::from_secs(60);
/// The least timeout in seconds.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e6;

/// The timeouts of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// Read timeout: the longest wait for the next bytes.
    pub receive: Duration,
    /// Write timeout: the longest wait for the other side to accept bytes.
    pub send: Duration,
    /// The deadline of the whole request.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connect: CONNECT, receive: RECEIVE, send: RECEIVE, deadline: None }
    }
}

impl Limits {
    /// The limits of a request that must end within `seconds`; 0 is no limit.
    pub fn within_seconds(seconds: f64) -> Limits {
        let deadline = (seconds > 0.0)
            .then(|| Instant::now() + Duration::from_secs_f64(seconds.clamp(SECONDS_MIN, SECONDS_MAX)));
        Limits { deadline, ..Limits::default() }
    }

    /// The same limits with these timeouts in seconds; 0 is no limit.
    #[must_use]
    pub fn of_seconds(self, connect: f64, send: f64, receive: f64) -> Limits {
        let wait = |seconds: f64| match seconds > 0.0 {
            true => Duration::from_secs_f64(seconds.clamp(SECONDS_MIN, SECONDS_MAX)),
            false => Duration::from_secs_f64(SECONDS_MAX),
        };
        Limits { connect: wait(connect), send: wait(send), receive: wait(receive), ..self }
    }

    /// The same limits with a deadline in `span` at most.
    pub(crate) fn within(self, span: Duration) -> Limits {
        let end = Instant::now() + span;
        Limits { deadline: Some(self.deadline.map_or(end, |deadline| deadline.min(end))), ..self }
    }

    /// The timeout of the next wait, at most `longest`; fails after the deadline.
    pub(crate) fn wait(&self, longest: Duration, whom: &str) -> Result<Duration> {
        let Some(deadline) = self.deadline else { return Ok(longest) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(timed_out(whom)) } else { Ok(left.min(longest)) }
    }
}

pub(crate) fn timed_out(whom: &str) -> Error {
    Error::new(ErrorCode::TimeoutExceeded, format!("{whom} did not answer in time"))
}
