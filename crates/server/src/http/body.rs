//! The bodies of requests and answers, which tell the activity of their connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use basalt_engine::{Error, ErrorCode};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use crate::connections::{ActiveRequest, Activity};

/// The body of an answer, which keeps its request active.
pub(super) struct AnswerBody<B> {
    pub(super) body: B,
    pub(super) _active: ActiveRequest,
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
pub(super) struct RequestBody {
    body: Incoming,
    activity: Arc<Activity>,
    patience: Duration,
    /// Active while the server waits for the client.
    expiry: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, activity: Arc<Activity>, patience: Duration) -> RequestBody {
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
