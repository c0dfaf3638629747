//! `GET /events`: the progress as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tokio::sync::{Semaphore, mpsc, watch};

use super::ask::answer;
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::app::App;
use crate::jobs::{self, Following};
use crate::request::Owner;

/// Maximum number of open streams: each takes a thread, and one person has no use for more open pages.
const MAX_STREAMS: usize = 16;
/// The least time between two events: while a vault is imported the progress changes thousands of times a second.
const PACE: Duration = Duration::from_millis(100);
/// Interval at which a comment is sent while there is nothing new, which tells whether anyone still listens.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Interval at which it is checked whether the stream is over.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The streams that are open, and when all must end.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    room: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

impl Streams {
    pub(super) fn new(stop: watch::Receiver<bool>) -> Self {
        Self { room: Arc::new(Semaphore::new(MAX_STREAMS)), stop }
    }
}

/// An event of the stream.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "says what is sent, which is text")]
pub(super) struct ProgressEvent {
    /// Always `progress`.
    event: String,
    /// `ProgressView`, as JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// The progress of the index, now and at each change, as server-sent events named `progress`.
#[utoipa::path(get, path = "/events",
    responses((status = 200, content_type = "text/event-stream", body = ProgressEvent),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn events(State((app, streams)): State<(Arc<App>, Streams)>, asking: Asking) -> Response {
    let Ok(room) = Arc::clone(&streams.room).try_acquire_owned() else {
        let message = format!("{MAX_STREAMS} streams of events are open already");
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        return error.hint("close some, or ask /status now and then").into_response();
    };
    let (sender, receiver) = mpsc::channel(1);
    let following = match answer(app, asking, |owner: &Owner| Ok(jobs::follow(owner))).await {
        Ok(following) => following,
        Err(error) => return error.into_response(),
    };
    tokio::task::spawn_blocking(move || {
        pump(following, &sender);
        drop(room);
    });
    let mut stop = streams.stop;
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let events = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (Ok::<_, Infallible>(event), receiver))
    });
    // It ends with the daemon, which else would wait for it.
    Sse::new(events.take_until(stopped)).keep_alive(KeepAlive::new().interval(KEEPALIVE_INTERVAL)).into_response()
}

/// Sends what is new until nobody listens, or nothing more can come.
fn pump(mut following: Following, listener: &mpsc::Sender<Event>) {
    while !listener.is_closed() {
        match following.next(CHECK_INTERVAL) {
            Some(progress) => {
                let Ok(event) = Event::default().event("progress").json_data(&progress) else { return };
                if listener.blocking_send(event).is_err() {
                    return;
                }
                #[allow(clippy::disallowed_methods, reason = "a thread of its own")]
                std::thread::sleep(PACE);
            }
            None if following.is_over() => return,
            None => {}
        }
    }
}
