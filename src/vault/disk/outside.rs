//! Folders elsewhere whose notes belong to the vault, each below a name of its own.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::home::Identity;
use super::rules::RulesError;
use crate::access::rules::{GlobError, Globs};
use crate::base::config::CollectionConfig;
use crate::base::path::VaultPath;

/// The folders of `[[collections]]`. The note `<folder>/a.md` of the collection `papers` has the path `papers/a.md`; a folder
/// of the vault with that name is hidden by it.
#[derive(Debug, Clone, Default)]
pub struct Outside(Vec<OutsideFolder>);

/// One of them.
#[derive(Debug, Clone)]
pub struct OutsideFolder {
    /// The collection's name, which is the path of the folder.
    pub name: VaultPath,
    /// The folder on disk.
    pub folder: PathBuf,
    pattern: Globs,
    exclude: Globs,
}

impl Outside {
    /// Reads the collections of the vault at `root`. Folders need not be there yet.
    ///
    /// # Errors
    /// When a pattern cannot be read, or a folder overlaps with the vault or with another.
    pub fn new(root: &Path, collections: &[CollectionConfig]) -> Result<Self, RulesError> {
        let mut taken = Vec::new();
        let mut folders = Vec::new();
        for CollectionConfig { name, path, pattern, exclude, scope: _, overlap } in collections {
            let folder = root.join(below_home(path));
            let folder = without_links(&folder);
            let around = |other: &Path| folder.starts_with(other) || other.starts_with(&folder);
            // There may be thousands that all may.
            let overlaps = |(_, other, may): &&(String, PathBuf, bool)| !(*may && *overlap) && around(other);
            let other = if folder.starts_with(root) || (root.starts_with(&folder) && !overlap) {
                Some("the vault".to_owned())
            } else {
                taken.iter().find(overlaps).map(|(other, ..)| other.clone())
            };
            if let Some(other) = other {
                return Err(RulesError(format!(
                    "the collection `{name}` is the folder {}, which overlaps with {other}; a note can belong to only one",
                    folder.display()
                )));
            }
            taken.push((format!("the collection `{name}`"), folder.clone(), *overlap));
            let wrong =
                |error: GlobError| RulesError(format!("the pattern of the collection `{name}` is invalid: {error}"));
            let (pattern, exclude) = (Globs::of_files(pattern).map_err(wrong)?, Globs::new(exclude).map_err(wrong)?);
            let no_name = |error| RulesError(format!("the collection `{name}`: {error}"));
            let name = VaultPath::new(name.clone()).map_err(no_name)?;
            folders.push(OutsideFolder { name, folder, pattern, exclude });
        }
        Ok(Self(folders))
    }

    /// The folder that a path is in, or is.
    pub fn of(&self, path: &VaultPath) -> Option<&OutsideFolder> {
        let top = path.as_str().split('/').next().unwrap_or_default();
        self.0.iter().find(|outside| outside.name.as_str() == top)
    }

    /// The folder on disk around a path, and the path within it; `None` for an outside folder itself.
    pub fn place<'a>(&'a self, root: &'a Path, path: &'a VaultPath) -> (&'a Path, Option<Cow<'a, VaultPath>>) {
        match self.of(path) {
            None => (root, Some(Cow::Borrowed(path))),
            Some(outside) => {
                (&outside.folder, outside.within(path).and_then(|path| VaultPath::new(path).ok()).map(Cow::Owned))
            }
        }
    }

    /// Where a file is on disk, given the vault's root.
    pub fn on_disk(&self, root: &Path, path: &VaultPath) -> PathBuf {
        let (folder, path) = self.place(root, path);
        path.map_or_else(|| folder.to_owned(), |path| path.on_disk(folder))
    }

    /// The paths by which the vault knows what is on disk; none for what is not its own, or has no name that is a path. Where folders of
    /// collections overlap there may be several.
    pub fn vault_paths(&self, root: &Path, on_disk: &Path) -> Vec<VaultPath> {
        if let Ok(path) = on_disk.strip_prefix(root) {
            return VaultPath::from_relative(path).ok().filter(|path| self.of(path).is_none()).into_iter().collect();
        }
        let within = |outside: &OutsideFolder| {
            let path = on_disk.strip_prefix(&outside.folder).ok()?;
            VaultPath::from_relative(&Path::new(outside.name.as_str()).join(path)).ok()
        };
        self.0.iter().filter_map(within).collect()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &OutsideFolder> {
        self.0.iter()
    }

    /// Which folders there are, to tell when one has come, gone or been replaced.
    pub fn identities(&self) -> Vec<Option<Identity>> {
        self.0.iter().map(|outside| Identity::of(&outside.folder).ok()).collect()
    }
}

impl OutsideFolder {
    /// Whether a file in it counts.
    pub(super) fn takes(&self, path: &VaultPath) -> bool {
        self.within(path).is_some_and(|path| self.pattern.is_match(path) && !self.exclude.is_match(path))
    }

