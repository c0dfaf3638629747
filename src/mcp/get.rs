//! `get`: a note or a passage, or several.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::multi_get::{Texts, several};
use super::note_text::{MOST_BYTES, NoteText, Window, read, room};
use super::tool::{About, Effect, Render, ToolAction, ToolEntry};
use crate::request::{RequestError, Viewer};

/// What to get: `what`, `list` or `glob`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    /// Path, citation or hash: `notes/api.md`, `notes/api.md#L42-L58`, `a.pdf#page=3`.
    #[serde(default)]
    #[schema(min_length = 1)]
    what: Option<String>,
    /// Several of them.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 50)]
    list: Option<Vec<String>>,
    /// `daily/2026-01-*.md`; `**` crosses folders.
    #[serde(default)]
    #[schema(min_length = 1)]
    glob: Option<String>,
    /// The first line.
    #[serde(default)]
    #[schema(minimum = 1)]
    line: Option<usize>,
    /// How many.
    #[serde(default)]
    #[schema(minimum = 1)]
    lines: Option<usize>,
    /// In all; else 50000.
    #[serde(default)]
    #[schema(minimum = 1000, maximum = 200000)]
    max_bytes: Option<usize>,
}

/// What there was.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum GotTexts {
    One(NoteText),
    Many(Texts),
}

impl Render for GotTexts {
    fn text(&self) -> String {
        match self {
            Self::One(text) => text.text(),
            Self::Many(texts) => texts.text(),
        }
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "get",
        title: "Read notes",
        description: "Reads a note or passage by the path or citation that a search gave, whole or from a line on; several at once by `list` \
            or a pattern (`glob`). Read the lines around a hit before you rely on it.",
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, |_, viewer: &Viewer, args| get(viewer, args))])
}

fn get(viewer: &Viewer, args: GetArgs) -> Result<GotTexts, RequestError> {
    let GetArgs { what, list, glob, line, lines, max_bytes } = args;
    let bytes = max_bytes.unwrap_or(MOST_BYTES);
    match (what, list, glob) {
        (Some(what), None, None) => {
            let window = Window { line, lines, page: None, bytes: room(viewer, bytes.min(MOST_BYTES)) };
            read(viewer, &what, window).map(GotTexts::One)
        }
        (None, ..) if line.is_some() => Err(RequestError::invalid("`line` goes with `what`")),
        (None, Some(names), None) => several(viewer, names, lines, bytes).map(GotTexts::Many),
        (None, None, Some(glob)) => {
            let names = super::multi_get::matching(viewer, glob)?;
            several(viewer, names, lines, bytes).map(GotTexts::Many)
        }
        _ => Err(RequestError::invalid("give `what`, `list` or `glob`, and no two of them")),
    }
}
