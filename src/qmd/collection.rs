//! The collections of an index, as `qmd collection` makes them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::QmdError;
use crate::config::CollectionConfig;
use crate::path::folded;
use crate::vault::Globs;

/// Maximum length of a name, in bytes. None that a person or a program gives is longer.
const MAX_NAME_BYTES: usize = 200;

/// What has a meaning in a vault, as its top-level folders have; a collection that is called so has another name there.
const RESERVED: [&str; 18] = [
    "agents", "vault", "conversations", "files", "searches", "snippets", "agent-activity", "bookmarks", "annotations",
    "profile", "memories", "summaries", "projects", "system", "orchestrator", "agent-types", "traces", "entries",
];

/// A folder whose Markdown files are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QmdCollection {
    /// Its name, the first part of `qmd://name/path`.
    pub name: String,
    /// The folder, absolute.
    pub path: PathBuf,
    /// Which of its files count, as a glob.
    pub pattern: String,
    /// Which of those do not count, as globs; what names a folder means all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// What is said of a folder in it, by its path (`/` is all of it).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, String>,
    /// Whether searches that name no collection leave it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_left_out: bool,
    /// What QMD would run before an update. It is kept, and never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
}

impl QmdCollection {
    /// A collection, checked.
    ///
    /// # Errors
    /// When name, path or pattern cannot be those of one.
    pub(crate) fn new(name: &str, path: &Path, pattern: &str) -> Result<Self, QmdError> {
        let refuse = |why: String| Err(QmdError::Collection(why));
        let wrong = |character: char| character.is_control() || "/\\:".contains(character);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.starts_with('.') || name.contains(wrong) {
            return refuse(format!(
                "{name:?} is no name of a collection: it has no slash, colon or control character, and does not start \
                 with a dot"
            ));
        }
        let text = path.to_str().unwrap_or_default();
        if text.is_empty() || text.chars().any(char::is_control) {
            return refuse(format!("the path of the collection {name} is no text, or has a control character"));
        }
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return refuse(format!("the path of the collection {name}, {text}, is not absolute"));
        }
        if let Err(error) = Globs::of_files(pattern) {
            return refuse(format!("the pattern of the collection {name} cannot be read: {error}"));
        }
        let (name, path, pattern) = (name.into(), path.into(), pattern.into());
        let (ignore, context) = (Vec::new(), BTreeMap::new());
        Ok(Self { name, path, pattern, ignore, context, is_left_out: false, update: None })
    }

    /// The same without the files that some globs match.
    ///
    /// # Errors
    /// When one cannot be read: what was meant to be left out must not be found.
    pub(crate) fn ignoring(self, ignore: Vec<String>) -> Result<Self, QmdError> {
        if let Err(error) = Globs::new(&ignore) {
            let name = &self.name;
            return Err(QmdError::Collection(format!("what the collection {name} ignores cannot be read: {error}")));
        }
        if let Some(wrong) = ignore.iter().find(|glob| glob.chars().any(char::is_control)) {
            return Err(QmdError::Collection(format!("{wrong:?}, to be ignored, has a control character")));
        }
        Ok(Self { ignore, ..self })
    }

    /// Its name in the vault.
    pub(crate) fn name_in_vault(&self) -> String {
        let reserved = folded(&self.name);
        let special = RESERVED.contains(&&*reserved) || reserved.starts_with("aq_") || self.name.starts_with('_');
        if special { format!("_{}", self.name) } else { self.name.clone() }
    }

    /// The path of a note within it, given its path in the vault.
    pub(crate) fn within<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.name_in_vault().as_str())?.strip_prefix('/')
    }

    /// What is said of a note: of all of it, and of each folder around it, the outermost first.
    pub(crate) fn context_of(&self, path: &str) -> Vec<&str> {
        let around = |folder: &str| {
            let folder = folder.trim_matches('/');
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.context.iter().filter(|(folder, _)| around(folder)).map(|(_, text)| text.as_str()).collect()
    }
}

/// All of them, and what is said of the whole index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QmdCollections {
    /// In the order in which they were added.
    pub collections: Vec<QmdCollection>,
    /// What is said of everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_context: Option<String>,
}

impl QmdCollections {
    /// As the vault of the index has them.
    pub(super) fn in_vault(&self) -> Vec<CollectionConfig> {
        let config = |collection: &QmdCollection| CollectionConfig {
            name: collection.name_in_vault(),
            path: collection.path.clone(),
            pattern: collection.pattern.clone(),
            exclude: collection.ignore.clone(),
            scope: None,
            overlap: true,
        };
        self.collections.iter().map(config).collect()
    }

