//! Who is at the other end of a connection, and how long may pass until a request is whole.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

/// Whoever opened a connection. It is in the extensions of each request, so that who checks a token can say that there was one.
#[derive(Debug, Default)]
pub(super) struct Visitor {
    known: AtomicBool,
    leave: Notify,
}

impl Visitor {
    /// A request on the connection had a token that counts.
    pub(super) fn shows_token(&self) {
        self.known.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }

    /// Has the connection closed, to make room.
    pub(super) fn send_away(&self) {
        self.leave.notify_one();
    }

    /// Waits until it is to be closed.
    pub(super) async fn sent_away(&self) {
        self.leave.notified().await;
    }
}

/// The body of a request, which fails when it has not come whole in time: whoever sends it byte by byte would else keep the
/// connection for as long as they like.
pub(super) struct InTime {
    body: Incoming,
    deadline: Instant,
    /// Made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl InTime {
    pub(super) fn new(body: Incoming, within: Duration) -> Self {
        Self { body, deadline: Instant::now() + within, alarm: None }
    }
}

impl Body for InTime {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { body, deadline, alarm } = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(alarm.get_or_insert_with(|| Box::pin(sleep_until(*deadline))).as_mut().poll(cx));
        Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether a body could not be read because it did not come in time.
pub(super) fn is_late(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| cause.kind() == io::ErrorKind::TimedOut)
}
