//! What of a vault is in its archives.

use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};

use crate::fs::{Context, FsError};

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
pub(super) struct Contents {
    pub(super) items: Vec<Item>,
    /// What is left out although it is the person's, and why.
    pub(super) left_out: Vec<String>,
}

/// Whether a path is ever exported: nothing of the program's own is but its state, and of that no token.
pub(super) fn is_exported(path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let name = names.last().map_or("", |name| name);
    match names.first().map(|name| &**name) {
        Some(".vault") => {
            names.get(1).is_some_and(|name| name == "state") && !name.contains("token") && !is_passing(name)
        }
        Some(".git") => !is_passing(name),
        _ => !name.starts_with(".tmp-"),
    }
}

/// What programs leave while they work.
fn is_passing(name: &str) -> bool {
    name == "lock" || name.ends_with(".lock") || name.starts_with(".tmp-") || name.ends_with(".sock")
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

impl Contents {
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
        for entry in fs::read_dir(&on_disk).on("list", &on_disk)? {
            let path = folder.join(entry.on("list", &on_disk)?.file_name());
            let full = root.join(&path);
            let own = path == Path::new(".vault");
            let wanted =
                (own || is_exported(&path)) && (state || !path.starts_with(".vault")) && (git || !is_git(&path));
            if !wanted {
                continue;
            }
            let meta = match full.symlink_metadata() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                meta => meta.on("look at", &full)?,
            };
            self.add(root, path, meta, state, git)?;
        }
        Ok(())
    }

    fn add(&mut self, root: &Path, path: PathBuf, meta: Metadata, state: bool, git: bool) -> Result<(), FsError> {
        let shown = path.display().to_string();
        let kind = meta.file_type();
        if path == Path::new(".git") && !kind.is_dir() {
            self.left_out.push(format!("{shown}: the repository is in another place"));
        } else if kind.is_dir() {
            if path != Path::new(".vault") {
                self.items.push(Item { path: path.clone(), meta, target: None });
            }
            self.list(root, &path, state, git)?;
        } else if kind.is_file() {
            self.items.push(Item { path, meta, target: None });
        } else if kind.is_symlink() {
            let full = root.join(&path);
            let target = fs::read_link(&full).on("read", &full)?;
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

    #[test]
    fn of_its_own_the_program_exports_its_state_alone() {
        for exported in
            ["notes/a.md", ".vault/state/checkpoints/1", ".git/HEAD", ".obsidian/app.json", "Cargo.lock", "lock"]
        {
            assert!(is_exported(Path::new(exported)), "{exported}");
        }
        for not in [
            ".vault",
            ".vault/index/catalog.db",
            ".vault/owner-token",
            ".vault/lock",
            ".vault/state/tokens.json",
            ".git/index.lock",
            "notes/.tmp-1a2b3c",
        ] {
            assert!(!is_exported(Path::new(not)), "{not}");
        }
    }
}