    /// The one of a name.
    pub(crate) fn named(&self, name: &str) -> Option<&QmdCollection> {
        self.collections.iter().find(|collection| collection.name == name)
    }

    /// Adds one.
    ///
    /// # Errors
    /// When there is one of that name, or of that folder and pattern.
    pub(crate) fn add(&mut self, new: QmdCollection) -> Result<(), QmdError> {
        self.is_free(&new.name)?;
        // As it is written: there may be thousands.
        let place = new.path.as_os_str();
        let same = |other: &&QmdCollection| other.path.as_os_str() == place && other.pattern == new.pattern;
        if let Some(other) = self.collections.iter().find(same) {
            let (name, pattern) = (&other.name, &other.pattern);
            return Err(QmdError::Collection(format!(
                "A collection already exists for this path and pattern:\n  Name: {name} (qmd://{name}/)\n  Pattern: {pattern}"
            )));
        }
        self.collections.push(new);
        Ok(())
    }

    /// Refuses a name that is taken, or told from one by case alone.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn is_free(&self, name: &str) -> Result<(), QmdError> {
        let same = |other: &str| match other.is_ascii() && name.is_ascii() {
            true => other.eq_ignore_ascii_case(name),
            false => folded(other) == folded(name),
        };
        match self.collections.iter().find(|other| same(&other.name)) {
            Some(other) => Err(QmdError::Collection(format!(
                "Collection '{}' already exists. Choose another name with --name, or remove it first.",
                other.name
            ))),
            None => Ok(()),
        }
    }

    /// The collection of a note and its path there, given its path in the vault.
    pub(crate) fn place<'a>(&self, path: &'a str) -> Option<(&QmdCollection, &'a str)> {
        self.collections.iter().find_map(|collection| Some((collection, collection.within(path)?)))
    }

    /// What is said of a note, or nothing.
    pub(crate) fn context_of(&self, collection: &QmdCollection, path: &str) -> Option<String> {
        let all = self.global_context.as_deref().into_iter().chain(collection.context_of(path));
        let all: Vec<&str> = all.collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(name: &str) -> QmdCollection {
        QmdCollection::new(name, Path::new("/x").join(name).as_path(), "**/*.md").unwrap()
    }

    #[test]
    fn what_cannot_be_a_collection_is_refused() {
        for name in ["", "..", ".x", "a/b", "a\\b", "a\0", "memory\0dir", "a\nb", "qmd:x", &"x".repeat(300)] {
            assert!(QmdCollection::new(name, Path::new("/x"), "**").is_err(), "{name:?}");
        }
        for path in ["", "x", "../x", "/a/../b", "/a\0b"] {
            assert!(QmdCollection::new("a", Path::new(path), "**").is_err(), "{path:?}");
        }
        assert!(QmdCollection::new("a", Path::new("/x"), "[").is_err());
    }

    #[test]
    fn names_with_a_meaning_in_a_vault_have_another_there() {
        let mut all = QmdCollections::default();
        for name in ["notes", "Agents", "_notes", "vault", "aq_x"] {
            all.add(collection(name)).unwrap();
        }
        for (path, name) in [
            ("notes/a.md", "notes"),
            ("_notes/a.md", ""),
            ("__notes/a.md", "_notes"),
            ("_Agents/a.md", "Agents"),
            ("_vault/a.md", "vault"),
            ("_aq_x/a.md", "aq_x"),
            ("agents/qmd/agent.md", ""),
        ] {
            let found = all.place(path).map(|(collection, _)| collection.name.as_str());
            assert_eq!(found.unwrap_or_default(), name, "{path}");
        }
        assert!(all.add(collection("NOTES")).unwrap_err().to_string().contains("already exists"));
        let again = QmdCollection { name: "other".into(), ..collection("notes") };
        assert!(all.add(again).unwrap_err().to_string().contains("already exists for this path"));
    }

    #[test]
    fn a_context_is_that_of_all_folders_around_a_note() {
        let mut notes = collection("notes");
        for (folder, text) in [("/", "mine"), ("/work", "of work"), ("/wor", "no")] {
            notes.context.insert(folder.into(), text.into());
        }
        let all = QmdCollections { collections: vec![], global_context: Some("all".into()) };
        assert_eq!(all.context_of(&notes, "work/a.md").unwrap(), "all\n\nmine\n\nof work");
        assert_eq!(QmdCollections::default().context_of(&collection("b"), "a.md"), None);
    }
}
