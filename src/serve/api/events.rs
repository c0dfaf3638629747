//! The routes that stream, or answer with something else than JSON and 200: progress, answers, captured events, dropped files, contexts.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{BodyDataStream, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::ask::{ApiError, AppState, ErrorBody, JsonBody, answer, query, read_json};
use super::auth::Asking;
use crate::access::request::{EventSender, Owner, Role, Viewer};
use crate::index::sync::{Phase, Shared};
use crate::memory::answers::{Question, question};
use crate::memory::capture::{Event as CapturedEvent, MAX_DROP_BYTES};
use crate::memory::context::context as context_for;
use crate::serve::app::App;
use crate::serve::jobs;
use crate::serve::wire::{AskParams, ContextParams, ContextView, DropParams, Dropped, EventsAccepted};

/// Maximum number of open streams: each takes a thread, and one person has no use for more open pages.
const MAX_STREAMS: usize = 16;
/// Answers that are written at a time: one, and one that was stopped and does not know it before the model's next word.
const MAX_ANSWERS: usize = 2;
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(180);
/// Parts of it that may wait for a slow listener.
const WAITING_PARTS: usize = 64;
/// The least time between two events: while a vault is imported the progress changes thousands of times a second.
const PACE: Duration = Duration::from_millis(100);
/// Interval at which a comment is sent while there is nothing new, which tells whether anyone still listens.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Interval at which it is checked whether the stream is over, or the index's state is another.
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
pub(super) async fn events(State((app, stop)): State<(Arc<App>, watch::Receiver<bool>)>, asking: Asking) -> Response {
    let Some(permit) = app.agents.rates().permit("/events", MAX_STREAMS) else {
        let message = format!("{MAX_STREAMS} event streams are already open");
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        return error.hint("close some, or poll /status").into_response();
    };
    let (sender, receiver) = mpsc::channel(1);
    // Neither the vault nor the index is held, so that the stores can be closed.
    let shared = match answer(app, asking, |owner: &Owner| Ok(Arc::clone(&owner.workspace().shared))).await {
        Ok(shared) => shared,
        Err(error) => return error.into_response(),
    };
    tokio::task::spawn_blocking(move || {
        pump(&shared, &sender);
        drop(permit);
    });
    streamed(receiver, stop)
}

/// Streams events until there are no more, or the daemon ends, which else would wait for that.
fn streamed(receiver: mpsc::Receiver<Event>, mut stop: watch::Receiver<bool>) -> Response {
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let events = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (Ok::<_, Infallible>(event), receiver))
    });
    Sse::new(events.take_until(stopped)).keep_alive(KeepAlive::new().interval(KEEPALIVE_INTERVAL)).into_response()
}

/// An event of an answer.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "says what is sent, which is text")]
pub(super) struct AnswerEvent {
    /// `passages` first, then any number of `text`, then `end` or `error`.
    event: String,
    /// JSON: of `passages` an `AskPassages`, of `text` a string, of `error` why there is no more.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// Answers a question by the chat model of `[chat]`, from passages of the vault alone: as server-sent events, first the passages, then the
/// answer as it comes, in which `[1]` cites the first of them. To close the connection stops the model. Without a passage it is not asked.
#[utoipa::path(post, path = "/api/ask", request_body = AskParams,
    responses((status = 200, content_type = "text/event-stream", body = AnswerEvent),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn ask(
    State((app, stop)): State<(Arc<App>, watch::Receiver<bool>)>,
    asking: Asking,
    JsonBody(params): JsonBody<AskParams>,
) -> Result<Response, ApiError> {
    let Some(permit) = app.agents.rates().permit("/ask", MAX_ANSWERS) else {
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "another question is being answered");
        return Err(error.hint("stop it, or wait for its end"));
    };
    let asked = answer(app, asking, move |owner: &Owner| question(owner, &params)).await?;
    let (sender, receiver) = mpsc::channel(WAITING_PARTS);
    // It may outlive the daemon's other parts, and keeps none of them.
    let write = move || {
        write(&asked, &sender);
        drop(permit);
    };
    std::thread::Builder::new().name("answer".into()).spawn(write).map_err(|_| ApiError::failed())?;
    Ok(streamed(receiver, stop))
}

/// Sends the answer to a question as it comes, until nobody listens.
fn write(asked: &Question, listener: &mpsc::Sender<Event>) {
    let send =
        |name: &str, data: Value| listener.blocking_send(Event::default().event(name).data(data.to_string())).is_ok();
    let Ok(sources) = serde_json::to_value(&asked.sources) else { return };
    if !send("passages", sources) {
        return;
    }
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    let answered = match asked.sources.passages.is_empty() {
        true => Ok(()),
        false => asked.model.stream(&asked.request, deadline, &mut |part| send("text", part.into())),
    };
    let _ = match answered {
        Ok(()) => send("end", Value::Null),
        Err(error) => send("error", error.to_string().into()),
    };
}

/// Sends what is new until nobody listens, or nothing more can come.
fn pump(shared: &Shared, listener: &mpsc::Sender<Event>) {
    let (mut seen, mut sent) = (None, None);
    while !listener.is_closed() {
        let progress = shared.wait(CHECK_INTERVAL, |progress| seen.as_ref() != Some(progress));
        // The index's state may be another while the progress stays as it is.
        let view = jobs::view(&progress, shared.snapshot().as_deref());
        let is_over = progress.phase == Phase::Stopped;
        seen = Some(progress);
        if sent.as_ref() != Some(&view) {
            let Ok(event) = Event::default().event("progress").json_data(&view) else { return };
            if listener.blocking_send(event).is_err() {
                return;
            }
            sent = Some(view);
            #[allow(clippy::disallowed_methods, reason = "a thread of its own")]
            std::thread::sleep(PACE);
        } else if is_over {
            return;
        }
    }
}

/// Accepts up to 10,000 events, all or none; one may come without the array. When it answers, they are safe on disk; a moment later they
/// are in their files.
#[utoipa::path(post, path = "/api/user-memory/events", tag = "capture", operation_id = "capture_events", request_body = Vec<CapturedEvent>,
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

/// Takes a file of up to 64 MB that the owner drops on the page, as it is: a text becomes a note, a picture or PDF a file beside the notes, and
/// an export of another program is imported.
#[utoipa::path(post, path = "/api/user-memory/drop", tag = "capture", operation_id = "capture_drop", params(DropParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Dropped), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn drop_file(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<DropParams>, QueryRejection>,
    request: Request,
) -> Result<Json<Dropped>, ApiError> {
    Owner::admits(&asking.principal)?;
    let DropParams { name } = query(params)?;
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > MAX_DROP_BYTES) {
        let message = format!("`{name}` has {} MB; a dropped file has up to 64", length.unwrap_or_default() >> 20);
        let error = ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid", message);
        return Err(error.hint("`vault import` takes larger exports; copy other files into the vault's folder"));
    }
    let body = request.into_body().into_data_stream();
    let mut body = BodyReader { body, part: Bytes::new(), runtime: Handle::current() };
    let vault = Arc::clone(&app);
    answer(app, asking, move |owner: &Owner| vault.take_drop(owner, &name, &mut body)).await.map(Json)
}

/// A body as it comes, on a thread that may block.
struct BodyReader {
    body: BodyDataStream,
    part: Bytes,
    runtime: Handle,
}

impl Read for BodyReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            match self.runtime.block_on(self.body.next()) {
                None => return Ok(0),
                Some(part) => self.part = part.map_err(io::Error::other)?,
            }
        }
        let length = self.part.len().min(into.len());
        into[..length].copy_from_slice(&self.part.split_to(length));
        Ok(length)
    }
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
