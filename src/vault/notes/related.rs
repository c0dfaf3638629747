//! The notes near a note.

use super::links::{led_to, links_between};
use crate::access::request::{LinkTargets, ReadScope, RequestError, Viewer, limit, read_seen, rfc3339};
use crate::base::config::Mode;
use crate::index::engine::FileEntry;
use crate::index::search::{Highlighter, Related, RelatedChunk, RelatedRequest, snippet};
use crate::index::sync::ModelStatus;
use crate::serve::wire::{Linked, RelatedNote, RelatedParams, RelatedView, passage_citation};
use crate::vault::attachments::page_of;

/// The notes near a note, of those that are seen; that note itself is none.
///
/// # Errors
/// When no note that is seen has the path, it has no such line, or the index cannot be read.
pub fn related(viewer: &Viewer, params: &RelatedParams) -> Result<RelatedView, RequestError> {
    let found = related_to(viewer, params);
    let near = found.as_ref().map(|found| found.results.iter().map(|note| note.citation.clone()).collect());
    viewer.log("related", &params.path, near.unwrap_or_default());
    found
}

fn related_to(viewer: &Viewer, params: &RelatedParams) -> Result<RelatedView, RequestError> {
    let config = &viewer.workspace().config().search;
    let limit = limit(params.limit, config.limit)?;
    // What has changed since it was indexed is hidden before anything is compared.
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let (file, source) = read_seen(&scope, &params.path)?;
    if params.line == Some(0) {
        return Err(RequestError::invalid("`line` is 0; lines are counted from 1"));
    }
    let request = RelatedRequest { file, line: params.line, limit, turn: scope.turn() };
    let found = scope.related(&request)?;
    let targets = LinkTargets::of(&scope);
    let out = led_to(&targets, file, &source);
    let linking = targets.linking_to(&targets.names(file));
    let mut highlighter = Highlighter::new("", config.stemmer);
    let chars = scope.snippet_chars(config.max_snippet_chars);
    let mut room = scope.room();
    let mut results = Vec::with_capacity(found.notes.len());
    for RelatedChunk { file: near, chunk, score } in &found.notes {
        let leads = out.iter().any(|file| file.id == near.id);
        let is_led =
            linking.iter().any(|file| file.id == near.id) && !links_between(&scope, &targets, near, file)?.is_empty();
        let body = chunk.text.get(chunk.body_start..).map(str::trim).filter(|body| !body.is_empty());
        let snippet = snippet(body.unwrap_or(&chunk.text), &mut highlighter, chars);
        let names = chunk.heading_path.iter().chain([&near.title, &snippet]);
        if !room.take(names.map(|text| text.chars().count()).sum()) {
            break;
        }
        let page = page_of(near.path.as_str(), &chunk.heading_path);
        results.push(RelatedNote {
            path: near.path.to_string(),
            title: near.title.clone(),
            heading_path: chunk.heading_path.clone(),
            snippet,
            line_start: chunk.lines.0,
            line_end: chunk.lines.1,
            citation: passage_citation(near.path.as_str(), page, chunk.lines.0, chunk.lines.1),
            updated_at: rfc3339(near.updated_ms),
            score: (score * 1000.0).round() / 1000.0,
            linked: match (leads, is_led) {
                (true, true) => Some(Linked::Both),
                (true, false) => Some(Linked::Out),
                (false, true) => Some(Linked::In),
                (false, false) => None,
            },
        });
    }
    let degraded = lacks(&scope, file, &found);
    Ok(RelatedView { path: file.path.to_string(), mode: found.mode, results, degraded })
}

/// Why the answer is less than it could be. To an agent no more than that.
fn lacks(scope: &ReadScope, file: &FileEntry, found: &Related) -> Option<String> {
    if let Some(reason) = &found.damage {
        return Some(match scope.is_agents() {
            true => "some passages cannot be shown now".into(),
            false => format!("some passages cannot be shown ({reason}); the index is being checked and repaired"),
        });
    }
    let (embedded, of) = scope.embedded();
    match found.mode {
        Mode::Keyword if scope.is_agents() => Some("compared by words alone".into()),
        Mode::Keyword => Some(match scope.workspace().shared().progress().model {
            ModelStatus::Off => "compared by words alone: `embed.model` is \"none\"".into(),
            ModelStatus::Failed(reason) => format!("compared by words alone: {reason}"),
            ModelStatus::Loading => "compared by words alone: the model is loading".into(),
            ModelStatus::Ready { .. } if !file.chunks.iter().any(|chunk| scope.reader().is_embedded(chunk.row)) => {
                "compared by words alone: the note is not embedded yet".into()
            }
            ModelStatus::Ready { .. } => "compared by words alone: no other note is embedded".into(),
        }),
        Mode::Semantic | Mode::Hybrid | Mode::Deep if embedded < of => Some(match scope.is_agents() {
            true => "some notes are not compared yet".into(),
            false => format!("{embedded} of {of} passages are embedded so far; the others are not compared"),
        }),
        Mode::Semantic | Mode::Hybrid | Mode::Deep => None,
    }
}
