//! How long the outside may keep us waiting.

use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result};

const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);
/// What a wait given in seconds may be.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e6;

/// Limits of time for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// The longest wait for the next bytes.
    pub silence: Duration,
    /// The longest wait for the other side to take bytes.
    pub send: Duration,
    /// When the whole must be over.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connect: CONNECT, silence: SILENCE, send: SILENCE, deadline: None }
    }
}

impl Limits {
    /// The limits of an answer that must be over in `seconds`; 0 is no limit of its own.
    pub fn within_seconds(seconds: f64) -> Limits {
        let deadline = (seconds > 0.0)
            .then(|| Instant::now() + Duration::from_secs_f64(seconds.clamp(SECONDS_MIN, SECONDS_MAX)));
        Limits { deadline, ..Limits::default() }
    }

    /// The same with these seconds for each wait; 0 is no limit.
    #[must_use]
    pub fn of_seconds(self, connect: f64, send: f64, silence: f64) -> Limits {
        let wait = |seconds: f64| match seconds > 0.0 {
            true => Duration::from_secs_f64(seconds.clamp(SECONDS_MIN, SECONDS_MAX)),
            false => Duration::from_secs_f64(SECONDS_MAX),
        };
        Limits { connect: wait(connect), send: wait(send), silence: wait(silence), ..self }
    }

    /// The same, and over in `span`.
    pub(crate) fn within(self, span: Duration) -> Limits {
        let end = Instant::now() + span;
        Limits { deadline: Some(self.deadline.map_or(end, |deadline| deadline.min(end))), ..self }
    }

    /// How long the next wait of at most `longest` may last; an error if the time is over.
    pub(crate) fn wait(&self, longest: Duration, whom: &str) -> Result<Duration> {
        let Some(deadline) = self.deadline else { return Ok(longest) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(timed_out(whom)) } else { Ok(left.min(longest)) }
    }
}

pub(crate) fn timed_out(whom: &str) -> Error {
    Error::new(ErrorCode::TimeoutExceeded, format!("{whom} did not answer in time"))
}
