//! Slots: the bounded number of open connections of all listeners together.
//!
//! # Invariant
//!
//! There are at most [`ConnectionLimits::most`] connections. A new one replaces the one whose client has made the
//! server wait longest, in the head or the body of a request or between requests. If the server waits for no client,
//! the new connection is refused. Slow clients therefore cannot lock out others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::activity::Activity;

/// The maximum number of connections, and how long a client may make the server wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) most: usize,
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
    open: Mutex<HashMap<u64, Arc<Activity>>>,
    opened: AtomicU64,
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

    /// A slot for a new connection, or `None` if all are in use.
    pub(super) fn admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut open = self.open.lock();
        if open.len() >= self.limits.most {
            let slowest = slowest(&open)?;
            if let Some(activity) = open.remove(&slowest) {
                activity.close();
            }
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let activity = Activity::new();
        open.insert(number, Arc::clone(&activity));
        Some(ConnectionSlot { connections: Arc::clone(self), number, activity })
    }

    /// Closes the connection whose client has made the server wait longest.
    pub(super) fn close_slowest(&self) {
        let open = self.open.lock();
        if let Some(activity) = slowest(&open).and_then(|number| open.get(&number)) {
            activity.close();
        }
    }
}

fn slowest(open: &HashMap<u64, Arc<Activity>>) -> Option<u64> {
    let waiting = open.iter().filter_map(|(number, activity)| Some((activity.waits_since()?, *number)));
    waiting.min().map(|(_, number)| number)
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
    }
}
