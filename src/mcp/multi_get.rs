//! `multi_get`: several notes and passages at once.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::get::{self, MOST_BYTES, NoteText, Window, read};
use super::search::DATA;
use super::tool::{About, Effect, Told, ToolEntry, count};
use crate::app::App;
use crate::notes;
use crate::request::{RequestError, Viewer};
use crate::wire::ListingParams;

/// Maximum number of notes that a glob gives, as many as may be named.
const MOST_NAMES: usize = 50;

/// What to get.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MultiGetParams {
    /// Hashes, paths and URIs, as for `get`.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 50)]
    what: Option<Vec<String>>,
    /// Instead: `daily/2026-01-*.md`, where `**` crosses folders.
    #[serde(default)]
    #[schema(min_length = 1)]
    glob: Option<String>,
    /// Of each note at most.
    #[serde(default)]
    #[schema(minimum = 1)]
    lines: Option<usize>,
    /// In all, 50000 if not said.
    #[serde(default)]
    #[schema(minimum = 1000, maximum = 200000)]
    max_bytes: Option<usize>,
}

/// What there was.
#[derive(Debug, Serialize, ToSchema)]
struct Texts {
    /// The texts, in the order asked for; of a glob in the order of their paths.
    results: Vec<NoteText>,
    /// What could not be had, and why.
    failed: Vec<Failed>,
    /// What there was no room for; ask for it again.
    left_out: Vec<String>,
}

/// What could not be had.
#[derive(Debug, Serialize, ToSchema)]
struct Failed {
    /// What was asked for.
    what: String,
    /// A word for programs.
    code: String,
    /// A sentence.
    message: String,
}

impl Told for Texts {
    fn text(&self) -> String {
        let mut text: String = self.results.iter().map(|result| result.text() + "\n---\n\n").collect();
        if self.results.is_empty() {
            text += "No such notes.\n";
        }
        for failed in &self.failed {
            text += &format!("{}: {}: {}\n", failed.what, failed.code, failed.message);
        }
        if !self.left_out.is_empty() {
            text += &format!("There was no room for: {}\n", self.left_out.join(", "));
        }
        text
    }

    fn line(&self) -> String {
        let more = [(self.failed.len(), "could not be had"), (self.left_out.len(), "had no room")];
        let more = more.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!(", {number} {what}"));
        format!("{}{}. {DATA}", count(self.results.len(), "text"), more.collect::<String>())
    }
}

pub(super) fn tool() -> ToolEntry {
    ToolEntry::new(
        About {
            name: "multi_get",
            title: "Read several notes or passages",
            description: "Reads several notes or passages in one call: a list, or the notes whose paths match a glob. What had no \
                room is in `left_out`, what is not there in `failed`.",
            effect: Effect::Reads,
        },
        run,
    )
}

fn run(_: &App, viewer: &Viewer, params: MultiGetParams) -> Result<Texts, RequestError> {
    let asked = params.max_bytes.unwrap_or(MOST_BYTES);
    let mut room = get::room(viewer, asked);
    let names = match (params.what, params.glob) {
        (Some(names), None) => names,
        (None, Some(glob)) => {
            let listing = ListingParams { glob: Some(glob), after: None, limit: MOST_NAMES };
            notes::listing(viewer, &listing)?.notes.into_iter().map(|note| note.path).collect()
        }
        _ => return Err(RequestError::invalid("either `what` or `glob` is needed, and not both")),
    };
    let mut texts = Texts { results: Vec::new(), failed: Vec::new(), left_out: Vec::new() };
    for what in names {
        if room == 0 {
            texts.left_out.push(what);
            continue;
        }
        let window = Window { line: None, lines: params.lines, page: None, bytes: room.min(MOST_BYTES) };
        match read(viewer, &what, window) {
            // The first is given in part, so that something is given.
            Ok(text) if texts.results.is_empty() || (!text.is_cut() && text.bytes() <= room) => {
                room = room.saturating_sub(text.bytes());
                texts.results.push(text);
            }
            Ok(_) => texts.left_out.push(what),
            Err(error) => {
                let error = error.told_to(viewer.principal());
                texts.failed.push(Failed { what, code: error.kind.code().into(), message: error.message });
            }
        }
    }
    Ok(texts)
}
