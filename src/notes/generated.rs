//! Pages that the program has made of what goes for good: they go whole, and what of them is remembered as forgotten is what cites that.

use super::derived::{GoingPlace, is_of};
use crate::derive::generated::GeneratedNote;
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{Owner, note_path};
use crate::vault::{Action, Files, WriteError};

/// Folders below which the program writes such pages.
const FOLDERS: [&str; 2] = ["summaries", "profile"];

/// Whether the program has made a note, and nobody has edited it since.
pub(super) fn is_only_generated(owner: &Owner, path: &str) -> bool {
    let source = note_path(path).ok().and_then(|path| owner.workspace().source(&path).ok());
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

/// Removes the generated pages that name a note as one of their sources, with all that is kept of them: nobody has made them anew yet.
///
/// # Errors
/// When the disk refuses.
pub(super) fn remove_made_of(files: &Files, root: &std::path::Path, of: &VaultPath) -> Result<(), WriteError> {
    let mut folders: Vec<String> = FOLDERS.map(str::to_owned).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
                continue;
            }
            let Some(page) = VaultPath::new(path).ok().filter(|page| files.check(page).is_ok()) else { continue };
            let Some((bytes, hash)) = files.read(&page)? else { continue };
            let made = std::str::from_utf8(&bytes).ok().and_then(GeneratedNote::read);
            if made.is_some_and(|made| !made.is_edited && made.sources().iter().any(|source| of.same_as(source))) {
                files.trash_as(&page, hash, Action::Trash.done_by("purge"))?;
                files.purge(&page)?;
            }
        }
    }
    Ok(())
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
