//! The routes of entries and of the queue of proposals.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::entries;
use crate::request::{Owner, Viewer};
use crate::wire::{
    EntriesParams, EntriesRewriteParams, EntriesRewritten, EntriesView, EntryAddParams, EntryAdded, EntryChanged,
    EntryEditParams, EntryRemoveParams, ReviewDecisions, ReviewParams, ReviewView, Reviewed,
};

/// The routes for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/entries", get(list_entries).post(add_entry))
}

/// The routes for the person alone.
pub(super) fn owner_routes() -> Router<AppState> {
    Router::new()
        .route("/api/entries/edit", post(edit_entry))
        .route("/api/entries/rewrite", post(rewrite_entries))
        .route("/api/entries/remove", post(remove_entry))
        .route("/api/review", get(list_proposals).post(decide_proposals))
}

/// The entries of a memory that are seen: each where all its sources are.
#[utoipa::path(get, path = "/api/entries", params(EntriesParams),
    responses((status = 200, body = EntriesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list_entries(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<EntriesParams>, QueryRejection>,
) -> Answer<EntriesView> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| entries::entries(viewer, &params)).await
}

/// Adds an entry; an agent's waits for the person.
#[utoipa::path(post, path = "/api/entries", request_body = EntryAddParams,
    responses((status = 200, body = EntryAdded), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn add_entry(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<EntryAddParams>,
) -> Answer<EntryAdded> {
    ask(app, asking, move |viewer: &Viewer| entries::add(viewer, &params)).await
}

/// Changes an entry in its line.
#[utoipa::path(post, path = "/api/entries/edit", request_body = EntryEditParams,
    responses((status = 200, body = EntryChanged), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn edit_entry(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<EntryEditParams>,
) -> Answer<EntryChanged> {
    ask(app, asking, move |owner: &Owner| entries::edit(owner, &params)).await
}

/// Takes an entry away, or sets it aside in the archive. What it took the place of counts again.
#[utoipa::path(post, path = "/api/entries/remove", request_body = EntryRemoveParams,
    responses((status = 200, body = EntryChanged), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn remove_entry(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<EntryRemoveParams>,
) -> Answer<EntryChanged> {
    ask(app, asking, move |owner: &Owner| entries::remove(owner, &params)).await
}

/// Writes another text in the place of a memory's file. One that drops more than a quarter of the entries is refused and shown.
#[utoipa::path(post, path = "/api/entries/rewrite", request_body = EntriesRewriteParams,
    responses((status = 200, body = EntriesRewritten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn rewrite_entries(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<EntriesRewriteParams>,
) -> Answer<EntriesRewritten> {
    ask(app, asking, move |owner: &Owner| entries::rewrite(owner, &params)).await
}

/// The proposals that wait, each beside what is known and with what its sources say.
#[utoipa::path(get, path = "/api/review", params(ReviewParams),
    responses((status = 200, body = ReviewView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list_proposals(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<ReviewParams>, QueryRejection>,
) -> Answer<ReviewView> {
    let params = query(params)?;
    ask(app, asking, move |owner: &Owner| entries::review(owner, &params)).await
}

/// Accepts and rejects proposals, one, several, or all of a note.
#[utoipa::path(post, path = "/api/review", request_body = ReviewDecisions,
    responses((status = 200, body = Reviewed), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn decide_proposals(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<ReviewDecisions>,
) -> Answer<Reviewed> {
    ask(app, asking, move |owner: &Owner| entries::decide(owner, &params)).await
}
