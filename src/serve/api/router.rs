//! Which address leads where, for whom; and the OpenAPI document of that, generated from the routes and their types. What a value takes beyond
//! its type is said in words.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use utoipa::OpenApi;

use super::ask::{ApiError, JsonBody, MAX_BODY_BYTES};
use super::auth::{Guard, guard, local as local_caller, only, only_from_here, within_limits};
use super::oauth::{self, OAuth};
use super::page::Sessions;
use super::{endpoints, events, file, page, passing, share};
use crate::access::request::{Owner, Reader, Viewer};
use crate::access::rules::{Authenticator, Principal};
use crate::serve::app::App;

/// What all listeners share while the daemon runs: the sessions of the page, when streams of events end, and what remote assistants get.
#[derive(Clone)]
pub struct Live {
    sessions: Arc<Sessions>,
    stop: watch::Receiver<bool>,
    oauth: Option<OAuth>,
}

impl Live {
    /// Those of an app. Streams of events end when `stop` holds true or its sender is gone.
    pub fn new(app: &App, stop: watch::Receiver<bool>) -> Self {
        Self { sessions: Arc::new(Sessions::new(&app.state)), stop, oauth: None }
    }

    /// The same with what is open to remote assistants.
    #[must_use]
    pub(crate) fn and_remote(self, oauth: Option<OAuth>) -> Self {
        Self { oauth, ..self }
    }
}

/// The API as it is served over TCP: every request passes the guard. `more` are routes of other protocols, which take the
/// [`Principal`](crate::access::rules::Principal) from the request's extensions.
pub fn guarded(app: Arc<App>, live: &Live, with: Guard, more: Router) -> Router {
    let with = with.and(Arc::clone(&live.sessions) as Arc<dyn Authenticator>).and_remote(live.oauth.clone());
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    finish(routes(app, live).merge(more).layer(limits)).layer(middleware::from_fn_with_state(Arc::new(with), guard))
}

/// The API as it is served over the Unix socket, which only the person can open.
pub fn local(app: Arc<App>, live: &Live, more: Router) -> Router {
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    let person = middleware::from_fn_with_state(Arc::clone(&app), local_caller);
    let owners = page::local_routes(&live.sessions).route_layer(middleware::from_fn(only::<Owner>));
    finish(routes(app, live).merge(more).merge(owners).layer(limits)).layer(person)
}

/// The API as a process asks itself, which works alone for the person: its index is up to date.
pub fn alone(app: Arc<App>) -> Router {
    async fn person(mut request: Request, next: Next) -> Response {
        request.extensions_mut().insert(Principal::Owner(None));
        next.run(request).await
    }
    let (_, stopped) = watch::channel(true);
    let live = Live::new(&app, stopped);
    finish(routes(app, &live)).layer(middleware::from_fn(person))
}

fn routes(app: Arc<App>, live: &Live) -> Router {
    let events = Router::new().route("/events", get(events::events)).route("/api/ask", post(events::ask));
    let events = events.with_state((Arc::clone(&app), live.stop.clone()));
    let events = events.route_layer(middleware::from_fn(only::<Owner>));
    let owners = page::owner_routes(&live.sessions).route_layer(middleware::from_fn(only::<Owner>));
    let readers = Router::new()
        .route("/api/context", post(events::context))
        .merge(passing::routes(&app))
        .route_layer(middleware::from_fn(only::<Viewer>));
    let described = Router::new().route("/openapi.json", get(|| async { Json(document()) }));
    let described = described.route_layer(middleware::from_fn(only::<Reader>));
    let media = Router::new().route("/api/user-memory/file", get(file::file));
    let media = media.route_layer(middleware::from_fn(only::<Owner>));
    let declared = endpoints::all(None).router;
    let remote = live.oauth.as_ref().map(|oauth| oauth::routes(oauth, &app)).unwrap_or_default();
    Router::new()
        .route("/health", get(health))
        // Programs with a capture token have it, too.
        .route("/api/user-memory/events", post(events::capture))
        .route("/api/user-memory/drop", post(events::drop_file))
        .merge(declared)
        .merge(readers)
        .merge(described)
        .merge(media)
        .merge(share::routes())
        .with_state(app)
        .merge(events)
        .merge(owners)
        .merge(page::routes(&live.sessions))
        .merge(remote)
}

