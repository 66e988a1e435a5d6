//! The activity of a connection: whether the server works for it or waits for its client.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use basalt_engine::{Error, ErrorCode};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::Notify;
use tokio::time::Sleep;

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

    fn wait(&self) {
        let now = self.opened.elapsed().as_millis() as u64 + 1;
        // An ongoing wait keeps its start.
        let _ = self.waits_from.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn work(&self) {
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

/// The body of an answer, which keeps its request active.
pub(crate) struct AnswerBody<B> {
    pub(crate) body: B,
    pub(crate) _active: ActiveRequest,
}

impl<B: Body + Unpin> Body for AnswerBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(ctx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a request, which ends with an error if the client sends nothing for too long.
pub(crate) struct RequestBody {
    body: Incoming,
    activity: Arc<Activity>,
    patience: Duration,
    /// Active while the server waits for the client.
    expiry: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, activity: Arc<Activity>, patience: Duration) -> RequestBody {
        RequestBody { body, activity, patience, expiry: None }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(ctx) {
            this.expiry = None;
            this.activity.work();
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        this.activity.wait();
        let patience = this.patience;
        let expiry = this.expiry.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match expiry.as_mut().poll(ctx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(too_slow(patience).into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn too_slow(patience: Duration) -> Error {
    let seconds = patience.as_secs_f64();
    let what = format!(
        "nothing of the request's body came for {seconds} s, which is the server's http_receive_timeout"
    );
    Error::new(ErrorCode::SocketTimeout, what)
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
