//! The collections of an index: as `qmd collection` makes them, as its folder keeps them, and as a QMD that was there before has them.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::place::{IndexPaths, QmdError};
use crate::base::config::{CollectionConfig, FILE_NAME, MAX_FILE_BYTES};
use crate::base::fs::{Context, create_private_dir, write_atomically};
use crate::base::path::folded;
use crate::text::note::yaml_mapping;
use crate::vault::disk::{Globs, below_home};

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
        let refuse = |why: String| Err(QmdError::Refused(why));
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
            return Err(QmdError::Refused(format!("what the collection {name} ignores cannot be read: {error}")));
        }
        if let Some(wrong) = ignore.iter().find(|glob| glob.chars().any(char::is_control)) {
            return Err(QmdError::Refused(format!("{wrong:?}, to be ignored, has a control character")));
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

    /// The one of a name, which has to be there.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn required(&self, name: &str) -> Result<&QmdCollection, QmdError> {
        self.named(name).ok_or_else(|| QmdError::no_collection(name))
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// When it is not there.
    pub(crate) fn required_mut(&mut self, name: &str) -> Result<&mut QmdCollection, QmdError> {
        let found = self.collections.iter_mut().find(|collection| collection.name == name);
        found.ok_or_else(|| QmdError::no_collection(name))
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
            return Err(QmdError::Refused(format!(
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
            Some(other) => Err(QmdError::Refused(format!(
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

    /// Those of an index; `None` where there is none yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn load(place: &IndexPaths) -> Result<Option<Self>, QmdError> {
        let path = place.folder.join(COLLECTIONS);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.on("read", &path)?,
        };
        let wrong = |error| QmdError::Refused(format!("{} cannot be read: {error}", path.display()));
        serde_json::from_slice(&bytes).map(Some).map_err(wrong)
    }

    /// Keeps them, with all that makes the folder a vault. Only who has the vault's lock may change one that is there.
    ///
    /// # Errors
    /// When it cannot be written, or they are too many for one.
    pub(crate) fn save(&self, place: &IndexPaths) -> Result<(), QmdError> {
        let folder = &place.folder;
        let settings = self.vault_settings(folder)?;
        if settings.len() as u64 > MAX_FILE_BYTES {
            return Err(QmdError::Refused(format!(
                "{} collections are more than one index takes (their settings have {} bytes, of at most {MAX_FILE_BYTES}); \
                 `--index NAME` makes another",
                self.collections.len(),
                settings.len()
            )));
        }
        create_private_dir(folder)?;
        let page = page_of(folder);
        create_private_dir(page.parent().unwrap_or(folder))?;
        // What a person has changed in it counts.
        if !page.exists() {
            write_atomically(&page, PAGE.as_bytes(), 0o600)?;
        }
        let path = folder.join(COLLECTIONS);
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other).on("encode", &path)?;
        place.remember()?;
        write_atomically(&folder.join(FILE_NAME), settings.as_bytes(), 0o600)?;
        // Last: while it is not there, the index is not.
        Ok(write_atomically(&path, &text, 0o600)?)
    }

    /// The `memory.toml` of the vault, with what a person has changed of it.
    fn vault_settings(&self, folder: &Path) -> Result<String, QmdError> {
        let before = fs::read_to_string(folder.join(FILE_NAME)).unwrap_or_default();
        let head = before.split_once(BELOW).map_or(HEAD, |(head, _)| head);
        let below = match self.in_vault() {
            // An empty list would be a key of the section above.
            none if none.is_empty() => String::new(),
            all => toml::to_string(&BTreeMap::from([("collections", all)]))
                .map_err(|error| QmdError::Refused(error.to_string()))?,
        };
        Ok(format!("{head}{BELOW}\n{below}"))
    }

    /// Those that the configuration of a QMD names, and what of it could not be taken over.
    pub(crate) fn take_over(place: &IndexPaths) -> (Self, Vec<String>) {
        let mut text = String::new();
        let read = File::open(&place.former).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => (Self::default(), Vec::new()),
            Err(error) => (Self::default(), vec![format!("{} cannot be read: {error}", place.former.display())]),
            Ok(_) => Self::of_text(&text, place.project()),
        }
    }

    fn of_text(text: &str, project: Option<&Path>) -> (Self, Vec<String>) {
        let (mut all, mut left) = (Self::default(), Vec::new());
        let settings = yaml_mapping(text).unwrap_or_else(|why| {
            left.push(format!("none of it can be read, and its collections are to be added: {why}"));
            Map::new()
        });
        all.global_context = settings.get("global_context").and_then(Value::as_str).map(str::to_owned);
        let none = Map::new();
        for (name, value) in settings.get("collections").and_then(Value::as_object).unwrap_or(&none) {
            let said = |key: &str| value.get(key).and_then(Value::as_str);
            let path = said("path").unwrap_or_default();
            let path = match project.map(|project| within(project, path)) {
                Some(Some(path)) => path,
                Some(None) => {
                    left.push(format!(
                        "the collection {name}: {path} is no folder of the project; `qmd collection add` takes it"
                    ));
                    continue;
                }
                None => below_home(Path::new(path)).into_owned(),
            };
            let made = QmdCollection::new(name, &path, said("pattern").unwrap_or(EVERY_NOTE)).and_then(|mut made| {
                let context = value.get("context").and_then(Value::as_object).into_iter().flatten();
                made.context =
                    context.filter_map(|(folder, text)| Some((folder.clone(), text.as_str()?.into()))).collect();
                made.is_left_out = value.get("includeByDefault") == Some(&Value::Bool(false));
                made.update = said("update").map(str::to_owned);
                all.add(made.ignoring(texts(value.get("ignore")))?)
            });
            if let Err(error) = made {
                left.push(error.to_string());
            }
            if value.get("update").is_some_and(|value| !value.is_null()) {
                left.push(format!("the collection {name}: the command of an update, which is not run"));
            }
        }
        (all, left)
    }
}

/// The agent as which an index is asked: it sees all but private notes, and writes nothing.
pub(crate) const AGENT: &str = "qmd";

/// The version of QMD whose commands and tools these are, and what answers.
pub(crate) const QMD_VERSION: &str = concat!("2.8.3 (vault ", env!("CARGO_PKG_VERSION"), ")");

const COLLECTIONS: &str = "qmd.json";

/// What stands above is the person's, what stands below is written anew.
const BELOW: &str = "# What is below this line is written anew with each change of a collection.\n";

const HEAD: &str =
    "# An index that is asked as `qmd`. What stands above the last comment is yours, and counts when it is opened next.

[search]
per_file = 1

[memory]
enabled = false
summary_retention_days = 0

";

const PAGE: &str = "---
title: qmd
can_read_user_memory: true
collections: [\"*\"]
write_mode: \"off\"
limits:
  max_results: 1000
  max_snippet_chars: 10000
  max_injected_chars: 1000000
  timeout_ms: 60000
  requests_per_minute: 100000
---

Programs that call `qmd` read as this agent: private notes stay hidden from them.
";

/// The page of the agent, given the folder of an index.
pub(super) fn page_of(folder: &Path) -> PathBuf {
    folder.join("agents").join(AGENT).join("agent.md")
}

/// Maximum length of what is read of a configuration, in bytes. None that a person writes is longer.
const MAX_BYTES: u64 = 1 << 20;

/// What a collection without a pattern has.
const EVERY_NOTE: &str = "**/*.md";

/// One text, or a list of them.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// A folder that the configuration of a project names, if it lies within that: the configuration comes with whatever repository somebody
/// has made, and names no folder of the person's elsewhere.
fn within(project: &Path, path: &str) -> Option<PathBuf> {
    let folder = project.join(path).canonicalize().ok()?;
    folder.starts_with(project.canonicalize().ok()?).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::QmdCollection;
    use super::*;
    use crate::base::config::Config;
    use crate::serve::qmd::place::IndexVariables;

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

    #[test]
    fn the_folder_is_a_private_vault_and_what_a_person_wrote_in_it_stays() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = IndexPaths::of(None, &IndexVariables::default()).unwrap();
        let place = IndexPaths { folder: folder.path().join("x"), ..place };
        assert_eq!(QmdCollections::load(&place).unwrap(), None);
        let mut all = QmdCollections::default();
        all.add(QmdCollection::new("my \"notes\"", Path::new("/a \\ b"), "**/*.md").unwrap()).unwrap();
        let agents = QmdCollection::new("agents", Path::new("/a \\ b/c"), "*.md").unwrap();
        all.add(agents.ignoring(vec!["old \"x\"/**".into(), "y".into()]).unwrap()).unwrap();
        all.save(&place).unwrap();
        let config = Config::load(&place.folder).unwrap();
        let names: Vec<&str> = config.collections.iter().map(|collection| collection.name.as_str()).collect();
        assert_eq!(names, ["my \"notes\"", "_agents"]);
        assert_eq!(config.collections[0].path, Path::new("/a \\ b"));
        assert_eq!(config.collections[1].exclude, ["old \"x\"/**", "y"]);
        assert_eq!(IndexPaths::of_folder(&place.folder), Some(place.clone()));
        let file = place.folder.join(FILE_NAME);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("[embed]\nmodel = \"none\"\n{text}")).unwrap();
        // So many that no vault would open are not kept.
        let mut many = all.clone();
        for at in 0..1000 {
            let path = format!("/a/{}/{at}", "long".repeat(300));
            many.add(QmdCollection::new(&format!("many-{at}"), Path::new(&path), "**/*.md").unwrap()).unwrap();
        }
        assert!(many.save(&place).unwrap_err().to_string().contains("--index NAME"));
        assert_eq!(QmdCollections::load(&place).unwrap().as_ref(), Some(&all));
        all.collections.pop();
        all.save(&place).unwrap();
        let config = Config::load(&place.folder).unwrap();
        assert_eq!((config.collections.len(), &*config.embed.model, config.search.per_file), (1, "none", 1));
        assert_eq!(QmdCollections::load(&place).unwrap(), Some(all));
        assert_eq!(place.folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let note = crate::text::note::Note::parse(PAGE, AGENT);
        let policy = crate::access::rules::Policy::parse(&note.metadata);
        assert!(policy.problems.is_empty() && policy.grant.is_some(), "{policy:?}");
    }

    #[test]
    fn collections_are_taken_over_and_commands_are_not() {
        let (all, left) = QmdCollections::of_text(
            "global_context: Mine.\ncollections:\n  notes:\n    path: /home/me/notes\n    pattern: '**/*.md'\n    \
             context:\n      /: All notes.\n    update: 'git pull; touch /tmp/x'\n    includeByDefault: false\n  ../bad:\n    path: /x\n  \
             \"a\\0b\":\n    path: /y\n  docs:\n    path: relative\n  more:\n    path: /z\n    ignore: ['x/**', 3]\n  \
             single:\n    path: /s\n    ignore: old\n  bad:\n    path: /b\n    ignore: ['[']\n",
            None,
        );
        let names: Vec<&str> = all.collections.iter().map(|collection| collection.name.as_str()).collect();
        assert_eq!(names, ["notes", "more", "single"]);
        let [notes, more, ..] = &all.collections[..] else { panic!("three") };
        assert_eq!((notes.is_left_out, notes.update.as_deref()), (true, Some("git pull; touch /tmp/x")));
        assert_eq!((more.is_left_out, more.update.as_deref()), (false, None));
        assert_eq!(
            (&all.collections[1].ignore[..], &all.collections[2].ignore[..]),
            (&["x/**".to_owned()][..], &["old".to_owned()][..])
        );
        assert_eq!(all.context_of(&all.collections[0], "a.md").unwrap(), "Mine.\n\nAll notes.");
        assert_eq!(left.len(), 5, "{left:?}");
        for (hostile, told) in
            [("", 0), ("[[[[", 1), ("collections: 3", 0), ("a: &a [*a]", 1), ("---\n---\n", 1), ("a: 1\na: 2\n", 1)]
        {
            let (all, left) = QmdCollections::of_text(hostile, None);
            assert_eq!((all.collections.len(), left.len()), (0, told), "{hostile}: {left:?}");
        }
        let many: String = (0..2000).map(|at| format!("  c{at}:\n    path: /home/me/notes/number-{at}\n")).collect();
        let (all, left) = QmdCollections::of_text(&format!("collections:\n{many}"), None);
        assert_eq!((all.collections.len(), left.len()), (2000, 0));
    }
    #[test]
    fn the_configuration_of_a_project_names_folders_of_that_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (project, elsewhere) = (folder.path().join("project"), folder.path().join("elsewhere"));
        std::fs::create_dir_all(project.join("docs")).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, project.join("link")).unwrap();
        let text = format!(
            "collections:\n  one:\n    path: docs\n  two:\n    path: {}\n  all:\n    path: .\n  out:\n    path: {}\n  \
             up:\n    path: ../elsewhere\n  link:\n    path: link\n  home:\n    path: '~/notes'\n  none:\n    path: none\n",
            project.join("docs").display(),
            elsewhere.display()
        );
        let (all, left) = QmdCollections::of_text(&text, Some(&project));
        let names: Vec<&str> = all.collections.iter().map(|collection| collection.name.as_str()).collect();
        // `two` is `one`, by another name.
        assert_eq!(names, ["one", "all"]);
        assert_eq!(all.collections[1].path, project.canonicalize().unwrap());
        assert_eq!(left.len(), 6, "{left:?}");
    }
}
