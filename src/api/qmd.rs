//! The addresses and shapes of `qmd serve`, so that a program made for it finds the vault where it looks for its index.
//!
//! They are lenient where such programs differ: fields that are not known are passed over.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

mod shapes;

use super::body::Fields;
use super::caller::Asking;
use super::error::ErrorBody;
use super::routes::{Answer, App, call_as, query};
use crate::config::Mode;
use crate::service::Saved;
use shapes::{
    Browsing, Deleted, Embed, EmbedAnswer, EmbedBody, Found, Ingest, Named, NamedCollection, Page, SearchBody,
    Searching,
};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<App> {
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

async fn find(service: App, Asking(principal): Asking, asked: SearchBody, mode: Mode) -> Answer<Found> {
    let params = asked.params(mode)?;
    call_as(service, principal, move |service, principal| {
        let found = service.search(principal, &params)?;
        Ok(Found::of(found.given_twice(service.limits_of(principal))))
    })
    .await
}

/// Finds passages by their words.
#[utoipa::path(get, path = "/search", params(Searching),
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(State(service): State<App>, asking: Asking, asked: Asked) -> Answer<Found> {
    find(service, asking, query(asked)?.into(), Mode::Keyword).await
}

/// Finds passages by their words.
#[utoipa::path(post, path = "/search", request_body = SearchBody,
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search_for(
    State(service): State<App>,
    asking: Asking,
    Fields(asked): Fields<SearchBody>,
) -> Answer<Found> {
    find(service, asking, asked, Mode::Keyword).await
}

/// Finds passages by their meaning.
#[utoipa::path(get, path = "/vsearch", params(Searching),
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn vsearch(State(service): State<App>, asking: Asking, asked: Asked) -> Answer<Found> {
    find(service, asking, query(asked)?.into(), Mode::Semantic).await
}

/// Finds passages by their meaning.
#[utoipa::path(post, path = "/vsearch", request_body = SearchBody,
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn vsearch_for(
    State(service): State<App>,
    asking: Asking,
    Fields(asked): Fields<SearchBody>,
) -> Answer<Found> {
    find(service, asking, asked, Mode::Semantic).await
}

/// Finds passages by their words and their meaning.
#[utoipa::path(get, path = "/query", params(Searching),
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn hybrid(State(service): State<App>, asking: Asking, asked: Asked) -> Answer<Found> {
    find(service, asking, query(asked)?.into(), Mode::Hybrid).await
}

/// Finds passages by their words and their meaning.
#[utoipa::path(post, path = "/query", request_body = SearchBody,
    responses((status = 200, body = Found), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn hybrid_for(
    State(service): State<App>,
    asking: Asking,
    Fields(asked): Fields<SearchBody>,
) -> Answer<Found> {
    find(service, asking, asked, Mode::Hybrid).await
}

/// Lists passages, of the newest notes first.
#[utoipa::path(get, path = "/browse", params(Browsing),
    responses((status = 200, body = Page), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn browse(
    State(service): State<App>,
    Asking(principal): Asking,
    asked: Result<Query<Browsing>, QueryRejection>,
) -> Answer<Page> {
    let asked = query(asked)?;
    let params = asked.params()?;
    call_as(service, principal, move |service, principal| {
        service.browse(principal, &params).map(|found| Page::of(found, &params))
    })
    .await
}

/// The collections, by name.
#[utoipa::path(get, path = "/collections",
    responses((status = 200, body = Vec<NamedCollection>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn collections(State(service): State<App>, Asking(principal): Asking) -> Answer<Vec<NamedCollection>> {
    call_as(service, principal, |service, principal| service.stats(principal).map(NamedCollection::all)).await
}

/// Embeds `text`, or keeps `content` as `/ingest` does.
#[utoipa::path(post, path = "/embed", request_body = Embed,
    responses((status = 200, body = EmbedAnswer), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn embed(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(asked): Fields<EmbedBody>,
) -> Answer<EmbedAnswer> {
    let asked = asked.read()?;
    call_as(service, principal, move |service, principal| match asked {
        Embed::Text(asked) => service.embed(&asked.text, asked.kind()).map(EmbedAnswer::Embedded),
        Embed::Keep(asked) => service.keep(principal, &asked.params()?).map(EmbedAnswer::Kept),
    })
    .await
}

/// Keeps a text: the person's as a note, an agent's in its own memory. Answers when it can be found.
#[utoipa::path(post, path = "/ingest", request_body = Ingest,
    responses((status = 200, body = Saved), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn ingest(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(asked): Fields<Ingest>,
) -> Answer<Saved> {
    let params = asked.params()?;
    call_as(service, principal, move |service, principal| service.keep(principal, &params)).await
}

/// Deletes the passage with a hash, or the note; for an agent, a passage of its own memory. Answers when it can no longer be found.
#[utoipa::path(post, path = "/delete-chunk", request_body = Named,
    responses((status = 200, body = Deleted), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete_chunk(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(asked): Fields<Named>,
) -> Answer<Deleted> {
    let hash = asked.hash()?;
    call_as(service, principal, move |service, principal| service.drop_passage(principal, &hash).map(Deleted::of)).await
}
