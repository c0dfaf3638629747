//! What belongs to a vault, by names: Markdown files, and documents where they are wanted, less what is hidden, temporary or excluded; the
//! folders elsewhere whose notes belong to it; and the copies that sync services leave beside a note that was changed in two places.

use std::borrow::Cow;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::home::Identity;
use super::read::read_short;
use crate::access::rules::{GlobError, Globs, is_agents};
use crate::base::config::CollectionConfig;
use crate::base::path::VaultPath;

/// The folder of what agents tell of their work.
const TRACES: &str = "traces";
/// The folder in an agent's of what it suggests for notes.
pub(crate) const SUGGESTIONS: &str = "suggestions";
/// Maximum size of Obsidian's settings, in bytes; they are far shorter.
const MAX_SETTINGS: u64 = 1 << 20;
/// Maximum number of Obsidian's patterns that are compiled.
const MAX_PATTERNS: usize = 100;
/// Maximum memory of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512 * 1024;

/// Decides which paths belong to the vault. Made from `[index] exclude` and from what Obsidian leaves out.
#[derive(Debug, Clone)]
pub struct NoteRules {
    exclude: Globs,
    folders: Vec<String>,
    patterns: Vec<Regex>,
    outside: Outside,
    attachments: bool,
}

/// A glob of the configuration that cannot be read, or a folder that cannot be a collection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RulesError(pub(super) String);

/// Compiles the globs of a configuration key.
///
/// # Errors
/// When one cannot be read: what was meant to be left out, or kept private, must not be passed over.
pub fn globs(key: &'static str, globs: &[String]) -> Result<Globs, RulesError> {
    Globs::new(globs).map_err(|error| RulesError(format!("`{key}` has an invalid glob: {error}")))
}

/// What Obsidian has in a file of its settings in the vault at `root`; `None` where that is not there, or cannot be read.
pub(crate) fn obsidian_settings(root: &Path, file: &str) -> Option<Value> {
    serde_json::from_slice(&read_short(&root.join(".obsidian").join(file), MAX_SETTINGS).ok()?).ok()
}

impl NoteRules {
    /// Reads the rules of the vault at `root`. Obsidian's settings that cannot be read are as if they were not there.
    ///
    /// # Errors
    /// When a glob of `exclude` cannot be read.
    pub fn new(root: &Path, exclude: &[String]) -> Result<Self, RulesError> {
        let mut rules = Self {
            exclude: globs("index.exclude", exclude)?,
            folders: Vec::new(),
            patterns: Vec::new(),
            outside: Outside::default(),
            attachments: false,
        };
        let settings = |file: &str| obsidian_settings(root, file);
        for filter in settings("app.json").iter().filter_map(|app| app["userIgnoreFilters"].as_array()).flatten() {
            let Some(filter) = filter.as_str().filter(|filter| !filter.is_empty()) else { continue };
            match filter.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
                Some(pattern) => rules.add_pattern(pattern),
                None => rules.folders.push(filter.to_owned()),
            }
        }
        let templates = [("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder")];
        for (file, key) in templates {
            if let Some(folder) = settings(file).as_ref().and_then(|settings| settings[key].as_str()) {
                let folder = folder.trim_matches('/');
                if !folder.is_empty() {
                    rules.folders.push(format!("{folder}/"));
                }
            }
        }
        Ok(rules)
    }

    /// Adds a pattern of Obsidian's, which are JavaScript's: most are read here as they are there.
    fn add_pattern(&mut self, pattern: &str) {
        let compiled = match self.patterns.len() < MAX_PATTERNS {
            true => RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| error.to_string()),
            false => Err(format!("there are more than {MAX_PATTERNS}")),
        };
        match compiled {
            Ok(compiled) => self.patterns.push(compiled),
            Err(error) => {
                let (pattern, error) =
                    (pattern.chars().take(60).collect::<String>(), error.lines().last().unwrap_or("").to_owned());
                tracing::warn!(
                    "Obsidian's pattern /{pattern}/ leaves nothing out here: {error}; `[index] exclude` can"
                );
            }
        }
    }

    /// The same with folders elsewhere, and with the attachments that have a text, or without.
    #[must_use]
    pub fn with(self, outside: &Outside, attachments: bool) -> Self {
        Self { outside: outside.clone(), attachments, ..self }
    }

    /// The folders elsewhere that belong to the vault.
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Whether a folder is looked into.
    pub fn enters(&self, folder: &VaultPath) -> bool {
        !hidden(folder) && !self.exclude.is_match(folder.as_str()) && {
            let inside = format!("{folder}/");
            !self.folders.iter().any(|excluded| inside.starts_with(excluded.as_str()))
        }
    }

    /// Whether a file is one of the vault's notes, or of the attachments that are searched, judged by its path alone.
    pub fn takes(&self, file: &VaultPath) -> bool {
        (is_markdown(file.as_str()) || (self.attachments && file.is_document())) && self.keeps(file)
    }

    /// Whether a file is an attachment that belongs to the vault, be it searched or not.
    pub(crate) fn takes_attachment(&self, file: &VaultPath) -> bool {
        file.attachment().is_some() && self.keeps(file)
    }

    /// Whether a file, of whatever kind, belongs to the vault and has the name of a conflict copy. Traces are the program's own.
    pub(crate) fn takes_conflict_copy(&self, file: &VaultPath) -> bool {
        conflict_copy(file, |_| true).is_some() && file.collection() != TRACES && self.keeps(file)
    }

    /// Whether nothing leaves a file out.
    fn keeps(&self, file: &VaultPath) -> bool {
        let path = file.as_str();
        !hidden(file)
            && !temporary(path.rsplit('/').next().unwrap_or(path))
            && !is_facts_history(file)
            && !is_suggestion(file)
            && !self.excludes(path)
            && self.outside.of(file).is_none_or(|outside| outside.takes(file))
    }

    fn excludes(&self, path: &str) -> bool {
        self.exclude.is_match(path)
            || self.folders.iter().any(|excluded| path.starts_with(excluded.as_str()))
            || self.patterns.iter().any(|pattern| pattern.is_match(path))
    }
}

