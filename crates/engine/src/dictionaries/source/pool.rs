//! A pool of members that are costly to start: programs and connections.

use std::time::{Duration, Instant};

use basalt_base::{Result, bail};
use parking_lot::{Condvar, Mutex};

pub(super) struct Pool<T> {
    size: usize,
    /// How long a caller waits for a member.
    patience: Duration,
    /// A name for the members, for the error after a wait.
    what: &'static str,
    members: Mutex<Members<T>>,
    returned: Condvar,
}

struct Members<T> {
    idle: Vec<T>,
    /// The number of members, busy or idle.
    started: usize,
}

impl<T> Pool<T> {
    pub(super) fn new(size: usize, patience: Duration, what: &'static str) -> Pool<T> {
        let members = Mutex::new(Members { idle: Vec::new(), started: 0 });
        Pool { size: size.max(1), patience, what, members, returned: Condvar::new() }
    }

    /// The result of `ask` with an idle member that is ready, or with a new one. A member that failed is not used
    /// again.
    pub(super) fn with<A>(
        &self,
        deadline: Option<Instant>,
        is_ready: impl Fn(&mut T) -> bool,
        start: impl FnOnce() -> Result<T>,
        ask: impl FnOnce(&mut T) -> Result<A>,
    ) -> Result<A> {
        let mut place = Place { pool: self, member: self.take(deadline, is_ready)? };
        let member = match &mut place.member {
            Some(member) => member,
            none => none.insert(start()?),
        };
        let answer = ask(member);
        if answer.is_err() {
            place.member = None;
        }
        answer
    }

    /// The idle members.
    pub(super) fn drain(&mut self) -> Vec<T> {
        let members = self.members.get_mut();
        let idle = std::mem::take(&mut members.idle);
        members.started -= idle.len();
        idle
    }

    /// An idle member, or `None` with the right to start one. Waits while the greatest number of members is busy.
    fn take(&self, deadline: Option<Instant>, is_ready: impl Fn(&mut T) -> bool) -> Result<Option<T>> {
        let patience = Instant::now() + self.patience;
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let mut members = self.members.lock();
        loop {
            match members.idle.pop() {
                Some(mut member) => {
                    if is_ready(&mut member) {
                        return Ok(Some(member));
                    }
                    members.started -= 1;
                }
                None if members.started < self.size => {
                    members.started += 1;
                    return Ok(None);
                }
                None if self.returned.wait_until(&mut members, until).timed_out() => bail!(
                    TimeoutExceeded,
                    "all {} {} were busy for {} seconds",
                    self.size,
                    self.what,
                    self.patience.as_secs()
                ),
                None => {}
            }
        }
    }
}

/// The place of a busy member, which is returned however the call ends.
struct Place<'a, T> {
    pool: &'a Pool<T>,
    member: Option<T>,
}

impl<T> Drop for Place<'_, T> {
    fn drop(&mut self) {
        let mut members = self.pool.members.lock();
        match self.member.take() {
            Some(member) => members.idle.push(member),
            None => members.started -= 1,
        }
        self.pool.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::{Error, ErrorCode};

    use super::*;

    #[test]
    fn members_are_used_again_until_they_fail() {
        let pool = Pool::new(1, Duration::from_millis(20), "things");
        let started = std::cell::Cell::new(0);
        let ask = |fails: bool| {
            let start = || {
                started.set(started.get() + 1);
                Ok(started.get())
            };
            let error = || Error::new(ErrorCode::NetworkError, "no");
            pool.with(None, |_| true, start, |&mut member| if fails { Err(error()) } else { Ok(member) })
        };
        assert_eq!((ask(false).ok(), ask(false).ok()), (Some(1), Some(1)));
        assert!(ask(true).is_err());
        assert_eq!(ask(false).ok(), Some(2));
        // A member that is not ready is replaced. While the only member is busy, another caller waits in vain.
        let answer = pool.with(
            None,
            |_| false,
            || Ok(7),
            |&mut member| {
                let busy = pool.with(None, |_| true, || Ok(8), |&mut member| Ok(member));
                assert_eq!(busy.map_err(|error| error.code()), Err(ErrorCode::TimeoutExceeded));
                Ok(member)
            },
        );
        assert_eq!(answer.ok(), Some(7));
        // A member that fails to start returns its place.
        let failed: Result<()> = pool.with(None, |_| false, || Err(Error::logical("no")), |_| Ok(()));
        assert!(failed.is_err());
        assert_eq!(ask(false).ok(), Some(3));
    }
}
