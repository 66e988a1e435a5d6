//! Slots: the bounded number of open connections of all listeners together.
//!
//! # Invariant
//!
//! There are at most [`ConnectionLimits::most`] connections. A new one replaces the one whose client has made the
//! server wait longest, in the head or the body of a request or between requests. If the server waits for no client,
//! the new connection is refused. Slow clients therefore cannot lock out others. One address has at most
//! [`ConnectionLimits::most_per_address`] of them; one more from there is refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use basalt_engine::{Error, ErrorCode, Result};
use parking_lot::Mutex;

use super::activity::Activity;

/// The maximum number of connections, and how long a client may make the server wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) most: usize,
    /// 0 means no limit.
    pub(crate) most_per_address: usize,
    /// From the start to the end of the handshake, and for protocols with a login, to the end of it.
    pub(crate) login: Duration,
    /// From the end of an answer, or from the start, to the end of the next request's head.
    pub(crate) keep_alive: Duration,
    /// Until the next part of a request arrives.
    pub(crate) receive: Duration,
    /// Until the client accepts more of an answer.
    pub(crate) send: Duration,
}

/// The open connections.
pub(crate) struct Connections {
    pub(crate) limits: ConnectionLimits,
    open: Mutex<Open>,
    opened: AtomicU64,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, (Arc<Activity>, IpAddr)>,
    /// How many of them each address has.
    by_address: HashMap<IpAddr, usize>,
}

/// A slot of the connection limit.
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) activity: Arc<Activity>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Connections> {
        Arc::new(Connections { limits, open: Mutex::default(), opened: AtomicU64::new(0) })
    }

    /// A slot for a new connection; an error if all are in use, or if `address` has too many.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionSlot> {
        let address = address.to_canonical();
        let mut open = self.open.lock();
        let most = self.limits.most_per_address;
        if most > 0 && open.by_address.get(&address).is_some_and(|count| *count >= most) {
            return Err(too_many_of(address, most));
        }
        if open.connections.len() >= self.limits.most {
            let activity = open.slowest().and_then(|slowest| open.remove(slowest));
            activity.ok_or_else(too_many)?.close();
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let activity = Activity::new();
        open.connections.insert(number, (Arc::clone(&activity), address));
        *open.by_address.entry(address).or_default() += 1;
        Ok(ConnectionSlot { connections: Arc::clone(self), number, activity })
    }

    /// Closes the connection whose client has made the server wait longest.
    pub(super) fn close_slowest(&self) {
        let open = self.open.lock();
        if let Some((activity, _)) = open.slowest().and_then(|number| open.connections.get(&number)) {
            activity.close();
        }
    }
}

impl Open {
    fn slowest(&self) -> Option<u64> {
        let all = self.connections.iter();
        let waiting = all.filter_map(|(number, (activity, _))| Some((activity.waits_since()?, *number)));
        waiting.min().map(|(_, number)| number)
    }

    /// `None` if the connection is not there any more.
    fn remove(&mut self, number: u64) -> Option<Arc<Activity>> {
        let (activity, address) = self.connections.remove(&number)?;
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(activity)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open.lock().remove(self.number);
    }
}

fn too_many() -> Error {
    let what = "the server has max_connections open connections; try again later";
    Error::new(ErrorCode::TooManySimultaneousQueries, what)
}

fn too_many_of(address: IpAddr, most: usize) -> Error {
    let what = format!(
        "`{address}` has {most} open connections, which is the server's max_connections_per_address: close some"
    );
    Error::new(ErrorCode::TooManySimultaneousQueries, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(most: usize, most_per_address: usize) -> Arc<Connections> {
        let wait = Duration::from_secs(1);
        Connections::new(ConnectionLimits {
            most,
            most_per_address,
            login: wait,
            keep_alive: wait,
            receive: wait,
            send: wait,
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_has_its_own_limit_and_gets_places_back() {
        let connections = connections(10, 2);
        let first = connections.admit(address("10.0.0.1")).expect("free");
        let _second = connections.admit(address("::ffff:10.0.0.1")).expect("free");
        let error = connections.admit(address("10.0.0.1")).err().expect("the third");
        assert!(error.message().contains("`10.0.0.1` has 2 open connections"), "{error}");
        let _other = connections.admit(address("10.0.0.2")).expect("another address");
        drop(first);
        assert!(connections.admit(address("10.0.0.1")).is_ok());
    }

    #[test]
    fn the_slowest_client_makes_room_and_working_ones_do_not() {
        let connections = connections(1, 0);
        let first = connections.admit(address("10.0.0.1")).expect("free");
        let second = connections.admit(address("10.0.0.1")).expect("the first waits");
        drop(first);
        second.activity.work();
        assert!(connections.admit(address("10.0.0.1")).is_err());
        drop(second);
        assert!(connections.open.lock().by_address.is_empty());
    }
}