/// Whether a file is the history of facts: what they were is asked for with them, and found by no search.
/// Nor is the copy that a sync service made of one.
pub(crate) fn is_facts_history(file: &VaultPath) -> bool {
    let of = conflict_copy(file, |_| true).map(|(of, _)| of);
    let path = of.as_deref().unwrap_or(file.as_str());
    path == "facts.history.md" || path.ends_with("/facts.history.md")
}

/// Whether a file is what an agent suggests for a note: it waits for the person, and is found by no search.
pub(crate) fn is_suggestion(file: &VaultPath) -> bool {
    let parts: Vec<&str> = file.as_str().split('/').collect();
    matches!(&parts[..], [_, _, folder, _] if is_agents(file.as_str()) && *folder == SUGGESTIONS)
}

/// Whether a name or a path is that of a Markdown file.
pub(crate) fn is_markdown(path: &str) -> bool {
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    extension.is_some_and(|found| found.eq_ignore_ascii_case("md") || found.eq_ignore_ascii_case("markdown"))
}

/// `.obsidian`, `.git`, `.trash`, `.vault`, and every other name that starts with a dot.
fn hidden(path: &VaultPath) -> bool {
    path.as_str().split('/').any(|part| part.starts_with('.'))
}

/// What editors and sync services write beside a note: `~note.md`, `#note.md#`, `note.sync-conflict-….md` is a note,
/// `note.md~` and `note.md.swp` end otherwise and are not Markdown.
fn temporary(name: &str) -> bool {
    name.starts_with('~') || name.starts_with('#') && name.ends_with('#') || name.contains(".tmp.")
}

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
pub(crate) fn below_home(path: &Path) -> Cow<'_, Path> {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => Cow::Owned(home.join(below)),
        _ => Cow::Borrowed(path),
    }
}

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

