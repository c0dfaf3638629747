//! Who may read the history of facts, which is in no index.

use super::Viewer;
use crate::access::{Principal, Subject, is_agents};
use crate::note::Note;
use crate::path::VaultPath;
use crate::vault::globs;

/// Maximum length of the head in which a history without frontmatter is looked at, in characters.
const MAX_HEAD_CHARS: usize = 4096;

/// Whether who asks may read a file of a history, by its place and its frontmatter: it is in no index.
pub(crate) fn gives_history(viewer: &Viewer, path: &VaultPath) -> bool {
    let (workspace, Principal::Agent(caller)) = (viewer.workspace(), viewer.principal()) else { return true };
    if !workspace.on_disk(path).exists() {
        return true;
    }
    let Ok(source) = workspace.source(path) else { return false };
    let note = Note::parse(head(&source.text), path.stem());
    let by_place = globs("access.private", &workspace.config().access.private);
    let private = note.is_private() || by_place.map_or(true, |globs| globs.is_match(path.as_str()));
    let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private };
    match (is_agents(path.as_str()), &caller.policy.grant) {
        (true, _) => !private,
        (false, grant) => grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none()),
    }
}

/// The frontmatter of a history, or its first lines: the rest is the program's.
fn head(text: &str) -> &str {
    let closed = text.find("\n---\n").filter(|_| text.starts_with("---")).map(|at| at + "\n---\n".len());
    let first = || text.char_indices().map(|(at, _)| at).nth(MAX_HEAD_CHARS).unwrap_or(text.len());
    &text[..closed.unwrap_or_else(first)]
}
