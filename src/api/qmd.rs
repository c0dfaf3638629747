//! The addresses and shapes of `qmd serve`, so that a program made for it finds the vault where it looks for its index.
//!
//! They are lenient where such programs differ: fields that are not known are passed over.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

pub(super) mod ingest;
pub(super) mod shapes;

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::endpoint::{Asked, wants_fresh};
use super::error::ErrorBody;
use crate::config::Mode;
use crate::request::{RequestError, Viewer};
use crate::{jobs, notes};
use shapes::{Embed, EmbedAnswer, EmbedBody, NamedCollection, QmdFound, SearchBody};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/collections", get(collections)).route("/embed", post(embed))
}

/// What a search of one of the three kinds finds.
pub(super) fn find<P: Into<SearchBody>>(a: Asked<'_, Viewer, P>, mode: Mode) -> Result<QmdFound, RequestError> {
    let is_local = a.is_local;
    let mut params = a.params.into().params(mode)?;
    params.fresh = wants_fresh(params.fresh, is_local);
    notes::search_for_both_shapes(a.role, &params).map(QmdFound::of)
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
