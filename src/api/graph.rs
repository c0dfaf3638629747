//! The route of the graph of notes.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::get;

use super::ask::{Answer, AppState, ask, query};
use super::caller::Asking;
use super::error::ErrorBody;
use crate::graph;
use crate::request::Viewer;
use crate::wire::{GraphParams, GraphView};

/// The route, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/graph", get(notes_around))
}

/// What is around a note, the relations of a name, or the notes of a type.
#[utoipa::path(get, path = "/api/graph", params(GraphParams),
    responses((status = 200, body = GraphView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn notes_around(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<GraphParams>, QueryRejection>,
) -> Answer<GraphView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| graph::graph(viewer, &params)).await
}
