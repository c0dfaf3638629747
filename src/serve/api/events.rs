//! The routes that stream, or answer with something else than JSON and 200: progress, captured events, contexts.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use utoipa::ToSchema;

use super::ask::{ApiError, AppState, ErrorBody, JsonBody, answer, read_json};
use super::auth::Asking;
use crate::access::request::{EventSender, Owner, Viewer};
use crate::memory::capture::Event as CapturedEvent;
use crate::memory::context::context as context_for;
use crate::serve::app::App;
use crate::serve::jobs::{self, Following};
use crate::serve::wire::{ContextParams, ContextView, EventsAccepted};

/// Maximum number of open streams: each takes a thread, and one person has no use for more open pages.
const MAX_STREAMS: usize = 16;
/// The least time between two events: while a vault is imported the progress changes thousands of times a second.
const PACE: Duration = Duration::from_millis(100);
/// Interval at which a comment is sent while there is nothing new, which tells whether anyone still listens.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Interval at which it is checked whether the stream is over.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

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
pub(super) async fn events(
    State((app, mut stop)): State<(Arc<App>, watch::Receiver<bool>)>,
    asking: Asking,
) -> Response {
    let Some(permit) = app.agents.rates().permit("/events", MAX_STREAMS) else {
        let message = format!("{MAX_STREAMS} event streams are already open");
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        return error.hint("close some, or poll /status").into_response();
    };
    let (sender, receiver) = mpsc::channel(1);
    let following = match answer(app, asking, |owner: &Owner| Ok(jobs::follow(owner))).await {
        Ok(following) => following,
        Err(error) => return error.into_response(),
    };
    tokio::task::spawn_blocking(move || {
        pump(following, &sender);
        drop(permit);
    });
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

/// One event, or up to 10,000.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "says what is taken; it is read event by event, so that errors name them")]
pub(super) enum Events {
    /// One event.
    One(CapturedEvent),
    /// Several events: all are accepted, or none.
    Several(Vec<CapturedEvent>),
}

/// Accepts events. When it answers, they are safe on disk; a moment later they are in their files.
#[utoipa::path(post, path = "/api/user-memory/events", tag = "capture", operation_id = "events", request_body = Events,
    responses((status = 202, body = EventsAccepted), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn capture(
    State(app): State<AppState>,
    asking: Asking,
    request: Request,
) -> Result<(StatusCode, Json<EventsAccepted>), ApiError> {
    let body: Value = read_json(request, false).await?;
    let vault = Arc::clone(&app);
    let accepted = answer(app, asking, move |sender: &EventSender| vault.accept(sender, body)).await?;
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// Returns what a model should know for a question, or in general: a block of lines with their sources, fenced as data, and a receipt. If
/// nothing matters, the block is empty. `If-None-Match` with the `ETag` of an earlier answer checks whether it is unchanged.
#[utoipa::path(post, path = "/api/context", tag = "context", request_body = ContextParams,
    params(("If-None-Match" = Option<String>, Header, description = "the `ETag` of an earlier answer")),
    responses((status = 200, body = ContextView), (status = 304, description = "Not changed"),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn context(
    State(app): State<AppState>,
    asking: Asking,
    headers: HeaderMap,
    JsonBody(params): JsonBody<ContextParams>,
) -> Result<Response, ApiError> {
    let view = answer(app, asking.seeing_saves(), move |viewer: &Viewer| context_for(viewer, &params)).await?;
    let etag = format!("\"{}\"", view.receipt.id);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag || known.trim() == "*");
    let tag = [(header::ETAG, etag)];
    Ok(if is_known { (StatusCode::NOT_MODIFIED, tag).into_response() } else { (tag, Json(view)).into_response() })
}
