//! The routes to how notes hang together: links, what is near, tags, names.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::get;

use super::ask::{Answer, AppState, ask, query};
use super::caller::Asking;
use super::error::ErrorBody;
use crate::notes;
use crate::request::{Owner, Viewer};
use crate::wire::{
    LinksParams, LinksView, NotesParams, NotesView, RelatedParams, RelatedView, TagsView, UnresolvedParams,
    UnresolvedView,
};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/user-memory/links", get(links))
        .route("/api/user-memory/links/unresolved", get(unresolved_links))
        .route("/api/user-memory/related", get(related))
        .route("/api/user-memory/tags", get(tags))
        .route("/api/tags", get(all_tags))
        .route("/api/user-memory/notes", get(notes_in))
}

/// Where a note's links lead, and which notes link to it.
#[utoipa::path(get, path = "/api/user-memory/links", params(LinksParams),
    responses((status = 200, body = LinksView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn links(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<LinksParams>, QueryRejection>,
) -> Answer<LinksView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| notes::links(viewer, &params)).await
}

/// The links of the whole vault that lead nowhere.
#[utoipa::path(get, path = "/api/user-memory/links/unresolved", params(UnresolvedParams),
    responses((status = 200, body = UnresolvedView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn unresolved_links(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<UnresolvedParams>, QueryRejection>,
) -> Answer<UnresolvedView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |owner: &Owner| notes::unresolved(owner, &params)).await
}

/// The notes near a note, by meaning where it is embedded, else by its most telling words; those that it links to are marked, and those
/// that link to it.
#[utoipa::path(get, path = "/api/user-memory/related", params(RelatedParams),
    responses((status = 200, body = RelatedView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn related(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<RelatedParams>, QueryRejection>,
) -> Answer<RelatedView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| notes::related(viewer, &params)).await
}

/// The tags, with how many notes have them.
#[utoipa::path(get, path = "/api/user-memory/tags",
    responses((status = 200, body = TagsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn tags(State(app): State<AppState>, asking: Asking) -> Answer<TagsView> {
    ask(app, asking.seeing_saves(), notes::tags).await
}

/// The same at a shorter address.
#[utoipa::path(get, path = "/api/tags",
    responses((status = 200, body = TagsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn all_tags(State(app): State<AppState>, asking: Asking) -> Answer<TagsView> {
    ask(app, asking.seeing_saves(), notes::tags).await
}

/// Lists notes, the newest first.
#[utoipa::path(get, path = "/api/user-memory/notes", params(NotesParams),
    responses((status = 200, body = NotesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn notes_in(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<NotesParams>, QueryRejection>,
) -> Answer<NotesView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| notes::list(viewer, &params)).await
}
