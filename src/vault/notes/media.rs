//! The pictures and PDF of the vault that notes show: their bytes, and which file a note means.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::path::Path;

use crate::access::request::{LinkTargets, Owner, RequestError, Workspace, note_path};
use crate::base::path::{VaultPath, folded};
use crate::index::engine::FileEntry;
use crate::serve::wire::TextParams;
use crate::vault::disk::{NoteRules, ReadError, Scan, plain_file, read_file};

/// What a page shows, by the end of its name.
const SHOWN: [(&str, &str); 9] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("svg", SVG),
    ("pdf", "application/pdf"),
];
/// A picture that is a document as well, with scripts in it.
pub(crate) const SVG: &str = "image/svg+xml";

/// A file to show.
pub(crate) struct MediaFile {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a picture or a PDF.
///
/// # Errors
/// When the path is that of something else, hidden or behind a symbolic link; when the file is not there, or too large.
pub(crate) fn media_file(owner: &Owner, params: &TextParams) -> Result<MediaFile, RequestError> {
    let (workspace, path) = (owner.workspace(), note_path(&params.path)?);
    let Some(media_type) = media_type(path.as_str()) else {
        let known: Vec<&str> = SHOWN.iter().map(|(end, _)| *end).collect();
        return Err(RequestError::invalid(format!("`{path}` is not shown; these are: {}", known.join(", "))));
    };
    let (folder, within) = workspace.outside.place(workspace.home.root(), &path);
    let absent = || RequestError::not_found(format!("there is no file `{path}`"));
    let within = within.filter(|within| plain_file(folder, within)).ok_or_else(absent)?;
    match read_file(folder, &within, workspace.config.index.max_file_bytes) {
        Ok(file) => Ok(MediaFile { media_type, bytes: file.bytes }),
        Err(ReadError::Gone) => Err(absent()),
        Err(error @ ReadError::Changing) => {
            Err(RequestError::unavailable(format!("`{path}`: {error}"), "try again in a moment"))
        }
        Err(ReadError::Unfit(why)) => Err(RequestError::invalid(format!("`{path}`: {why}"))),
    }
}

/// A link's target without a slash in front; one that says where it begins as a path from the root.
fn named(target: &str, folder: &str) -> String {
    if !target.starts_with("./") && !target.starts_with("../") {
        return target.trim_start_matches('/').to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn media_type(name: &str) -> Option<&'static str> {
    let end = name.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
    SHOWN.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}

/// Finds the files that the links of one note mean: notes as [`LinkTargets`] does; for the person pictures and PDF, too, as Obsidian does: at the
/// path from the root, then from the note, else the one whose path ends so, beside the note or nearest to the root.
pub(super) struct FileTargets<'a> {
    workspace: &'a Workspace,
    notes: &'a LinkTargets<'a>,
    from: &'a FileEntry,
    is_owner: bool,
    /// All pictures and documents, looked up once some link needs that.
    found: OnceCell<Vec<VaultPath>>,
}

impl<'a> FileTargets<'a> {
    pub(super) fn of(
        workspace: &'a Workspace,
        notes: &'a LinkTargets<'a>,
        from: &'a FileEntry,
        is_owner: bool,
    ) -> Self {
        Self { workspace, notes, from, is_owner, found: OnceCell::new() }
    }

    /// The path of the file that a link means.
    pub(super) fn resolve(&self, target: &str) -> Option<String> {
        let note = self.notes.resolve(target, &self.from.path).map(|to| to.path.to_string());
        note.or_else(|| self.media(target).filter(|_| self.is_owner).map(String::from))
    }

    fn media(&self, target: &str) -> Option<VaultPath> {
        media_type(target)?;
        let folder = Path::new(self.from.path.as_str()).parent().and_then(Path::to_str).unwrap_or_default();
        let named = named(target, folder);
        let is_there = |path: &VaultPath| {
            let (folder, within) = self.workspace.outside.place(self.workspace.home.root(), path);
            within.is_some_and(|within| plain_file(folder, &within))
        };
        let exact = [named.clone(), format!("{folder}/{named}")].into_iter();
        let exact = exact.filter_map(|path| VaultPath::new(path).ok()).find(is_there);
        exact.or_else(|| {
            let wanted = folded(&named);
            let ends = self.all().iter().filter(|path| {
                let path = folded(path.as_str());
                path.strip_suffix(&wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            });
            let beside = |path: &VaultPath| path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
            ends.min_by_key(|path| (Reverse(beside(path)), path.as_str().matches('/').count(), (*path).clone()))
                .cloned()
        })
    }

    fn all(&self) -> &[VaultPath] {
        self.found.get_or_init(|| {
            let Some(rules) = self.workspace.rules() else { return Vec::new() };
            let found = Scan::of(self.workspace.home.root(), &rules, NoteRules::takes_attachment, None);
            found.files.into_iter().map(|file| file.path).collect()
        })
    }
}
