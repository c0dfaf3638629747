//! Saves a text as a note, and says so when it can be found.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use blake3::Hash;
use jiff::Zoned;
use serde_json::{Map, Value};

use super::error::ServiceError;
use super::start::Service;
use super::views::{SaveParams, Saved};
use crate::access::Principal;
use crate::capture::{kept_private, redact};
use crate::derive::ChunkId;
use crate::note::{Note, compose, revise, title_of, written};
use crate::path::{ROOT_COLLECTION, VaultPath, folded};
use crate::vault::{Action, Change, Files, Rules, Signal, WriteError, free_name, is_folder_name, note_names};

/// Texts over this are refused: what is longer is a document, and can be put into the folder.
const MAX_CONTENT_BYTES: usize = 50 * 1024;
/// Likewise of all metadata, as JSON.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Characters of a title, a tag and the name of a collection.
const MAX_NAME_CHARS: usize = 200;
const MAX_TAGS: usize = 100;
/// Where what is saved goes when nobody says.
const DEFAULT_COLLECTION: &str = "snippets";
/// Notes of this collection are known by their titles: saving one again replaces it.
const KNOWN_BY_TITLE: &str = "notes";
/// What is written is found after milliseconds; a bulk import may hold it up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The disk is looked at again so often, and whenever the index has changed.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Service {
    /// Saves a text as a new note. The same again is recognised; a note of the same title in `notes` gets the new text. Returns
    /// when its words can be found, or after a while: what is written is no error.
    ///
    /// # Errors
    /// When a parameter makes no sense, the note was changed at the same moment, or the disk refuses.
    pub fn save(&self, principal: &Principal, params: &SaveParams) -> Result<Saved, ServiceError> {
        self.owner_only(principal)?;
        let files = self.files()?;
        let mut new = NewNote::check(params, self.switches.capture().redact)?;
        new.collection = self.as_on_disk(new.collection);
        let _one = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, existing, hash) = match self.write(files, &new) {
            // Somebody took the name, or edited the note, at this very moment.
            Err(WriteError::Exists(_) | WriteError::Changed(_) | WriteError::Gone(_)) => self.write(files, &new)?,
            written => written?,
        };
        let found = self.settled_in_time(&path).flatten();
        let (name, chunks) = found.unwrap_or_else(|| (ChunkId::of_note(&path, hash.as_bytes()), 0));
        Ok(Saved {
            ok: true,
            hash: name.to_string(),
            path: path.to_string(),
            chunks,
            existing,
            redacted: new.redacted,
            searchable: found.is_some(),
        })
    }

    /// The note that has the text now, whether it was there before, and BLAKE3 of it.
    fn write(&self, files: &Files, new: &NewNote) -> Result<(VaultPath, bool, Hash), WriteError> {
        let known = self.shared.snapshot();
        let mut candidates: Vec<VaultPath> = known
            .iter()
            .flat_map(|snapshot| snapshot.files().iter())
            .filter(|file| file.path.collection() == new.collection && file.title == new.title)
            .map(|file| file.path.clone())
            .collect();
        candidates.sort_unstable();
        for path in candidates {
            let Some((bytes, hash)) = files.read(&path)? else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let note = Note::parse(&text, path.stem());
            if note.title != new.title {
                continue;
            }
            let body = text[note.body.clone()].trim().replace("\r\n", "\n");
            let has = |(key, value): (&String, &Value)| note.metadata.get(key) == Some(value);
            if body == new.content.trim()
                && new.metadata.iter().all(has)
                && new.tags.iter().all(|tag| note.tags.contains(tag))
            {
                return Ok((path, true, hash));
            }
            if new.collection.eq_ignore_ascii_case(KNOWN_BY_TITLE) && note.problems.is_empty() {
                let revised = |changes: &Map<String, Value>, tags: &[String]| {
                    revise(&text, path.stem(), &new.title, changes, tags, &new.content)
                };
                let is_shown = |text: &str| note.is_private() && !Note::parse(text, path.stem()).is_private();
                let mut changes = new.changes();
                let mut text = revised(&changes, &new.tags);
                let lost = note.tags_missing_in(&Note::parse(&text, path.stem()));
                let tags = [new.tags.clone(), lost].concat();
                text = revised(&changes, &tags);
                if !note.tags_missing_in(&Note::parse(&text, path.stem())).is_empty() {
                    let reason = "a tag in its text would go, and cannot be put into its frontmatter";
                    return Err(WriteError::Refused { path: path.to_string(), reason });
                }
                if is_shown(&text) {
                    // It was so by a word of the text that goes.
                    changes.insert("private".into(), true.into());
                    text = revised(&changes, &tags);
                }
                if is_shown(&text) {
                    let reason = "it is private, and would not be with the new text";
                    return Err(WriteError::Refused { path: path.to_string(), reason });
                }
                files.replace(&path, hash, &text, Action::Edit)?;
                return Ok((path, true, blake3::hash(text.as_bytes())));
            }
            if new.collection.eq_ignore_ascii_case(KNOWN_BY_TITLE) && note.is_private() {
                // Beside it the new text would be seen.
                let reason = "it is private, and its frontmatter has to be mended before it can be saved again";
                return Err(WriteError::Refused { path: path.to_string(), reason });
            }
        }
        let path = free_name(self.home.root(), &new.collection, &new.title);
        let hidden = new.collection.eq_ignore_ascii_case(KNOWN_BY_TITLE) && self.hides(files, new, &path)?;
        let hash = files.create(&path, &compose(&kept_private(new.frontmatter(), hidden), &new.content))?;
        Ok((path, false, hash))
    }

    /// Whether the person keeps a note of a title private elsewhere, or one of its name cannot be read, so that a new one is to
    /// be private from the start.
    fn hides(&self, files: &Files, new: &NewNote, free: &VaultPath) -> Result<bool, WriteError> {
        let known = self.shared.snapshot();
        let private = known
            .iter()
            .flat_map(|snapshot| snapshot.files().facets().private().iter().filter_map(|id| snapshot.files().get(id)));
        if private.into_iter().any(|file| file.title == new.title) {
            return Ok(true);
        }
        for path in note_names(&new.collection, &new.title).take_while(|path| path != free) {
            if files.read(&path)?.is_some_and(|(bytes, _)| String::from_utf8(bytes).is_err()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until the index says of a file that was changed what the disk does: how the note is named and how many passages it
    /// has, or that there is none. `None` when it does not in time, which does not undo the change.
    pub(super) fn settled_in_time(&self, path: &VaultPath) -> Option<Option<(ChunkId, usize)>> {
        self.settled_within(path, PATIENCE).inspect_err(|error| tracing::warn!("{error}")).ok()
    }

    /// The same for those who wait no longer than `patience`.
    pub(super) fn settled_within(
        &self,
        path: &VaultPath,
        patience: Duration,
    ) -> Result<Option<(ChunkId, usize)>, ServiceError> {
        let behind = |why: String| {
            let message = format!("`{path}` is written, and the index does not follow{why}");
            ServiceError::unavailable(message, "`vault status` says what the indexer is doing")
        };
        let deadline = Instant::now() + patience;
        let mut left_out = None;
        // It is whole, as if its writer had closed it.
        let noticed = self.notice(vec![Signal::Changed(path.clone(), Change::Closed)]);
        noticed.map_err(|error| behind(format!(": {error}")))?;
        loop {
            let now = self.files()?.read(path)?.map(|(_, hash)| hash);
            let snapshot = self.shared.snapshot();
            let known = snapshot.as_ref().and_then(|snapshot| snapshot.files().at(path.as_str()));
            match (now, known) {
                (Some(hash), Some(file)) if *hash.as_bytes() == file.hash => {
                    return Ok(Some((ChunkId::of_note(path, &file.hash), file.chunks.len())));
                }
                (None, None) => return Ok(None),
                // What is left out of the index is there all the same.
                (Some(hash), None) if *left_out.get_or_insert_with(|| self.leaves_out(path)) => {
                    return Ok(Some((ChunkId::of_note(path, hash.as_bytes()), 0)));
                }
                _ if Instant::now() > deadline => return Err(behind(" yet".into())),
                _ => self.shared.wait_for_other(snapshot.as_ref(), LOOK_AGAIN),
            }
        }
    }

    /// The name of a collection as its folder has it, where one is there in another case or normalisation.
    fn as_on_disk(&self, collection: String) -> String {
        let root = self.home.root();
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| folded(name) == folded(&collection))
            .collect();
        names.sort_unstable();
        if names.contains(&collection) { collection } else { names.into_iter().next().unwrap_or(collection) }
    }

    pub(super) fn leaves_out(&self, path: &VaultPath) -> bool {
        Rules::new(self.home.root(), &self.config.index.exclude).is_ok_and(|rules| !rules.takes(path))
    }

    /// The one who writes notes, where the vault is and is ours.
    pub(super) fn files(&self) -> Result<&Files, ServiceError> {
        let Some((files, lock)) = self.files.as_ref().zip(self.lock.as_ref()) else {
            return Err(ServiceError::unavailable("another process is writing this vault", "try again in a moment"));
        };
        if !lock.is_held() {
            let message = format!("{} is not there, or another process has it", self.home.root().display());
            return Err(ServiceError::unavailable(message, "nothing was written; `vault status` says more"));
        }
        Ok(files)
    }

    /// Only the person changes the person's memory.
    pub(super) fn owner_only(&self, principal: &Principal) -> Result<(), ServiceError> {
        match principal {
            Principal::Owner => Ok(()),
            Principal::Capture(_) | Principal::Agent(_) => {
                Err(ServiceError::forbidden("only the vault's owner may do this"))
            }
        }
    }
}

/// A note that is to be written, as checked.
struct NewNote {
    title: String,
    collection: String,
    content: String,
    tags: Vec<String>,
    metadata: Map<String, Value>,
    /// Whether the content had secrets.
    redacted: bool,
}

impl NewNote {
    /// With `redacts` secrets are taken out first.
    fn check(params: &SaveParams, redacts: bool) -> Result<Self, ServiceError> {
        let invalid = |message: String| Err(ServiceError::invalid(message));
        let content = text("content", &params.content)?;
        let clean = |text: &str| if redacts { redact(text).into_owned() } else { text.to_owned() };
        let given = content;
        let content = clean(&given);
        let collection = params.collection.clone().unwrap_or_else(|| DEFAULT_COLLECTION.into());
        line("collection", &collection)?;
        if !is_folder_name(&collection) || collection.to_lowercase() == ROOT_COLLECTION {
            return invalid(format!("`collection` is {collection:?}; it takes the name of a top-level folder"));
        }
        let title = match &params.title {
            Some(title) => clean(title.trim()),
            None => title_of(&content, "Snippet"),
        };
        line("title", &title)?;
        let given_tags = params.tags.clone().unwrap_or_default();
        if given_tags.len() > MAX_TAGS {
            return invalid(format!("`tags` has {} tags; it takes {MAX_TAGS}", given_tags.len()));
        }
        for tag in &given_tags {
            line("tags", tag)?;
            if tag.contains(char::is_whitespace) || tag.starts_with('#') {
                return invalid(format!("`tags` has `{tag}`; a tag has no white space and no `#`"));
            }
        }
        let metadata = params.metadata.clone().unwrap_or_default();
        if serde_json::to_string(&metadata).map_or(usize::MAX, |json| json.len()) > MAX_METADATA_BYTES {
            return invalid(format!("`metadata` takes {MAX_METADATA_BYTES} bytes of JSON"));
        }
        if let Some(key) = ["title", "created", "updated", "tags"].into_iter().find(|key| metadata.contains_key(*key)) {
            return invalid(format!("`metadata.{key}` has a place of its own"));
        }
        if let Some(key) = metadata.keys().find(|key| key.trim().is_empty() || key.chars().any(char::is_control)) {
            return invalid(format!("`metadata` has the key {key:?}"));
        }
        // What is taken out of a tag leaves a word that a tag can be.
        let tags: Vec<String> = given_tags.iter().map(|tag| as_tag(&clean(tag))).collect();
        let given_metadata = metadata;
        let mut metadata = given_metadata.clone();
        metadata.iter_mut().for_each(|(key, value)| clean_all(key, value, &clean));
        let redacted = content != given
            || tags != given_tags
            || metadata != given_metadata
            || params.title.as_ref().is_some_and(|given| given.trim() != title);
        Ok(Self { title, collection, content, tags, metadata, redacted })
    }

    fn frontmatter(&self) -> Map<String, Value> {
        let mut frontmatter = Map::new();
        frontmatter.insert("title".into(), self.title.clone().into());
        frontmatter.insert("created".into(), now().into());
        frontmatter.insert("source".into(), "save".into());
        frontmatter.insert("tags".into(), self.tags.clone().into());
        frontmatter.extend(self.metadata.clone());
        frontmatter
    }

    /// What a note that is there says from now on.
    fn changes(&self) -> Map<String, Value> {
        let mut changes = Map::new();
        changes.insert("updated".into(), now().into());
        changes.extend(self.metadata.clone());
        changes
    }
}

/// A text of somebody's, checked.
pub(super) fn text(field: &str, text: &str) -> Result<String, ServiceError> {
    let text = text.replace("\r\n", "\n");
    let message = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.len() > MAX_CONTENT_BYTES {
        format!("has {} bytes; it takes {MAX_CONTENT_BYTES}", text.len())
    } else if let Some(odd) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        format!("has the control character {odd:?}")
    } else {
        return Ok(text);
    };
    Err(ServiceError::invalid(format!("`{field}` {message}")))
}

