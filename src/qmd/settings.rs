//! The files of an index: `qmd.json`, which has its collections, and what is made of that for the vault that it is.

use std::fs;
use std::path::{Path, PathBuf};

use super::collection::QmdCollections;
use super::error::QmdError;
use super::place::IndexPlace;
use crate::config::{FILE_NAME, MAX_FILE_BYTES};
use crate::fs::{Context, create_private_dir, write_atomically};

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

impl QmdCollections {
    /// Those of an index; `None` where there is none yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn load(place: &IndexPlace) -> Result<Option<Self>, QmdError> {
        let path = place.folder.join(COLLECTIONS);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.on("read", &path)?,
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|error| QmdError::Settings { path, reason: error.to_string() })
    }

    /// Keeps them, with all that makes the folder a vault. Only who has the vault's lock may change one that is there.
    ///
    /// # Errors
    /// When it cannot be written, or they are too many for one.
    pub(crate) fn save(&self, place: &IndexPlace) -> Result<(), QmdError> {
        let folder = &place.folder;
        let settings = self.vault_settings(folder);
        if settings.len() as u64 > MAX_FILE_BYTES {
            return Err(QmdError::Collection(format!(
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
    fn vault_settings(&self, folder: &Path) -> String {
        let before = fs::read_to_string(folder.join(FILE_NAME)).unwrap_or_default();
        let head = before.split_once(BELOW).map_or(HEAD, |(head, _)| head);
        let mut text = format!("{head}{BELOW}");
        // TOML reads the strings of JSON as JSON does; no name and no path has a control character.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        for collection in self.in_vault() {
            text += &format!(
                "\n[[collections]]\nname = {}\npath = {}\npattern = {}\noverlap = true\n",
                quoted(&collection.name),
                quoted(&collection.path.to_string_lossy()),
                quoted(&collection.pattern)
            );
            if !collection.exclude.is_empty() {
                text += &format!("exclude = {}\n", serde_json::Value::from(collection.exclude));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::collection::QmdCollection;
    use super::super::place::IndexVariables;
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_folder_is_a_private_vault_and_what_a_person_wrote_in_it_stays() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = IndexPlace::of(None, &IndexVariables::default()).unwrap();
        let place = IndexPlace { folder: folder.path().join("x"), ..place };
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
        assert_eq!(IndexPlace::of_folder(&place.folder), Some(place.clone()));
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
        let note = crate::note::Note::parse(PAGE, AGENT);
        let policy = crate::access::Policy::parse(&note.metadata);
        assert!(policy.problems.is_empty() && policy.grant.is_some(), "{policy:?}");
    }
}
