//! The files of an index's collections, as far as programs may see them: by what the page of its agent gives, as its searches have it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::collections::{AGENT, page_of};
use super::documents::SeenText;
use super::place::QmdError;
use crate::access::rules::{Globs, Grant, Policy, Session, Subject, is_agents_elsewhere, may_read};
use crate::base::config::{CollectionConfig, Config};
use crate::base::path::VaultPath;
use crate::text::derive::note_sources;
use crate::text::note::Note;
use crate::vault::disk::{NoteRules, Outside, OutsideFolder, ReadError, Scan, globs, is_note, read, scan};

/// The rules by which notes of an index are given.
#[derive(Clone)]
pub(super) struct QmdVisibility {
    /// `None` where nothing is.
    grant: Option<Grant>,
    /// Private by their place.
    private: Globs,
    /// Another, where any rule is another.
    pub(super) digest: String,
}

impl QmdVisibility {
    /// The rules as they are now. A page that cannot be read gives nothing.
    ///
    /// # Errors
    /// When a glob cannot be read.
    pub(super) fn of(folder: &Path, config: &Config) -> Result<Self, QmdError> {
        let private = globs("access.private", &config.access.private);
        let private = private.map_err(|error| QmdError::Collection(error.to_string()))?;
        let page = fs::read_to_string(page_of(folder)).unwrap_or_default();
        let policy = Policy::parse(&Note::parse(&page, AGENT).metadata);
        let counts = !policy.is_expired(jiff::Timestamp::now()) && may_read(&config.scope, &Session::direct());
        let index = &config.index;
        let rules = format!("{counts} {page} {:?} {:?} {}", config.access.private, index.exclude, index.max_file_bytes);
        let grant = policy.grant.map(|grant| grant.with_folders(&config.collections)).filter(|_| counts);
        Ok(Self { grant, private, digest: blake3::hash(rules.as_bytes()).to_hex().to_string() })
    }

    /// Whether a note is given, whatever it was made of.
    pub(super) fn gives(&self, path: &VaultPath, note: &Note) -> bool {
        let private = note.is_private() || self.private.is_match(path.as_str());
        let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private };
        self.grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none())
    }
}

/// How often a file is looked at that is just being written, and how long after.
const LOOKS: usize = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Maximum number of notes that one may have been made of, each of another: of more it is not known whether all are seen.
const MAX_SOURCES: usize = 500;

/// The files, by the rules as they were when this was made.
#[derive(Clone)]
pub(super) struct SeenFiles {
    root: PathBuf,
    places: Outside,
    rules: NoteRules,
    sight: QmdVisibility,
    max_file_bytes: u64,
}

impl SeenFiles {
    /// Those of the collections of an index, by what its `memory.toml` and its agent's page say now.
    ///
    /// # Errors
    /// When the configuration cannot be read, or the collections make no sense together.
    pub(super) fn of(root: &Path, collections: &[CollectionConfig]) -> Result<Self, QmdError> {
        let wrong = |error: &dyn std::fmt::Display| QmdError::Collection(error.to_string());
        let config = Config::load(root).map_err(|error| wrong(&error))?;
        let places = Outside::new(root, collections).map_err(|error| wrong(&error))?;
        let rules = NoteRules::new(root, &config.index.exclude).map_err(|error| wrong(&error))?;
        Ok(Self {
            root: root.to_owned(),
            rules: rules.with_outside(places.clone()),
            places,
            sight: QmdVisibility::of(root, &config)?,
            max_file_bytes: config.index.max_file_bytes,
        })
    }

    /// Another, where any rule is another.
    pub(super) fn rules_digest(&self) -> &str {
        &self.sight.digest
    }

    /// Where a file is.
    pub(super) fn on_disk(&self, path: &VaultPath) -> PathBuf {
        self.places.on_disk(&self.root, path)
    }

    /// The files of a collection, whether they are seen or not.
    pub(super) fn scan(&self, collection: &VaultPath) -> Scan {
        scan(&self.root, &self.rules, Some(collection))
    }

    /// What is read of a file; `None` for what is no note that programs may see.
    pub(super) fn read(&self, path: &VaultPath) -> Option<SeenText> {
        self.read_with_sources(path, &mut BTreeSet::new())
    }

    /// The same, given the notes that were made of it: in a circle each is seen where all others are.
    fn read_with_sources(&self, path: &VaultPath, above: &mut BTreeSet<String>) -> Option<SeenText> {
        // A link on the way leads out of the collection.
        if above.len() > MAX_SOURCES || !is_note(&self.root, &self.rules, path) {
            return None;
        }
        let (folder, Some(within)) = self.places.place(&self.root, path) else { return None };
        if is_agents_elsewhere(within.as_str()) {
            return None;
        }
        for _ in 0..LOOKS {
            match read(folder, &within, self.max_file_bytes) {
                Ok(source) => {
                    let note = Note::parse(&source.text, path.stem());
                    if !self.sight.gives(path, &note) {
                        return None;
                    }
                    above.insert(path.to_string());
                    let elsewhere = self.places.of(path).map(OutsideFolder::name);
                    let sources = note_sources(&note, &within, elsewhere, &source.text);
                    for named in &sources {
                        if above.contains(named) {
                            continue;
                        }
                        self.read_with_sources(&VaultPath::new(named.as_str()).ok()?, above)?;
                    }
                    let derived = !sources.is_empty();
                    return Some(SeenText { text: source.text, stamp: source.stamp, title: note.title, derived });
                }
                Err(ReadError::Changing) => std::thread::sleep(LOOK_AGAIN),
                Err(ReadError::Gone | ReadError::Unfit(_)) => break,
            }
        }
        None
    }
}
