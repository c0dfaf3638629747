//! By whose word at most something is known that was learned from a note.

use std::collections::HashSet;

use crate::derive::Label;
use crate::derive::entries::{TrustLevel, source_path};
use crate::engine::{FileEntry, FileTable};

/// What a note says of itself that is of others, and how far it is trusted then.
const SAID: [(&str, TrustLevel); 4] = [
    ("web", TrustLevel::Web),
    ("untrusted", TrustLevel::Web),
    ("tool", TrustLevel::Tool),
    ("agent", TrustLevel::Agent),
];

/// How far a place may be trusted, `notes/api.md#L12`: as the least trusted of its note and of all that this was made of. A document is of
/// others. Of what is not indexed nothing is known against it.
///
/// Hidden notes count as well: nobody but the person is told.
pub(crate) fn trust_of_place(files: &FileTable, place: &str) -> TrustLevel {
    files.at(source_path(place)).map_or(TrustLevel::Person, |file| trust_of_note(files, file))
}

/// The same of a note.
pub(crate) fn trust_of_note(files: &FileTable, file: &FileEntry) -> TrustLevel {
    with_sources(files, file).into_iter().map(trust_of_file).min().unwrap_or(TrustLevel::Person)
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

/// How far a file is trusted by itself.
fn trust_of_file(file: &FileEntry) -> TrustLevel {
    let says = |key: &str, value: &str| file.labels.binary_search(&Label::of_property(key, Some(value))).is_ok();
    if file.path.is_document() {
        return TrustLevel::Web;
    }
    let said = SAID.into_iter().filter(|(word, _)| says("trust", word)).map(|(_, trust)| trust).min();
    said.unwrap_or(TrustLevel::Person)
}