/// Says that the server runs, and nothing else.
#[utoipa::path(get, path = "/health", tag = "routes", security(()), responses((status = 200, description = "It runs", body = Value)))]
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vault",
        description = "A person's long-lived memory: plain Markdown, searchable the moment it is saved."
    ),
    paths(
        health, events::context, passing::complete, passing::models, events::events, events::ask, page::token,
        page::leave, page::open, events::capture, events::drop_file, file::file
    ),
    components(schemas(
        crate::base::config::MemoryLayer, crate::serve::wire::ProgressView, crate::serve::wire::AskPassages,
        crate::serve::wire::NoteOrder
    ))
)]
struct Api;

/// The document as served at `/openapi.json`.
///
/// # Panics
/// Never: a description is JSON.
pub fn document() -> Value {
    let document = endpoints::all(Some(Api::openapi())).document;
    let mut document = serde_json::to_value(document).expect("a description is JSON");
    // Every route but `/health` and those of the page takes a token.
    let scheme = |scheme: &str| json!({ "type": "http", "scheme": scheme });
    document["components"]["securitySchemes"] = json!({ "basic": scheme("basic"), "bearer": scheme("bearer") });
    document["security"] = json!([{ "bearer": [] }, { "basic": [] }]);
    // An event has its type beside the fields of that type.
    for event in ["Message", "FileAction", "Search", "AgentActivity", "Note", "Bookmark", "Clipboard"] {
        document["components"]["schemas"][event]["properties"]["type"] = json!({ "type": "string" });
    }
    document
}

/// What every answer has in common, those of merged routes included.
fn finish(routes: Router) -> Router {
    let none = || ApiError::new(StatusCode::NOT_FOUND, "not_found", "no such address").hint("see /openapi.json");
    let wrong = "this address does not accept this method";
    let wrong = move || ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", wrong);
    routes
        .fallback(move || async move { none() })
        .method_not_allowed_fallback(move || async move { wrong() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::map_response(headers))
}

/// Answers are one person's memory: no cache keeps them and no page frames them.
pub(super) async fn headers(mut response: Response) -> Response {
    // But for the files of the page, which are no memory.
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Requests that are answered at a time; more wait.
const AT_A_TIME: usize = 8;

/// The status and the body of the answer to what is sent to an address. It may block.
type OpenAnswer = Box<dyn Fn(&str, &Value) -> (u16, Option<Value>) + Send + Sync>;

struct OpenService {
    answer: OpenAnswer,
    free: Semaphore,
    since: Instant,
}

/// Serves programs of this machine that have no token, because the person has said so, at these addresses; and `/health`. Only this host and
/// its own pages are let in.
pub(crate) fn without_token(paths: &[&str], answer: OpenAnswer) -> Router {
    let service = OpenService { answer, free: Semaphore::new(AT_A_TIME), since: Instant::now() };
    let guard = Arc::new(Guard::new(Vec::new(), Vec::new()));
    let routes = Router::new().route("/health", get(open_health));
    paths
        .iter()
        .fold(routes, |routes, path| routes.route(path, post(open)))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(guard, only_from_here))
        .with_state(Arc::new(service))
}

/// Answers on a thread that may block.
async fn open(State(service): State<Arc<OpenService>>, uri: Uri, JsonBody(asked): JsonBody<Value>) -> Response {
    let free = Arc::clone(&service);
    let Ok(_turn) = free.free.acquire().await else { return ApiError::failed().into_response() };
    match tokio::task::spawn_blocking(move || (service.answer)(uri.path(), &asked)).await {
        Ok((status, body)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            body.map_or(status.into_response(), |body| (status, Json(body)).into_response())
        }
        Err(_) => ApiError::failed().into_response(),
    }
}

async fn open_health(State(service): State<Arc<OpenService>>) -> Response {
    let uptime = service.since.elapsed().as_secs();
    let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION"));
    Json(json!({ "status": "ok", "uptime": uptime, "version": version, "pid": pid })).into_response()
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_operation_hides_behind_another() {
        let document = super::document();
        let mut ids = std::collections::BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            }
        }
    }
}