/// Cleans every text in a value, told by the key it has: a password is known by its name.
fn clean_all(key: &str, value: &mut Value, clean: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => {
            let cleaned = clean(text);
            let before = format!("{key}={text}");
            let named = clean(&before);
            *text = match named.strip_prefix(key).and_then(|named| named.strip_prefix('=')) {
                Some(named) if cleaned == *text && named != *text => named.to_owned(),
                _ => cleaned,
            };
        }
        Value::Array(values) => values.iter_mut().for_each(|value| clean_all(key, value, clean)),
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| clean_all(key, value, clean)),
        _ => {}
    }
}

/// A tag after secrets were taken out of it: without the white space and brackets of the mark.
fn as_tag(tag: &str) -> String {
    let words: Vec<&str> = tag.split([' ', ':', '[', ']']).filter(|word| !word.is_empty()).collect();
    if tag.contains(' ') { words.join("-") } else { tag.to_owned() }
}

fn line(field: &str, text: &str) -> Result<(), ServiceError> {
    let message = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.chars().count() > MAX_NAME_CHARS {
        format!("has over {MAX_NAME_CHARS} characters")
    } else if text.chars().any(char::is_control) {
        "has a control character".to_owned()
    } else {
        return Ok(());
    };
    Err(ServiceError::invalid(format!("`{field}` {message}")))
}

/// Now, in the person's time zone, as people write it.
pub(super) fn now() -> String {
    written(&Zoned::now())
}
