//! The page of a query server: a form, hits and notes as HTML, without scripts. The browser asks for the token as for a password, and keeps it.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::ask::{ApiError, blocking, query};
use super::query::{CopiedNote, QueryServer, VaultsQuery, VaultsResponse, token_of};
use super::share::{document, escaped};
use crate::access::rules::Token;
use crate::serve::wire::percent_encode;

/// Nothing runs or is loaded, and the form leads here.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// What the page shows: what is looked for, or a note.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct PageQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    vault: String,
    path: Option<String>,
}

/// The page.
pub(super) async fn page(
    State(server): State<Arc<QueryServer>>,
    headers: HeaderMap,
    params: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let params = query(params)?;
    let shown = match token_of(&headers) {
        Ok(token) => blocking(move || shown(&server, &token, &params)).await?,
        Err(missing) => Err(missing),
    };
    let (status, html) = match shown {
        Ok(html) => (StatusCode::OK, html),
        Err(error) => (error.status(), format!("<p role=alert>{}</p>", escaped(error.message()))),
    };
    let mut response = (status, document("vault", &html, POLICY)).into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"a token as password\""));
    }
    Ok(response)
}

fn shown(server: &QueryServer, token: &Token, params: &PageQuery) -> Result<String, ApiError> {
    let vaults = server.vaults(token)?;
    let option = |name: &String| {
        let (name, selected) = (escaped(name), if *name == params.vault { " selected" } else { "" });
        format!("<option value=\"{name}\"{selected}>{name}</option>")
    };
    let mut html = format!(
        "<form><input type=search name=q aria-label=\"Search\" value=\"{}\" autofocus> <select name=vault aria-label=\"Vault\">\
         <option value=\"\">all vaults</option>{}</select> <button>Search</button></form>",
        escaped(&params.q),
        vaults.iter().map(option).collect::<String>(),
    );
    if let Some(path) = &params.path {
        html += &note(&server.note(token, &params.vault, path)?);
    } else if !params.q.trim().is_empty() {
        let vaults = Some(params.vault.clone()).filter(|vault| !vault.is_empty());
        let found = server.search(token, &VaultsQuery { q: params.q.clone(), vaults, ..VaultsQuery::default() })?;
        html += &hits(&found);
    }
    Ok(html)
}

fn hits(found: &VaultsResponse) -> String {
    let mut html = match found.results.len() {
        0 => "<p role=status>Nothing found.</p>".to_owned(),
        1 => "<p role=status>1 passage</p>".to_owned(),
        many => format!("<p role=status>{many} passages</p>"),
    };
    html += &found.degraded.as_deref().map_or_else(String::new, |why| format!("<p>{}</p>", escaped(why)));
    for hit in &found.results {
        let (vault, chunk) = (&hit.vault, &hit.hit.chunk);
        let address = format!("/?vault={}&amp;path={}", percent_encode(vault), percent_encode(&chunk.path));
        html += &format!(
            "<article><h2><a href=\"{address}\">{}</a></h2><p>{}</p><footer>{} · {}</footer></article>",
            escaped(&chunk.title),
            escaped(&hit.hit.snippet),
            escaped(vault),
            escaped(&chunk.citation),
        );
    }
    html
}

fn note(note: &CopiedNote) -> String {
    let passages = note.passages.iter().map(|passage| format!("<pre>{}</pre>", escaped(passage.content.trim_end())));
    let cut = note.cut.then_some("There is more of this note than is given at a time.");
    let lacks = cut.into_iter().chain(note.degraded.as_deref()).map(|why| format!("<p>{}</p>", escaped(why)));
    format!(
        "<h1>{}</h1>{}{}<footer>{} · {} · {}</footer>",
        escaped(&note.title),
        lacks.collect::<String>(),
        passages.collect::<String>(),
        escaped(&note.vault),
        escaped(&note.path),
        note.updated_at.split('T').next().unwrap_or_default(),
    )
}
