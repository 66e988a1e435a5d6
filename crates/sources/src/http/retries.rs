//! How often a request is retried, and the pauses in between.

use std::time::Duration;

use basalt_base::{Error, ErrorCode, Result};

use crate::Limits;

/// The attempts of a request; only failures that may pass are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Includes the first attempt.
    pub tries_max: u64,
    /// The pauses double from the first to the second.
    pub pauses: (Duration, Duration),
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { tries_max: 1, pauses: (Duration::ZERO, Duration::ZERO) }
    }
}

/// The failure of a request.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether a retry may succeed.
    pub(super) is_transient: bool,
}

impl Failure {
    pub(super) fn transient(error: Error) -> Failure {
        Failure { error, is_transient: true }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, is_transient: false }
    }
}

impl Retries {
    /// The final result of `send`, within the limits of time.
    pub(super) fn run<T>(
        self,
        limits: &Limits,
        whom: &str,
        mut send: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T> {
        let mut pause = self.pauses.0;
        let mut earlier: Option<Error> = None;
        for tried in 1.. {
            let Failure { error, is_transient } = match send() {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            // The last failure says more than a timeout.
            let error = match earlier.take() {
                Some(earlier) if error.code() == ErrorCode::TimeoutExceeded => return Err(earlier),
                _ => error,
            };
            let has_time = limits.wait(Duration::MAX, whom).is_ok_and(|left| left > pause);
            if !is_transient || tried >= self.tries_max || !has_time {
                return Err(error);
            }
            earlier = Some(error);
            std::thread::sleep(pause);
            pause = (pause * 2).min(self.pauses.1);
        }
        Err(Error::logical("a request is never sent"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_as_often_as_is_said() {
        let check = |tries_max: u64, failures: u64, is_transient: bool| {
            let retries = Retries { tries_max, ..Retries::default() };
            let mut tries = 0;
            let answer = retries.run(&Limits::default(), "them", || {
                tries += 1;
                let error = Error::new(ErrorCode::NetworkError, "no");
                if tries > failures { Ok(()) } else { Err(Failure { error, is_transient }) }
            });
            (tries, answer.is_ok())
        };
        assert_eq!(check(1, 0, true), (1, true));
        assert_eq!(check(3, 2, true), (3, true));
        assert_eq!(check(3, 3, true), (3, false));
        assert_eq!(check(3, 2, false), (1, false));
        assert_eq!(check(0, 2, true), (1, false));
    }

    #[test]
    fn what_went_wrong_is_told_and_not_that_time_is_over() {
        let retries = Retries { tries_max: 9, ..Retries::default() };
        let mut codes = [ErrorCode::NetworkError, ErrorCode::TimeoutExceeded].into_iter();
        let answer: Result<()> = retries.run(&Limits::default(), "them", || {
            let code = codes.next().expect("two tries");
            Err(Failure { error: Error::new(code, "no"), is_transient: code == ErrorCode::NetworkError })
        });
        assert_eq!(answer.map_err(|error| error.code()), Err(ErrorCode::NetworkError));
    }
}
