//! Saves a text as a note, and says so when it can be found.

use blake3::Hash;
use serde_json::{Map, Value};

use crate::access::request::{Owner, RequestError, Workspace, now, text};
use crate::access::rules::Scope;
use crate::base::path::{ROOT_COLLECTION, VaultPath, folded};
use crate::base::redact::redact;
use crate::serve::wire::{SaveParams, Saved};
use crate::text::derive::ChunkId;
use crate::text::note::{Note, compose, kept_private, revise, title_of};
use crate::vault::disk::{
    Action, CheckpointId, Files, WriteError, free_name, is_folder_name, note_names, until_written,
};

/// Maximum length of all metadata, as JSON.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Maximum length of a title, a tag and the name of a collection, in characters.
const MAX_NAME_CHARS: usize = 200;
/// Maximum number of tags.
const MAX_TAGS: usize = 100;
/// Default collection of what is saved.
const DEFAULT_COLLECTION: &str = "snippets";
/// Notes of this collection are known by their titles: saving one again replaces it.
const KNOWN_BY_TITLE: &str = "notes";

/// Saves a text as a new note. The same again is recognised; a note of the same title in `notes` gets the new text. Returns
/// when its words can be found, or after a while: what is written is no error.
///
/// # Errors
/// When a parameter makes no sense, the note was changed at the same moment, or the disk refuses.
pub fn save(owner: &Owner, params: &SaveParams) -> Result<Saved, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let mut new = NewNote::check(params, workspace.redacts())?;
    new.collection = as_on_disk(workspace, new.collection);
    let _one = workspace.one_save();
    let Written { path, existing, hash, checkpoint } =
        until_written(|| Ok::<_, RequestError>(write(owner, files, &new)))?;
    let forgotten = workspace.forgotten.look()?.without(&new.content, &Scope::Everything).is_some();
    let found = workspace.settled_in_time(&path).flatten();
    let (name, chunks) = found.unwrap_or_else(|| (ChunkId::of_note(&path, hash.as_bytes()), 0));
    Ok(Saved {
        ok: true,
        hash: name.to_string(),
        path: path.to_string(),
        chunks,
        existing,
        redacted: new.redacted,
        searchable: found.is_some(),
        forgotten_before: forgotten,
        checkpoint_id: checkpoint.map(|id| id.to_string()),
    })
}

/// The note that has the text now.
struct Written {
    path: VaultPath,
    /// Whether it was there before.
    existing: bool,
    /// BLAKE3 of the file.
    hash: Hash,
    /// What undoes it; none where the note said so already.
    checkpoint: Option<CheckpointId>,
}

fn write(owner: &Owner, files: &Files, new: &NewNote) -> Result<Written, WriteError> {
    let refused = |path: &VaultPath, reason| Err(WriteError::Refused { path: path.to_string(), reason });
    let is_by_title = new.collection.eq_ignore_ascii_case(KNOWN_BY_TITLE);
    let workspace = owner.workspace();
    let known = workspace.shared.snapshot();
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
            return Ok(Written { path, existing: true, hash, checkpoint: None });
        }
        if is_by_title && note.problems.is_empty() {
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
                return refused(&path, "a tag in its text would be lost, and cannot be moved into its frontmatter");
            }
            if is_shown(&text) {
                // It was so by a word of the text that goes.
                changes.insert("private".into(), true.into());
                text = revised(&changes, &tags);
            }
            if is_shown(&text) {
                return refused(&path, "it is private, and the new text would make it public");
            }
            let checkpoint = Some(files.replace(&path, hash, &text, owner.act(Action::Edit))?);
            return Ok(Written { path, existing: true, hash: blake3::hash(text.as_bytes()), checkpoint });
        }
        if is_by_title && note.is_private() {
            // Beside it the new text would be seen.
            return refused(&path, "it is private; repair its frontmatter before you save it again");
        }
    }
    let path = free_name(workspace.home.root(), &new.collection, &new.title);
    let hidden = is_by_title && hides(workspace, files, new, &path)?;
    let text = compose(&kept_private(new.frontmatter(), hidden), &new.content);
    let checkpoint = Some(files.replace(&path, None, &text, owner.act(Action::Create))?);
    Ok(Written { path, existing: false, hash: blake3::hash(text.as_bytes()), checkpoint })
}

/// Whether the person keeps a note of a title private elsewhere, or one of its name cannot be read, so that a new one is to
/// be private from the start.
fn hides(workspace: &Workspace, files: &Files, new: &NewNote, free: &VaultPath) -> Result<bool, WriteError> {
    let known = workspace.shared.snapshot();
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

/// The name of a collection as its folder has it, where one is there in another case or normalisation.
fn as_on_disk(workspace: &Workspace, collection: String) -> String {
    let root = workspace.home.root();
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| folded(name) == folded(&collection))
        .collect();
    names.sort_unstable();
    if names.contains(&collection) { collection } else { names.into_iter().next().unwrap_or(collection) }
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
    fn check(params: &SaveParams, redacts: bool) -> Result<Self, RequestError> {
        let invalid = |message: String| Err(RequestError::invalid(message));
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
            return invalid(format!("`metadata` takes up to {MAX_METADATA_BYTES} bytes of JSON"));
        }
        if let Some(key) = ["title", "created", "updated", "tags"].into_iter().find(|key| metadata.contains_key(*key)) {
            return invalid(format!("`metadata.{key}` cannot be set: `{key}` has a field of its own"));
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
        let own: [(&str, Value); 4] = [
            ("title", self.title.clone().into()),
            ("created", now().into()),
            ("source", "save".into()),
            ("tags", self.tags.clone().into()),
        ];
        own.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(self.metadata.clone()).collect()
    }

    /// What a note that is there says from now on.
    fn changes(&self) -> Map<String, Value> {
        std::iter::once(("updated".to_owned(), now().into())).chain(self.metadata.clone()).collect()
    }
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

fn line(field: &str, text: &str) -> Result<(), RequestError> {
    let message = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.chars().count() > MAX_NAME_CHARS {
        format!("has over {MAX_NAME_CHARS} characters")
    } else if text.chars().any(char::is_control) {
        "has a control character".to_owned()
    } else {
        return Ok(());
    };
    Err(RequestError::invalid(format!("`{field}` {message}")))
}