/// What the file system says of a file of a vault; `None` where there is none, or something else.
pub(crate) fn file_of(root: &Path, rules: &NoteRules, path: &VaultPath) -> Option<Metadata> {
    rules.outside().on_disk(root, path).symlink_metadata().ok().filter(Metadata::is_file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::new(text).unwrap()
    }

    #[test]
    fn leaves_out_what_is_hidden_temporary_or_excluded() {
        let root = tempfile::tempdir().unwrap();
        let rules = NoteRules::new(root.path(), &["archive/**".into(), "*.draft.md".into()]).unwrap();
        for taken in [
            "a.md",
            "notes/b.markdown",
            "notes/C.MD",
            "notes/#1.md",
            "notes/x.draft.md",
            "notes/~/a.md",
            "facts.sync-conflict-20260105-183012-ABC2DEF.md",
        ] {
            assert!(rules.takes(&path(taken)), "{taken}");
        }
        let left_out = [
            "a.txt",
            ".obsidian/a.md",
            "notes/.hidden.md",
            ".git/a.md",
            ".trash/a.md",
            "notes/~a.md",
            "notes/#a.md#",
            "archive/2020/a.md",
            "x.draft.md",
            "notes/a.md~",
            "notes/.a.md.swp",
            "notes/a.tmp.md",
            "facts.history.md",
            "projects/p/facts.history.sync-conflict-20260105-183012-ABC2DEF.md",
            "facts.history (Maya's conflicted copy 2026-01-05).md",
            "facts.history-DESKTOP-4F2K9QX.md",
            "md",
        ];
        for path_text in left_out {
            assert!(!rules.takes(&path(path_text)), "{path_text}");
        }
        assert!(!rules.enters(&path(".obsidian")));
        assert!(NoteRules::new(root.path(), &["[".into()]).is_err());
    }

    #[test]
    fn attachments_are_left_out_until_they_are_wanted() {
        let root = tempfile::tempdir().unwrap();
        let without = NoteRules::new(root.path(), &["archive/**".into()]).unwrap();
        let with = without.clone().with(&Outside::default(), true);
        for name in ["a.pdf", "notes/B.DOCX", "c.htm"] {
            assert!(with.takes(&path(name)) && !without.takes(&path(name)) && without.takes_attachment(&path(name)));
        }
        for name in ["archive/a.pdf", ".trash/a.pdf", "~$b.docx", "a.png", "a.doc"] {
            assert!(!with.takes(&path(name)), "{name}");
        }
        assert!(with.takes_attachment(&path("a.png")) && !with.takes_attachment(&path(".hidden/a.png")));
    }

    #[test]
    fn leaves_out_what_obsidian_leaves_out() {
        let root = tempfile::tempdir().unwrap();
        let settings = root.path().join(".obsidian");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("app.json"), r#"{"userIgnoreFilters": ["old/", "/draft-\\d+/"]}"#).unwrap();
        fs::write(settings.join("templates.json"), r#"{"folder": "Templates"}"#).unwrap();
        let rules = NoteRules::new(root.path(), &[]).unwrap();
        assert!(!rules.takes(&path("old/a.md")) && !rules.enters(&path("old")));
        assert!(!rules.takes(&path("Templates/Daily.md")) && !rules.takes(&path("notes/draft-3.md")));
        assert!(rules.takes(&path("older/a.md")) && rules.takes(&path("notes/draft.md")));
    }

    #[test]
    fn settings_of_obsidian_that_are_hostile_take_neither_time_nor_room() {
        let root = tempfile::tempdir().unwrap();
        let settings = root.path().join(".obsidian");
        fs::create_dir_all(&settings).unwrap();
        let fifo = settings.join("templates.json");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let huge = vec!["/(a{1000}){1000}/"; 2000];
        let mut filters = vec!["", "/(?=a)/", "/((((/", "/^b/"];
        filters.extend(&huge);
        filters.extend(vec!["/c{200}d/"; 5000]);
        fs::write(settings.join("app.json"), serde_json::json!({ "userIgnoreFilters": filters }).to_string()).unwrap();
        let rules = NoteRules::new(root.path(), &[]).unwrap();
        assert!(rules.takes(&path("a.md")) && !rules.takes(&path("b.md")));
        assert_eq!(rules.patterns.len(), MAX_PATTERNS);
    }
}

#[cfg(test)]
mod tests_of_outside {
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

#[cfg(test)]
mod tests_of_copies {
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
