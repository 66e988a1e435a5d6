//! Failed logins, and how they slow down the next ones.
//!
//! The answer to a failed login is delayed, twice as long each time. Attempts of one user from one address take turns, so
//! later ones wait for it. Others do not wait. It makes no difference whether the user exists.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_engine::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

/// The wait after the first failure.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// How many times it is doubled at most.
const DOUBLINGS_MAX: u32 = 6;
/// Failures are forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(300);
/// Attempts that may wait for their turn; others fail at once.
const WAITING_MAX: usize = 16;
/// Pairs of users and addresses that are remembered; users of one address count as one beyond that.
const PAIRS_MAX: usize = 10_000;

/// Failures by user and address.
pub(crate) struct Guesses {
    first_wait: Duration,
    hasher: RandomState,
    failures: Mutex<HashMap<u64, Failures>>,
}

struct Failures {
    count: u32,
    last: Instant,
    turn: Arc<AsyncMutex<()>>,
}

impl Default for Guesses {
    fn default() -> Guesses {
        Guesses { first_wait: FIRST_WAIT, hasher: RandomState::new(), failures: Mutex::default() }
    }
}

impl Guesses {
    /// The result of `check`, later if there were failures before.
    pub(crate) async fn slowed<T>(
        &self,
        user: &str,
        address: IpAddr,
        check: impl Fn() -> Result<T>,
    ) -> Result<T> {
        let key = self.key(user, address);
        let turn = self.failures.lock().get(&key).map(|failures| Arc::clone(&failures.turn));
        let held = match turn {
            // The map has one, this attempt another, and each that waits.
            Some(turn) if Arc::strong_count(&turn) > WAITING_MAX + 2 => return Err(too_many()),
            Some(turn) => Some(turn.lock_owned().await),
            None => None,
        };
        match check() {
            Ok(value) => {
                self.failures.lock().remove(&key);
                Ok(value)
            }
            Err(error) => {
                let (wait, turn) = self.failed(key);
                let _turn = match held {
                    Some(held) => held,
                    None => turn.lock_owned().await,
                };
                tokio::time::sleep(wait).await;
                Err(error)
            }
        }
    }

    fn key(&self, user: &str, address: IpAddr) -> u64 {
        let address = address.to_canonical();
        let key = self.hasher.hash_one((user, address));
        let mut failures = self.failures.lock();
        if failures.len() < PAIRS_MAX || failures.contains_key(&key) {
            return key;
        }
        failures.retain(|_, failures| failures.last.elapsed() < MEMORY);
        if failures.len() < PAIRS_MAX { key } else { self.hasher.hash_one(address) }
    }

    /// Counts a failure: how long its answer waits, and whose turn it is.
    fn failed(&self, key: u64) -> (Duration, Arc<AsyncMutex<()>>) {
        let mut all = self.failures.lock();
        let now = Instant::now();
        let failures =
            all.entry(key).or_insert_with(|| Failures { count: 0, last: now, turn: Arc::default() });
        if now.duration_since(failures.last) > MEMORY {
            failures.count = 0;
        }
        (failures.count, failures.last) = (failures.count.saturating_add(1), now);
        let wait = self.first_wait * 2_u32.pow((failures.count - 1).min(DOUBLINGS_MAX));
        (wait, Arc::clone(&failures.turn))
    }
}

fn too_many() -> Error {
    Error::new(
        ErrorCode::AuthenticationFailed,
        "too many failed logins of this user from this address; wait, then try again",
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn wrong() -> Result<()> {
        Err(Error::new(ErrorCode::AuthenticationFailed, "wrong"))
    }

    #[test]
    fn a_thousand_guesses_take_most_of_an_hour() {
        let guesses = Guesses::default();
        let key = guesses.key("u", HERE);
        let waited: Duration = (0..1000).map(|_| guesses.failed(key).0).sum();
        assert!(waited > Duration::from_secs(3000), "{waited:?}");
        assert_eq!(guesses.failed(guesses.key("u", THERE)).0, FIRST_WAIT);
        assert_eq!(guesses.failed(guesses.key("v", HERE)).0, FIRST_WAIT);
    }

    #[tokio::test]
    async fn the_right_password_forgives_all() {
        let guesses = Guesses { first_wait: Duration::from_micros(1), ..Guesses::default() };
        assert!(guesses.slowed("u", HERE, wrong).await.is_err());
        assert!(guesses.slowed("u", HERE, || Ok(())).await.is_ok());
        assert!(guesses.failures.lock().is_empty());
    }

    #[tokio::test]
    async fn guesses_at_once_take_turns() {
        let guesses = Arc::new(Guesses { first_wait: Duration::from_millis(1), ..Guesses::default() });
        assert!(guesses.slowed("u", HERE, wrong).await.is_err());
        let start = Instant::now();
        let mut attempts = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let guesses = Arc::clone(&guesses);
            attempts.spawn(async move { guesses.slowed("u", HERE, wrong).await });
        }
        let mut refused = 0;
        while let Some(attempt) = attempts.join_next().await {
            let error = attempt.expect("no panic").expect_err("wrong");
            refused += usize::from(error.message().contains("too many failed logins"));
        }
        assert!(refused > 150, "{refused}");
        assert!(start.elapsed() > Duration::from_millis(200), "{:?}", start.elapsed());
    }

    #[test]
    fn memory_is_bounded() {
        let guesses = Guesses::default();
        for user in 0..PAIRS_MAX + 5 {
            let _ = guesses.failed(guesses.key(&user.to_string(), HERE));
        }
        assert!(guesses.failures.lock().len() <= PAIRS_MAX + 1);
    }
}
