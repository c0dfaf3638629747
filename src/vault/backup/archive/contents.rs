//! What of a vault is in its archives.

use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::path::{Component, Path, PathBuf};

use super::place::{EntryKind, PathOutcome, fate};
use crate::base::fs::{Context, FsError};

/// Something that is exported.
#[derive(Debug)]
pub(super) struct Item {
    /// From the vault's root.
    pub(super) path: PathBuf,
    pub(super) meta: Metadata,
    /// Where a link leads.
    pub(super) target: Option<PathBuf>,
}

/// What is exported, and what cannot be.
#[derive(Debug, Default)]
pub(super) struct ArchiveContents {
    pub(super) items: Vec<Item>,
    /// What is left out although it is the person's, and why.
    pub(super) left_out: Vec<String>,
}

pub(super) fn is_git(path: &Path) -> bool {
    path.starts_with(".git")
}

/// Whether a link at `path` leads to a place in the vault, whatever its folders hold: up first, then down.
pub(super) fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut left = path.components().count().saturating_sub(1);
    let mut down = false;
    target.components().all(|part| match part {
        Component::ParentDir if down || left == 0 => false,
        Component::ParentDir => {
            left -= 1;
            true
        }
        Component::Normal(_) => {
            down = true;
            true
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

impl ArchiveContents {
    /// Lists what is exported of the vault at `root`.
    pub(super) fn of(root: &Path, state: bool, git: bool) -> Result<Self, FsError> {
        let mut contents = Self::default();
        contents.list(root, Path::new(""), state, git)?;
        // Of a repository that is at work, names before what they name: so no name leads nowhere.
        contents.items.sort_by(|one, two| (last(&one.path), &one.path).cmp(&(last(&two.path), &two.path)));
        Ok(contents)
    }

    fn list(&mut self, root: &Path, folder: &Path, state: bool, git: bool) -> Result<(), FsError> {
        let on_disk = root.join(folder);
        let entries = match fs::read_dir(&on_disk) {
            // It was there a moment ago: whoever works on the vault has moved or removed it.
            Err(error) if is_gone(&error) && !folder.as_os_str().is_empty() => return Ok(()),
            entries => entries.on("list", &on_disk)?,
        };
        for entry in entries {
            let path = folder.join(entry.on("list", &on_disk)?.file_name());
            let full = root.join(&path);
            if (!state && path.starts_with(".vault")) || (!git && is_git(&path)) {
                continue;
            }
            let meta = match full.symlink_metadata() {
                Err(error) if is_gone(&error) => continue,
                meta => meta.on("look at", &full)?,
            };
            self.add(root, path, meta, state, git)?;
        }
        Ok(())
    }

    fn add(&mut self, root: &Path, path: PathBuf, meta: Metadata, state: bool, git: bool) -> Result<(), FsError> {
        let shown = path.display().to_string();
        let kind = meta.file_type();
        let own = path == Path::new(".vault") && kind.is_dir();
        if path == Path::new(".git") && !kind.is_dir() {
            self.left_out.push(format!("{shown}: the repository is elsewhere"));
            return Ok(());
        }
        if !own {
            match fate(&path, EntryKind::of(kind).unwrap_or(EntryKind::File)) {
                // A repository is exported as it is, its hooks too; what of it is imported is another question.
                PathOutcome::Kept | PathOutcome::Dropped { git: true, .. } => {}
                PathOutcome::Dropped { what, why, .. } => {
                    let said = format!("{}: {why}", what.display());
                    if !path.starts_with(".vault") && !self.left_out.contains(&said) {
                        self.left_out.push(said);
                    }
                    return Ok(());
                }
                PathOutcome::Passing => return Ok(()),
                PathOutcome::Refused(why) => {
                    if !path.starts_with(".vault") {
                        self.left_out.push(format!("{shown}: {why}"));
                    }
                    return Ok(());
                }
            }
        }
        if kind.is_dir() {
            if !own {
                self.items.push(Item { path: path.clone(), meta, target: None });
            }
            self.list(root, &path, state, git)?;
        } else if kind.is_file() {
            self.items.push(Item { path, meta, target: None });
        } else if kind.is_symlink() {
            let full = root.join(&path);
            let target = match fs::read_link(&full) {
                Err(error) if is_gone(&error) => return Ok(()),
                target => target.on("read", &full)?,
            };
            if stays_inside(&path, &target) {
                self.items.push(Item { path, meta, target: Some(target) });
            } else {
                self.left_out.push(format!("{shown}: a link that leads out of the vault"));
            }
        } else {
            self.left_out.push(format!("{shown}: neither a file, a folder nor a link"));
        }
        Ok(())
    }
}

/// Whether what was listed is not there any more, or something else is.
pub(super) fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn last(path: &Path) -> bool {
    path.starts_with(".git/objects")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_lead_up_and_then_down_and_never_out() {
        let inside = |path: &str, target: &str| stays_inside(Path::new(path), Path::new(target));
        assert!(inside("a/b.md", "c.md") && inside("a/b.md", "../c.md") && inside("a/b/c", "../../d/e"));
        assert!(!inside("a.md", "../b.md") && !inside("a/b.md", "../../c") && !inside("a", "/etc/passwd"));
        assert!(!inside("a/b/c", "d/../../../.."), "what is up from a link need not be where it seems");
    }
}
