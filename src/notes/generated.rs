//! Pages that the program has made of what goes for good: they go whole, and what of them is remembered as forgotten is what cites that.

use std::path::Path;

use blake3::Hash;

use super::derived::{GoingPlace, derived, is_of};
use crate::derive::generated::GeneratedNote;
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, note_path};
use crate::vault::{Action, Files, WriteError};
use crate::wire::DerivedNote;

/// Folders below which the program writes such pages.
const FOLDERS: [&str; 2] = ["summaries", "profile"];

/// Whether the program has made a note, and nobody has edited it since.
pub(super) fn is_only_generated(owner: &Owner, path: &str) -> bool {
    let path = note_path(path).ok().filter(|path| !path.is_document());
    let source = path.and_then(|path| owner.workspace().source(&path).ok());
    source.is_some_and(|source| is_nobodys(&source.text))
}

fn is_nobodys(text: &str) -> bool {
    GeneratedNote::read(text).is_some_and(|note| !note.is_edited)
}

/// What the lines of a generated page say that cite what goes, without what they cite. The others were made of what stays.
pub(super) fn citing(page: &VaultPath, text: &str, place: GoingPlace<'_>) -> Vec<String> {
    let body = Note::parse(text, page.stem()).body;
    text[body].lines().filter_map(|line| said_of(line, place)).collect()
}

/// What a line says, if it cites what goes: `- Buy rye (conversations/a.md#L3)`, `- Likes tea. ^[notes/a.md#L7]`.
fn said_of(line: &str, (path, lines): GoingPlace<'_>) -> Option<String> {
    let cites = |at: &usize| {
        let rest = &line[at + path.as_str().len()..];
        let end = rest.find([')', ']', ',', ';', ' ']).unwrap_or(rest.len());
        is_of(&format!("{path}{}", &rest[..end]), path, lines)
    };
    let at = line.match_indices(path.as_str()).map(|(at, _)| at).find(cites)?;
    let before = &line[..at];
    let end = before.find(" ^[").or_else(|| before.rfind(" (")).unwrap_or(at);
    Some(line[..end].trim_end().to_owned())
}

/// Adds the generated pages that name a note as one of their sources and that the index does not know yet: one that was made a moment ago goes, too.
///
/// # Errors
/// When the index or the disk refuses.
pub(super) fn add_unindexed(owner: &Owner, of: &VaultPath, made: &mut Vec<DerivedNote>) -> Result<(), RequestError> {
    let (workspace, scope) = (owner.workspace(), owner.now()?);
    let files = workspace.files()?;
    let is_indexed =
        |page: &VaultPath| scope.reader().files().at(page.as_str()).is_some_and(|file| workspace.has_stamp(file));
    // One that cannot be read is in nobody's way.
    let is_made = |page: &VaultPath| matches!(made_from(files, page, of), Ok(Some(_)));
    for page in pages(workspace.home().root()) {
        let is_known = made.iter().any(|known| page.same_as(&known.path));
        if page != *of && !is_known && !is_indexed(&page) && is_made(&page) {
            made.push(derived(page.to_string()));
        }
    }
    Ok(())
}

/// Removes the generated pages that name a note as one of their sources, with all that is kept of them: nobody has made them anew yet.
///
/// # Errors
/// When the disk refuses.
pub(super) fn remove_made_of(files: &Files, root: &Path, of: &VaultPath) -> Result<(), WriteError> {
    for page in pages(root) {
        if let Some(hash) = made_from(files, &page, of)? {
            files.trash_as(&page, hash, Action::Trash.done_by("purge"))?;
            files.purge(&page)?;
        }
    }
    Ok(())
}

/// What is in the folders of generated pages.
fn pages(root: &Path) -> Vec<VaultPath> {
    let (mut folders, mut found) = (FOLDERS.map(str::to_owned).to_vec(), Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(path),
                false => found.extend(VaultPath::new(path)),
            }
        }
    }
    found
}

/// The hash of a page that was generated of a note, and that nobody has edited.
fn made_from(files: &Files, page: &VaultPath, of: &VaultPath) -> Result<Option<Hash>, WriteError> {
    if files.check(page).is_err() {
        return Ok(None);
    }
    let Some((bytes, hash)) = files.read(page)? else { return Ok(None) };
    let made = std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read).filter(|made| !made.is_edited);
    Ok(made.filter(|made| made.sources().iter().any(|source| of.same_as(source))).map(|_| hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_page_what_cites_what_goes_is_remembered() {
        let page = VaultPath::new("summaries/a.md").unwrap();
        let path = VaultPath::new("conversations/my talk.md").unwrap();
        let text = "---\ngenerated: true\n---\n\n## In short\n\n- Buy rye (conversations/my talk.md#L3)\n- Bake (it) (conversations/b.md#L3, \
                    conversations/my talk.md#L7-L9)\n- Likes tea. ^[memories/user.md#^e-1] ^[conversations/my talk.md#L3]\n- Other (conversations/my talk.md)\n";
        assert_eq!(citing(&page, text, (&path, Some((3, 3)))), ["- Buy rye", "- Likes tea."]);
        assert_eq!(citing(&page, text, (&path, Some((8, 8)))), ["- Bake (it)"]);
        assert_eq!(citing(&page, text, (&path, None)), ["- Buy rye", "- Bake (it)", "- Likes tea.", "- Other"]);
    }
}
