//! `multi_get`: several notes and passages at once.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::get::{self, MOST_BYTES, Text, Window, read};
use super::tools::{About, Effect, Entry, Told};
use crate::access::Principal;
use crate::service::{ListingParams, Service, ServiceError};

/// Names in one call at most.
const MOST_NAMES: usize = 50;

/// What one answer may hold at most, in bytes.
const MOST_BYTES_IN_ALL: usize = 200_000;

/// What to get.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Hashes, paths (`notes/api.md`, `notes/api.md:42`) and URIs (`vault://notes/api.md`), each as `get` takes it. Either this
    /// or `glob`.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 50)]
    what: Option<Vec<String>>,
    /// The notes whose paths match: `daily/2026-01-*.md`. `*` stays within a folder, `**` does not.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 1024)]
    glob: Option<String>,
    /// How many lines to get of each note at most.
    #[serde(default)]
    #[schema(minimum = 1)]
    lines: Option<usize>,
    /// Bytes of text in all at most; 50,000 when it is not said.
    #[serde(default)]
    #[schema(minimum = 1000, maximum = 200000)]
    max_bytes: Option<usize>,
}

/// What there was.
#[derive(Debug, Serialize, ToSchema)]
struct Texts {
    /// The texts, in the order asked for; of a glob in the order of their paths.
    results: Vec<Text>,
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
}

pub(super) fn tool() -> Entry {
    Entry::new(
        About {
            name: "multi_get",
            title: "Read several notes or passages",
            description: "Reads several notes or passages in one call: those in a list of hashes, paths and URIs, or the notes \
                whose paths match a glob. Use it instead of many calls of `get`. Gives their texts with citations, up to \
                `max_bytes` in all; what had no room is in `left_out`, what is not there in `failed`.",
            effect: Effect::Reads,
        },
        run,
    )
}

fn run(service: &Service, principal: &Principal, params: Params) -> Result<Texts, ServiceError> {
    let asked = params.max_bytes.unwrap_or(MOST_BYTES);
    if !(1000..=MOST_BYTES_IN_ALL).contains(&asked) {
        return Err(ServiceError::invalid(format!("`max_bytes` is {asked}; it takes 1000 to {MOST_BYTES_IN_ALL}")));
    }
    let mut room = get::room(service, principal, asked);
    let names = match (params.what, params.glob) {
        (Some(names), None) if (1..=MOST_NAMES).contains(&names.len()) => names,
        (Some(names), None) => {
            return Err(ServiceError::invalid(format!("`what` has {} names; it takes 1 to {MOST_NAMES}", names.len())));
        }
        (None, Some(glob)) => {
            let listing = ListingParams { glob: Some(glob), after: None, limit: MOST_NAMES };
            service.listing(principal, &listing)?.notes.into_iter().map(|note| note.path).collect()
        }
        _ => return Err(ServiceError::invalid("either `what` or `glob` is needed, and not both")),
    };
    let mut texts = Texts { results: Vec::new(), failed: Vec::new(), left_out: Vec::new() };
    for what in names {
        if room == 0 {
            texts.left_out.push(what);
            continue;
        }
        let window = Window { line: None, lines: params.lines, bytes: room.min(MOST_BYTES) };
        match read(service, principal, &what, window) {
            // The first is given in part, so that something is given.
            Ok(text) if texts.results.is_empty() || (!text.is_cut() && text.text.len() <= room) => {
                room = room.saturating_sub(text.text.len());
                texts.results.push(text);
            }
            Ok(_) => texts.left_out.push(what),
            Err(error) => {
                let error = error.told_to(principal);
                texts.failed.push(Failed { what, code: error.kind.code().into(), message: error.message });
            }
        }
    }
    Ok(texts)
}
