//! What sync services leave when a note was changed in two places: a copy beside it, told by its name alone.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::rules::NoteRules;
use crate::base::path::VaultPath;

/// A shape of names, and who gives such names.
struct CopyName {
    /// Its first group is the name of the note it is a copy of.
    name: Regex,
    made_by: &'static str,
    /// Whether a person may have chosen such a name, so that it is a copy only where the note is there too.
    doubtful: bool,
}

static SHAPES: LazyLock<Vec<CopyName>> = LazyLock::new(|| {
    const DATE: &str = r"\d{4}-?\d{2}-?\d{2}[\d -]*";
    let shape = |name: &str, made_by, doubtful| {
        let name = Regex::new(&format!("^(.+){name}$")).expect("the shape is well formed");
        CopyName { name, made_by, doubtful }
    };
    vec![
        shape(r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?", "Syncthing", false),
        shape(&format!(r" \(Conflicted copy [^()]*{DATE}\)"), "Obsidian Sync", false),
        shape(&format!(r" \(conflicted copy {DATE}\)"), "Nextcloud or ownCloud", false),
        shape(&format!(r" \([^()]* conflicted copy {DATE}\)(?: \(\d+\))?"), "Dropbox", false),
        shape(r"_conflict-\d{8}-\d{6}", "Nextcloud or ownCloud", false),
        shape(r" \(SFConflict [^()]*\d{4}(?:-\d{2}){5}\)", "Seafile", false),
        shape(r"_[^_/]+_[A-Z][a-z]{2}-\d{2}-\d{4,6}-\d{4}_Conflict", "Synology Drive", false),
        shape(r" \[conflicted\](?: \d+)?", "pCloud", true),
        // Of many services, and as people say it.
        shape(r" \((?:[^()]* )?[Cc]onflict(?:ed copy)?(?: [^()]*)?\)", "a sync service", true),
        // The name of a computer, of which these are the ones that Windows gives.
        shape(r"-(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,8}(?:-\d+)?", "OneDrive", true),
    ]
});

/// The path of the note that a note is a conflict copy of, and who makes copies with such names. `is_there` tells whether there
/// is a note. What iCloud makes of `Plan.md` is `Plan 2.md`, as people name a second part, so it is taken for a note.
pub(crate) fn conflict_copy(path: &VaultPath, is_there: impl Fn(&str) -> bool) -> Option<(String, &'static str)> {
    let text = path.as_str();
    // Few names are looked at closely: the status goes over all notes.
    if !["onflict", "-DESKTOP-", "-LAPTOP-"].iter().any(|part| text.contains(part)) {
        return None;
    }
    let stem = path.stem();
    let folder = text.len() - text.rsplit('/').next().map_or(text.len(), str::len);
    let extension = &text[folder + stem.len()..];
    SHAPES.iter().find_map(|shape| {
        let of = shape.name.captures(stem)?.get(1)?.as_str();
        let of = format!("{}{of}{extension}", &text[..folder]);
        (!shape.doubtful || is_there(&of)).then_some((of, shape.made_by))
    })
}

/// Maximum size of two files that are compared byte by byte; longer ones are taken to differ.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// What the file system says of a file of a vault; `None` where there is none, or something else.
pub(crate) fn file_of(root: &Path, rules: &NoteRules, path: &VaultPath) -> Option<Metadata> {
    rules.outside().on_disk(root, path).symlink_metadata().ok().filter(Metadata::is_file)
}

/// Whether two files of a vault are the same to the byte.
pub(crate) fn are_same(root: &Path, rules: &NoteRules, one: &VaultPath, other: &VaultPath) -> bool {
    let bytes = |path| file_of(root, rules, path).map(|meta| meta.len());
    let length = bytes(one);
    if length.is_none_or(|length| length > MAX_COMPARED_BYTES) || length != bytes(other) {
        return false;
    }
    let open = |path| File::open(rules.outside().on_disk(root, path)).map(|file| BufReader::new(file).bytes());
    let (Ok(one), Ok(other)) = (open(one), open(other)) else { return false };
    one.map(Result::ok).eq(other.map(Result::ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(path: &str) -> Option<(String, &'static str)> {
        conflict_copy(&VaultPath::new(path).unwrap(), |path| path == "notes/there.md")
    }

    #[test]
    fn copies_are_told_by_the_names_that_sync_services_give() {
        for (path, of, made_by) in [
            ("notes/a b.sync-conflict-20260105-183012-ABC2DEF.md", "notes/a b.md", "Syncthing"),
            ("a.sync-conflict-20260105-183012.markdown", "a.markdown", "Syncthing"),
            ("x/Plan (draft) (Maya's conflicted copy 2026-01-05).md", "x/Plan (draft).md", "Dropbox"),
            ("Plan (DESKTOP's conflicted copy 2026-01-05) (1).md", "Plan.md", "Dropbox"),
            ("Plan (conflicted copy 2026-01-05 183012).md", "Plan.md", "Nextcloud or ownCloud"),
            ("Plan_conflict-20260105-183012.md", "Plan.md", "Nextcloud or ownCloud"),
            ("Plan (Conflicted copy Maya's phone 202601051830).md", "Plan.md", "Obsidian Sync"),
            ("Plan (SFConflict maya@example.org 2026-01-05-18-30-12).md", "Plan.md", "Seafile"),
            ("Plan_nas_Jan-05-183012-2026_Conflict.md", "Plan.md", "Synology Drive"),
            ("notes/there [conflicted].md", "notes/there.md", "pCloud"),
            ("notes/there (conflict).md", "notes/there.md", "a sync service"),
            ("notes/there (Conflict 2).md", "notes/there.md", "a sync service"),
            ("notes/there (Maya's MacBook's conflicted copy).md", "notes/there.md", "a sync service"),
            ("notes/there-DESKTOP-4F2K9QX.md", "notes/there.md", "OneDrive"),
            ("notes/there-LAPTOP-4F2K9QXA-2.md", "notes/there.md", "OneDrive"),
        ] {
            assert_eq!(copy_of(path), Some((of.to_owned(), made_by)), "{path}");
        }
    }

    #[test]
    fn a_note_about_conflicts_is_no_copy() {
        for path in [
            "notes/conflict.md",
            "notes/Conflict resolution (2026-01-05).md",
            "notes/How to resolve a conflicted copy.md",
            "notes/conflicted copy 2026-01-05.md",
            "notes/Why (conflicted copy).md",
            "notes/Merging (what is a conflicted copy).md",
            "notes/.sync-conflict-20260105-183012-ABC2DEF/a.md",
            "notes/a.sync-conflict-notes.md",
            "notes/Peace (conflict).md",
            "notes/there (conflicts of interest).md",
            "notes/Inventory-DESKTOP-4F2K9QX.md",
            "notes/there-DESKTOP-replacement.md",
            "notes/there 2.md",
            "notes/there (1).md",
            "notes/there-copy.md",
        ] {
            assert_eq!(copy_of(path), None, "{path}");
        }
    }
}
