//! The activity of a connection: whether the server works for it or waits for its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The state of a connection, as seen by code that looks for one to close.
pub(crate) struct Activity {
    opened: Instant,
    /// Milliseconds from `opened` to the start of the wait for the client, plus 1; 0 while there is no wait.
    waits_from: AtomicU64,
    close: Notify,
}

impl Activity {
    /// The activity of a new connection: the server waits for the head of its first request.
    pub(crate) fn new() -> Arc<Activity> {
        let activity =
            Activity { opened: Instant::now(), waits_from: AtomicU64::new(1), close: Notify::new() };
        Arc::new(activity)
    }

    /// When the server began to wait for the client, if it waits.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        match self.waits_from.load(Ordering::Relaxed) {
            0 => None,
            from => Some(self.opened + Duration::from_millis(from - 1)),
        }
    }

    /// The server waits for the client from now on.
    pub(crate) fn wait(&self) {
        let now = self.opened.elapsed().as_millis() as u64 + 1;
        // An ongoing wait keeps its start.
        let _ = self.waits_from.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The server works for the client from now on.
    pub(crate) fn work(&self) {
        self.waits_from.store(0, Ordering::Relaxed);
    }

    /// Closes the connection.
    pub(crate) fn close(&self) {
        self.close.notify_one();
    }

    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }
}

/// A request in progress: from its head to the end of the answer's body.
pub(crate) struct ActiveRequest(Arc<Activity>);

impl ActiveRequest {
    pub(crate) fn begin(activity: &Arc<Activity>) -> ActiveRequest {
        activity.work();
        ActiveRequest(Arc::clone(activity))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_begins_with_the_connection_and_ends_with_a_request() {
        let activity = Activity::new();
        let first = activity.waits_since().expect("the first head is waited for");
        activity.wait();
        assert_eq!(activity.waits_since(), Some(first));
        let active = ActiveRequest::begin(&activity);
        assert_eq!(activity.waits_since(), None);
        drop(active);
        assert!(activity.waits_since().is_some());
    }
}
