//! The addresses and shapes of `qmd serve`, so that a program made for it finds the vault where it looks for its index.
//!
//! They are lenient where such programs differ: fields that are not known are passed over.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

mod ingest;
mod shapes;

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::config::Mode;
use crate::jobs;
use crate::notes;
use crate::request::Viewer;
use crate::wire::Saved;
use shapes::{
    Browsing, Deleted, Embed, EmbedAnswer, EmbedBody, Ingest, Named, NamedCollection, Page, QmdFound, SearchBody,
    Searching,
};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/search", get(search).post(search_for))
        .route("/vsearch", get(vsearch).post(vsearch_for))
        .route("/query", get(hybrid).post(hybrid_for))
        .route("/browse", get(browse))
        .route("/collections", get(collections))
        .route("/embed", post(embed))
        .route("/ingest", post(ingest))
        .route("/delete-chunk", post(delete_chunk))
}

type Asked = Result<Query<Searching>, QueryRejection>;

async fn find(app: AppState, asking: Asking, asked: SearchBody, mode: Mode) -> Answer<QmdFound> {
    let mut params = asked.params(mode)?;
    params.fresh = asking.wants_fresh(params.fresh);
    ask(app, asking, move |viewer: &Viewer| notes::search_for_both_shapes(viewer, &params).map(QmdFound::of)).await
}

/// Finds passages by their words.
#[utoipa::path(get, path = "/search", params(Searching),
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(State(app): State<AppState>, asking: Asking, asked: Asked) -> Answer<QmdFound> {
    find(app, asking, query(asked)?.into(), Mode::Keyword).await
}

/// Finds passages by their words.
#[utoipa::path(post, path = "/search", request_body = SearchBody,
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search_for(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<SearchBody>,
) -> Answer<QmdFound> {
    find(app, asking, asked, Mode::Keyword).await
}

/// Finds passages by their meaning.
#[utoipa::path(get, path = "/vsearch", params(Searching),
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn vsearch(State(app): State<AppState>, asking: Asking, asked: Asked) -> Answer<QmdFound> {
    find(app, asking, query(asked)?.into(), Mode::Semantic).await
}

/// Finds passages by their meaning.
#[utoipa::path(post, path = "/vsearch", request_body = SearchBody,
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn vsearch_for(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<SearchBody>,
) -> Answer<QmdFound> {
    find(app, asking, asked, Mode::Semantic).await
}

/// Finds passages by their words and their meaning.
#[utoipa::path(get, path = "/query", params(Searching),
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn hybrid(State(app): State<AppState>, asking: Asking, asked: Asked) -> Answer<QmdFound> {
    find(app, asking, query(asked)?.into(), Mode::Hybrid).await
}

/// Finds passages by their words and their meaning.
#[utoipa::path(post, path = "/query", request_body = SearchBody,
    responses((status = 200, body = QmdFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn hybrid_for(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<SearchBody>,
) -> Answer<QmdFound> {
    find(app, asking, asked, Mode::Hybrid).await
}

/// Lists passages, of the newest notes first.
#[utoipa::path(get, path = "/browse", params(Browsing),
    responses((status = 200, body = Page), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn browse(
    State(app): State<AppState>,
    asking: Asking,
    asked: Result<Query<Browsing>, QueryRejection>,
) -> Answer<Page> {
    let asked = query(asked)?;
    let params = asked.params()?;
    ask(app, asking, move |viewer: &Viewer| notes::browse(viewer, &params).map(|found| Page::of(found, &params))).await
}

/// The collections, by name.
#[utoipa::path(get, path = "/collections",
    responses((status = 200, body = Vec<NamedCollection>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn collections(State(app): State<AppState>, asking: Asking) -> Answer<Vec<NamedCollection>> {
    ask(app, asking, |viewer: &Viewer| notes::stats(viewer).map(NamedCollection::all)).await
}

/// Embeds `text`, or keeps `content` as `/ingest` does.
#[utoipa::path(post, path = "/embed", request_body = Embed,
    responses((status = 200, body = EmbedAnswer), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn embed(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<EmbedBody>,
) -> Answer<EmbedAnswer> {
    let asked = asked.read()?;
    ask(app, asking, move |viewer: &Viewer| match asked {
        Embed::Text(asked) => jobs::embed(viewer, &asked.text, asked.kind()).map(EmbedAnswer::Embedded),
        Embed::Keep(asked) => ingest::keep(viewer, &asked.params()?).map(EmbedAnswer::Kept),
    })
    .await
}

/// Keeps a text: the person's as a note, an agent's in its own memory. Answers when it can be found.
#[utoipa::path(post, path = "/ingest", request_body = Ingest,
    responses((status = 200, body = Saved), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn ingest(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<Ingest>,
) -> Answer<Saved> {
    let params = asked.params()?;
    ask(app, asking, move |viewer: &Viewer| ingest::keep(viewer, &params)).await
}

/// Deletes the passage with a hash, or the note; for an agent, a passage of its own memory. Answers when it can no longer be found.
#[utoipa::path(post, path = "/delete-chunk", request_body = Named,
    responses((status = 200, body = Deleted), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete_chunk(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(asked): JsonBody<Named>,
) -> Answer<Deleted> {
    let hash = asked.hash()?;
    ask(app, asking, move |viewer: &Viewer| ingest::drop_chunk(viewer, &hash).map(Deleted::of)).await
}
