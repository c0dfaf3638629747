//! `fetch`: a whole note, in the shape that ChatGPT looks for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::note_text::{MOST_BYTES, NoteText, Window, read, room};
use super::refs::Reference;
use super::tool::{About, Effect, Render, ToolAction, ToolEntry};
use crate::request::{RequestError, Viewer};

/// What to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FetchArgs {
    /// As search gave it.
    #[schema(min_length = 1)]
    id: String,
}

/// A document.
#[derive(Debug, Serialize)]
struct FetchedNote {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: FetchedMetadata,
}

/// What else is known of it: texts alone.
#[derive(Debug, Serialize)]
struct FetchedMetadata {
    citation: String,
    updated_at: String,
    /// The `id` of what follows, where it is too long for one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_id: Option<String>,
}

impl Render for FetchedNote {
    /// JSON in any case, as only the client for which it is there looks for this tool.
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "fetch",
        title: "Fetch",
        description: "For ChatGPT: the whole document of an `id` that search gave, as JSON. Others use get instead.",
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, |_, viewer: &Viewer, args| fetch(viewer, args))])
}

fn fetch(viewer: &Viewer, FetchArgs { id }: FetchArgs) -> Result<FetchedNote, RequestError> {
    let window = |line| Window { line, lines: None, page: None, bytes: room(viewer, MOST_BYTES) };
    let note = match Reference::parse(&id)? {
        Reference::Note(path, Some((first, _))) => match read(viewer, &path, window(None))? {
            // What was found is to be in it.
            whole if whole.is_cut() => read(viewer, &path, window(Some(first)))?,
            whole => whole,
        },
        Reference::Note(_, None) | Reference::Hash(_) => read(viewer, &id, window(None))?,
    };
    let NoteText { citation, path, uri, title, updated_at, text, next_line, .. } = note;
    let next_id = next_line.map(|line| format!("{path}#L{line}"));
    Ok(FetchedNote { id, title, text, url: uri, metadata: FetchedMetadata { citation, updated_at, next_id } })
}
