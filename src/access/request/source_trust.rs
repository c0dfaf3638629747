//! By whose word at most something is known that was learned from a note.

use std::collections::HashSet;

use crate::index::engine::{FileEntry, FileTable};
use crate::text::derive::Label;
use crate::text::derive::entries::{TrustLevel, source_path};

/// What a note says of itself that is of others, and how far it is trusted then.
const SAID: [(&str, TrustLevel); 4] = [
    ("web", TrustLevel::Web),
    ("untrusted", TrustLevel::Web),
    ("tool", TrustLevel::Tool),
    ("agent", TrustLevel::Agent),
];

/// Collections of what programs noted, in which nobody said anything, and how far each is trusted.
const NOTED: [(&str, TrustLevel); 5] = [
    ("bookmarks", TrustLevel::Web),
    ("snippets", TrustLevel::Tool),
    ("searches", TrustLevel::Tool),
    ("files", TrustLevel::Tool),
    ("agent-activity", TrustLevel::Tool),
];
/// Speakers of conversations that are no people and no models.
pub(crate) const SPEAKING_TOOLS: [&str; 3] = ["tool", "system", "function"];
/// Where the digests of days and weeks are.
const DIGESTS: [&str; 2] = ["summaries/days/", "summaries/weeks/"];

/// How far a place may be trusted, `notes/api.md#L12`: as the least trusted of its note and of all that this was made of. A document is of
/// others, and what a program captured of the web or of other programs. Of what is not indexed nothing is known against it.
///
/// Hidden notes count as well: nobody but the person is told.
pub(crate) fn trust_of_place(files: &FileTable, place: &str) -> TrustLevel {
    files.at(source_path(place)).map_or(TrustLevel::Person, |file| trust_of_note(files, file))
}

/// The same of a note. A digest says of what programs noted how much there is, and nothing of what it says.
pub(crate) fn trust_of_note(files: &FileTable, file: &FileEntry) -> TrustLevel {
    let is_digest = DIGESTS.iter().any(|folder| file.path.as_str().starts_with(folder));
    let trust = |file: &FileEntry| match captured(file) {
        Some(_) if is_digest => said(file).unwrap_or(TrustLevel::Person),
        captured => said(file).or(captured).unwrap_or_else(|| by_kind(file)),
    };
    with_sources(files, file).into_iter().map(trust).min().unwrap_or(TrustLevel::Person)
}

/// Whether others may have put into a note what it says: it is of the web or of tools, was captured and nobody vouches for it, or a tool
/// speaks in it.
pub(super) fn may_be_planted(files: &FileTable, file: &FileEntry) -> bool {
    let by_tool = || SPEAKING_TOOLS.iter().any(|term| has(file, Label::of_speaker(term)));
    let is_captured = || has(file, Label::of_capture()) && said(file) != Some(TrustLevel::Person);
    trust_of_note(files, file) <= TrustLevel::Tool || is_captured() || by_tool()
}

/// A file, and all that it was made of, as far as that is indexed.
pub(crate) fn with_sources<'f>(files: &'f FileTable, file: &'f FileEntry) -> Vec<&'f FileEntry> {
    let (mut all, mut known) = (vec![file], HashSet::from([file.id]));
    let mut at = 0;
    while let Some(file) = all.get(at).copied() {
        let sources = file.sources.iter().filter_map(|source| files.at(source)).map(AsRef::as_ref);
        all.extend(sources.filter(|source| known.insert(source.id)));
        at += 1;
    }
    all
}

/// How far a file is trusted by what it is.
fn by_kind(file: &FileEntry) -> TrustLevel {
    if file.path.is_document() { TrustLevel::Web } else { TrustLevel::Person }
}

/// How far a file says that it is to be trusted.
fn said(file: &FileEntry) -> Option<TrustLevel> {
    let says = |value: &str| has(file, Label::of_property("trust", Some(value)));
    let less = SAID.into_iter().filter(|(word, _)| says(word)).map(|(_, trust)| trust).min();
    less.or_else(|| says("person").then_some(TrustLevel::Person))
}

/// How far what a program captured is trusted: a page of the web as such, wherever the person has moved it.
fn captured(file: &FileEntry) -> Option<TrustLevel> {
    let noted = || NOTED.into_iter().find(|(collection, _)| *collection == file.path.collection());
    if !has(file, Label::of_capture()) {
        return None;
    }
    match has(file, Label::of_property("url", None)) {
        true => Some(TrustLevel::Web),
        false => noted().map(|(_, trust)| trust),
    }
}

fn has(file: &FileEntry, label: Label) -> bool {
    file.labels.binary_search(&label).is_ok()
}