    fn within<'a>(&self, path: &'a VaultPath) -> Option<&'a str> {
        path.as_str().strip_prefix(self.name.as_str())?.strip_prefix('/')
    }
}

/// Resolves what is there of a path; the rest of it may come later.
fn without_links(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|there| {
        let rest = path.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.join(rest).components().collect())
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

/// Puts the home folder in the place of `~`.
pub(super) fn below_home(path: &Path) -> Cow<'_, Path> {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => Cow::Owned(home.join(below)),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn collection(name: &str, path: &Path, pattern: &str) -> CollectionConfig {
        let (name, path, pattern) = (name.into(), path.into(), pattern.into());
        CollectionConfig { name, path, pattern, exclude: Vec::new(), scope: None, overlap: false }
    }

    #[test]
    fn paths_lead_to_the_disk_and_back() {
        let (vault, elsewhere) = (Path::new("/vault"), Path::new("/elsewhere/papers"));
        let outside = Outside::new(vault, &[collection("papers", elsewhere, "**")]).unwrap();
        for (path, on_disk) in
            [("a.md", "/vault/a.md"), ("papers/b/c.md", "/elsewhere/papers/b/c.md"), ("papers", "/elsewhere/papers")]
        {
            let path = VaultPath::new(path).unwrap();
            assert_eq!(outside.on_disk(vault, &path), Path::new(on_disk));
            assert_eq!(outside.vault_paths(vault, Path::new(on_disk)).into_iter().next(), Some(path));
        }
        assert_eq!(outside.vault_paths(vault, Path::new("/vault/papers/a.md")), [], "hidden by the collection");
        assert_eq!(outside.vault_paths(vault, Path::new("/elsewhere/a.md")), []);
        let home = std::env::home_dir().unwrap();
        assert_eq!(below_home(Path::new("~/x")), home.join("x"));
        assert_eq!(below_home(Path::new("~x")), Path::new("~x"));
    }

    #[test]
    fn what_a_collection_excludes_does_not_count() {
        let excluding = |exclude: &[&str]| CollectionConfig {
            exclude: exclude.iter().map(|glob| (*glob).to_owned()).collect(),
            ..collection("papers", Path::new("/elsewhere"), "**/*.md")
        };
        let outside = Outside::new(Path::new("/vault"), &[excluding(&["old", "drafts/*.md"])]).unwrap();
        let takes = |path: &str| {
            let path = VaultPath::new(path).unwrap();
            outside.of(&path).unwrap().takes(&path)
        };
        for (path, taken) in [
            ("papers/a.md", true),
            ("papers/old/a.md", false),
            ("papers/b/old/a.md", true),
            ("papers/drafts/a.md", false),
            ("papers/drafts/b/a.md", true),
        ] {
            assert_eq!(takes(path), taken, "{path}");
        }
        assert!(Outside::new(Path::new("/vault"), &[excluding(&["["])]).is_err());
    }

    #[test]
    fn folders_that_overlap_and_patterns_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for below in ["vault/notes", "a/b"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        let vault = root.join("vault");
        let refused = |collections: &[CollectionConfig]| Outside::new(&vault, collections).unwrap_err().to_string();
        for path in ["notes", "../vault", "..", "../vault/later", "later"] {
            let said = refused(&[collection("x", Path::new(path), "**")]);
            assert!(said.contains("overlaps with the vault"), "{said}");
        }
        let (a, b) = (collection("a", Path::new("../a"), "**"), collection("b", Path::new("../link/b"), "**"));
        let said = refused(&[a, b]);
        assert!(said.contains("overlaps with the collection `a`"), "{said}");
        let overlapping =
            |name: &str, path: &str| CollectionConfig { overlap: true, ..collection(name, Path::new(path), "**") };
        let all = [overlapping("a", "../a"), overlapping("b", "../link/b"), overlapping("top", "..")];
        let outside = Outside::new(&vault, &all).unwrap();
        let names = outside.vault_paths(&vault, &root.join("a/b/c.md"));
        assert_eq!(names.iter().map(VaultPath::as_str).collect::<Vec<_>>(), ["a/b/c.md", "b/c.md", "top/a/b/c.md"]);
        assert!(refused(&[overlapping("x", "notes")]).contains("overlaps with the vault"));
        let said = refused(&[collection("a", Path::new("../a"), "**"), overlapping("b", "../link/b")]);
        assert!(said.contains("overlaps with the collection `a`"), "both have to say so: {said}");
        for pattern in ["[", &"{".repeat(100_000), &format!("{}a{}", "{a,".repeat(400), "}".repeat(400)), ""] {
            let said = refused(&[collection("a", Path::new("../a"), pattern)]);
            assert!(said.starts_with("the pattern of the collection `a`"), "{said}");
        }
    }
}
