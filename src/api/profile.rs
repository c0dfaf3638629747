//! The routes of the profile, for the person.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post, put};

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::profile;
use crate::request::Owner;
use crate::wire::{ProfileMade, ProfileView, UserSet, UserSetParams};

/// The routes.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/profile", get(show))
        .route("/api/profile/user", put(set_user))
        .route("/api/profile/regenerate", post(regenerate))
}

/// The profile: what is always given, `USER.md`, and the page that is made of entries and facts.
#[utoipa::path(get, path = "/api/profile",
    responses((status = 200, body = ProfileView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn show(State(app): State<AppState>, asking: Asking) -> Answer<ProfileView> {
    ask(app, asking, |owner: &Owner| profile::profile(owner)).await
}

/// Writes into the frontmatter of `USER.md`, unless `[memory] user_profile_write_mode` is `off`.
#[utoipa::path(put, path = "/api/profile/user", request_body = UserSetParams,
    responses((status = 200, body = UserSet), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn set_user(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<UserSetParams>,
) -> Answer<UserSet> {
    ask(app, asking, move |owner: &Owner| profile::set_user(owner, &params)).await
}

/// Makes the page anew, unless a person wrote or edited it.
#[utoipa::path(post, path = "/api/profile/regenerate",
    responses((status = 200, body = ProfileMade), (status = 409, body = ErrorBody), (status = "4XX", body = ErrorBody),
        (status = 503, body = ErrorBody)))]
pub(super) async fn regenerate(State(app): State<AppState>, asking: Asking) -> Answer<ProfileMade> {
    ask(app, asking.seeing_saves(), |owner: &Owner| profile::regenerate(owner)).await
}
