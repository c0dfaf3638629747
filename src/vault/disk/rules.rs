//! What belongs to a vault: Markdown files, and documents where they are wanted, less what is hidden, temporary or excluded.

use std::path::Path;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::conflict::conflict_copy;
use super::outside::Outside;
use super::read::read_short;
use crate::access::rules::Globs;
use crate::base::path::VaultPath;

/// The folder of what agents tell of their work.
const TRACES: &str = "traces";
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
        let settings = |file: &str| -> Option<Value> {
            serde_json::from_slice(&read_short(&root.join(".obsidian").join(file), MAX_SETTINGS).ok()?).ok()
        };
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
fn is_facts_history(file: &VaultPath) -> bool {
    let of = conflict_copy(file, |_| true).map(|(of, _)| of);
    let path = of.as_deref().unwrap_or(file.as_str());
    path == "facts.history.md" || path.ends_with("/facts.history.md")
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
