//! The notes that a note was made of.

use serde_json::Map;

use super::entries::{EntriesFile, shelf_of};
use crate::note::{Note, sources};
use crate::path::VaultPath;

/// The notes that a note was made of, by their paths in the vault: those that its frontmatter names, and those that each entry cites, also
/// where a person wrote it. `within` is its path in its folder. In a folder `elsewhere` what is named lies in that folder: a note of the
/// same name in the vault says nothing of how private it is.
pub(crate) fn note_sources(note: &Note, within: &VaultPath, elsewhere: Option<&VaultPath>, text: &str) -> Vec<String> {
    let mut all = sources(&note.metadata);
    if let Some((_, shelf)) = shelf_of(within) {
        let entries = EntriesFile::read(text, shelf).entries;
        let cited: Vec<String> = entries.into_iter().flat_map(|entry| entry.sources).collect();
        all.extend(sources(&Map::from_iter([("sources".to_owned(), cited.into())])));
        all.sort_unstable();
        all.dedup();
    }
    match elsewhere {
        Some(folder) => all.iter().map(|source| format!("{folder}/{source}")).collect(),
        None => all,
    }
}
