//! Several notes and passages at once.

use serde::Serialize;

use super::note_text::{MOST_BYTES, NoteText, Window, read, room};
use super::tool::{DATA, Render, count};
use crate::notes;
use crate::request::{RequestError, Viewer};
use crate::wire::ListingParams;

/// Maximum number of notes that a glob gives, as many as may be named.
const MOST_NAMES: usize = 50;

/// What there was.
#[derive(Debug, Serialize)]
pub(super) struct Texts {
    /// The texts, in the order asked for; of a glob in the order of their paths.
    results: Vec<NoteText>,
    /// What could not be had, and why.
    failed: Vec<Failed>,
    /// What there was no room for; ask for it again.
    left_out: Vec<String>,
}

/// What could not be had.
#[derive(Debug, Serialize)]
struct Failed {
    /// What was asked for.
    what: String,
    /// A word for programs.
    code: String,
    /// A sentence.
    message: String,
}

impl Render for Texts {
    fn text(&self) -> String {
        let more = [(self.failed.len(), "could not be had"), (self.left_out.len(), "had no room")];
        let more = more.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!(", {number} {what}"));
        let mut text = format!("{}{}. {DATA}\n\n", count(self.results.len(), "text"), more.collect::<String>());
        text.extend(self.results.iter().map(|result| result.body() + "\n---\n\n"));
        for failed in &self.failed {
            text += &format!("{}: {}: {}\n", failed.what, failed.code, failed.message);
        }
        if !self.left_out.is_empty() {
            text += &format!("There was no room for: {}\n", self.left_out.join(", "));
        }
        text
    }
}

/// The paths that match a glob, the first fifty of them.
pub(super) fn matching(viewer: &Viewer, glob: String) -> Result<Vec<String>, RequestError> {
    let listing = ListingParams { glob: Some(glob), after: None, limit: MOST_NAMES };
    Ok(notes::listing(viewer, &listing)?.notes.into_iter().map(|note| note.path).collect())
}

/// Reads what a caller names, as far as there is room.
pub(super) fn several(
    viewer: &Viewer,
    names: Vec<String>,
    lines: Option<usize>,
    max_bytes: usize,
) -> Result<Texts, RequestError> {
    let mut left = room(viewer, max_bytes);
    let mut texts = Texts { results: Vec::new(), failed: Vec::new(), left_out: Vec::new() };
    for what in names {
        if left == 0 {
            texts.left_out.push(what);
            continue;
        }
        let window = Window { line: None, lines, page: None, bytes: left.min(MOST_BYTES) };
        match read(viewer, &what, window) {
            // The first is given in part, so that something is given.
            Ok(text) if texts.results.is_empty() || (!text.is_cut() && text.bytes() <= left) => {
                left = left.saturating_sub(text.bytes());
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
