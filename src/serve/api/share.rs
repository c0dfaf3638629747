//! A shared note, as whoever has its link sees it: HTML without scripts, pictures or the vault's other notes.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use super::ask::{ApiError, AppState, answer, blocking};
use super::auth::Asking;
use crate::access::request::Reader;
use crate::access::rules::Turn;
use crate::access::share::{SHARE, link_of, principal, secret};
use crate::serve::wire::{NoteParams, NoteView};
use crate::text::note::{Element, Node};
use crate::vault::notes::whole_note;

/// Nothing runs, nothing is loaded, and the note is of no origin, so that it has no part in the page of the vault.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = ":root{color-scheme:light dark;font:17px/1.55 system-ui,sans-serif}\
    body{max-width:42rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}\
    pre,table{overflow-x:auto;display:block}pre,code{font-family:ui-monospace,monospace;font-size:.9em}\
    td,th{border:1px solid;padding:.2em .5em}blockquote{border-left:3px solid;margin-left:0;padding-left:1rem}\
    .task.done{opacity:.7}footer{margin-top:3rem;font-size:.8rem;opacity:.7}";

/// Whether a path is that of a shared note.
pub(super) fn is_share(path: &str) -> bool {
    path.starts_with(SHARE)
}

/// The route of shared notes.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/share/{secret}", get(shared))
}

/// What whoever has no link that counts is told, wherever they ask.
pub(super) fn no_share() -> Response {
    let page = document("Not shared", "<h1>Not shared</h1><p>This link has ended, or never was one.</p>", POLICY);
    (StatusCode::NOT_FOUND, page).into_response()
}

async fn shared(State(app): State<AppState>, uri: Uri) -> Result<Response, ApiError> {
    let (of, known) = (secret(uri.path()), Arc::clone(&app));
    let look = move || of.map(|secret| link_of(&known.home, &secret)).transpose();
    let link = match blocking(look).await? {
        Ok(link) => link.flatten(),
        Err(error) => {
            tracing::warn!("a shared note cannot be shown: {error}");
            return Err(ApiError::failed());
        }
    };
    let Some(link) = link else { return Ok(no_share()) };
    let (principal, params) = (principal(&link.path), NoteParams::of(link.path));
    let asking = Asking { principal, turn: Turn::default(), place: None, is_local: false, sees_saves: false };
    match answer(app, asking, move |reader: &Reader| whole_note(reader, &params)).await {
        Ok(note) => Ok(document(&note.title, &html_of(&note), POLICY).into_response()),
        Err(error) => match error.into_response() {
            gone if gone.status() == StatusCode::NOT_FOUND => Ok(no_share()),
            _ => Err(ApiError::failed()),
        },
    }
}

/// A document of this title, under a content security policy.
pub(super) fn document(title: &str, body: &str, policy: &'static str) -> impl IntoResponse + use<> {
    let mut html = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>",
    );
    escape(title, &mut html);
    html.push_str(&format!("</title><style>{STYLE}</style><body>{body}"));
    let headers =
        [(header::CONTENT_SECURITY_POLICY, policy), (HeaderName::from_static("x-robots-tag"), "noindex, nofollow")];
    (headers.map(|(name, value)| (name, HeaderValue::from_static(value))), Html(html))
}

fn html_of(note: &NoteView) -> String {
    let mut html = String::new();
    if !matches!(note.body.first(), Some(Node::Element(first)) if first.tag == "h1") {
        html.push_str("<h1>");
        escape(&note.title, &mut html);
        html.push_str("</h1>");
    }
    note.body.iter().for_each(|node| write_node(node, &mut html));
    let cut = if note.cut { "The note goes on; it is too long to be shown whole. " } else { "" };
    html.push_str(&format!(
        "<footer>{cut}Last changed {}.</footer>",
        note.updated_at.split('T').next().unwrap_or_default()
    ));
    html
}

/// What links may lead to.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// Elements without an end.
const VOID: [&str; 2] = ["br", "hr"];

fn write_node(node: &Node, html: &mut String) {
    let Element { tag, attrs, children, .. } = match node {
        Node::Text(text) => return escape(text, html),
        Node::Element(element) => element,
    };
    // A link into the vault, or to a program, leads nobody anywhere.
    let leads = attrs.get("href").is_some_and(|href| SCHEMES.iter().any(|scheme| href.starts_with(scheme)));
    let tag = if *tag == "a" && !leads { "span" } else { tag };
    html.push('<');
    html.push_str(tag);
    for (name, value) in attrs.iter().filter(|(name, _)| !name.starts_with("data-") && (leads || **name != "href")) {
        html.push_str(&format!(" {name}=\""));
        escape(value, html);
        html.push('"');
    }
    html.push_str(if tag == "a" { " rel=\"noreferrer nofollow\">" } else { ">" });
    if !VOID.contains(&tag) {
        children.iter().for_each(|child| write_node(child, html));
        html.push_str(&format!("</{tag}>"));
    }
}

/// A text as HTML.
#[cfg(feature = "postgres")]
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::new();
    escape(text, &mut html);
    html
}

fn escape(text: &str, html: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
}
