//! What an agent writes into notes itself, in the collections where its page lets it: exact edits, lines, and new notes.
//!
//! It edits only what it reads. What decides who else reads a note stays the owner's, and each change can be undone.

use serde_json::json;

use super::exact_edits::{refusal, with_edits, with_lines};
use super::suggestions::{brought, forgotten, misplaced, note_to_edit};
use crate::access::request::{MemoryWriter, RequestError, Workspace, note_path, now};
use crate::access::rules::Subject;
use crate::base::path::{ROOT_COLLECTION, VaultPath};
use crate::base::redact::redact;
use crate::serve::wire::{AgentWriteParams, AgentWritten, TextEdit};
use crate::text::derive::USER_FILE;
use crate::text::derive::generated::is_generated;
use crate::text::note::{Note, compose};
use crate::vault::disk::{Action, WriteError, is_folder_name, slug};

/// Collections that are the program's to keep in order.
const KEPT: [&str; 4] = ["memories", "profile", "summaries", "annotations"];

/// Writes into a note, or makes one. Returns when it can be found.
///
/// # Errors
/// When its page does not let it, it sees no such note, the edit cannot be made, or would change who reads the note.
pub(crate) fn agent_write(writer: &MemoryWriter, params: &AgentWriteParams) -> Result<AgentWritten, RequestError> {
    writer.logged("note_write", &params.path, written(writer, params), |done| vec![done.path.clone()])
}

fn written(writer: &MemoryWriter, params: &AgentWriteParams) -> Result<AgentWritten, RequestError> {
    if writer.policy.write_collections.is_empty() {
        return Err(RequestError::kept_by_person("your page lets you write no notes (`write_collections`)"));
    }
    let (new, redacted) = brought(writer, "new", &params.new)?;
    if new.trim().is_empty() && params.old.is_none() {
        return Err(RequestError::invalid("`new` is empty"));
    }
    writer.make_fresh();
    let creates = params.create == Some(true);
    let (path, before, had) = match creates {
        true => (new_note(writer, params)?, String::new(), None),
        false => {
            let (path, source) = note_to_edit(&writer.read_scope()?, &params.path, params.base_hash.as_deref())?;
            may_write(writer, &path, &source.text)?;
            (path, source.text, Some(source.hash))
        }
    };
    let after = match (&params.old, params.heading.as_deref()) {
        _ if creates => composed(writer, params, &new)?,
        (Some(old), None) => {
            let edit = TextEdit { old: old.replace("\r\n", "\n"), new: new.clone() };
            with_edits(&before, &[edit]).map_err(|error| misplaced(path.as_str(), error, 1))?
        }
        (None, heading) => with_lines(&before, &new, heading).map_err(|times| {
            let message =
                format!("`{path}` has {times} headings `{}`; `heading` takes one", heading.unwrap_or_default());
            RequestError::conflict(message).hint("nothing was written")
        })?,
        (Some(_), Some(_)) => return Err(RequestError::invalid("give `old` or `heading`, not both")),
    };
    stays_open(writer, &path, (!creates).then_some(before.as_str()), &after)?;

    let workspace = writer.workspace();
    let asked = workspace.forgotten.ask()?;
    let left_out = forgotten(writer, &asked, std::iter::once(&new), &before);
    // What undoes it counts as well: so many small edits of large notes do not push out what undoes others.
    let cost = new.len().max(before.len());
    let (files, act) = (workspace.files()?, writer.act(if creates { Action::Create } else { Action::Edit }, cost));
    writer.begin()?;
    let id = match left_out {
        Some(_) => files.leave(&path, had, act),
        None => files.replace(&path, had, &after, act),
    };
    let id = id.inspect_err(|_| writer.turn().rest()).map_err(|error| match error {
        // It may have become private since: it is as if it were not there, until it is read again.
        WriteError::Changed(_) | WriteError::Gone(_) => RequestError::no_note(&path),
        error => error.into(),
    })?;
    drop(asked);
    if let Some(tombstone) = left_out {
        workspace.forgotten.note(&format!("agent {}", writer.slug), path.as_str(), true, tombstone);
    }
    let searchable = workspace.settled_within(&path, writer.patience()).is_ok();
    Ok(AgentWritten { ok: true, path: path.to_string(), checkpoint_id: id.to_string(), redacted, searchable })
}

/// Refuses a note that it reads and may not write.
fn may_write(writer: &MemoryWriter, path: &VaultPath, text: &str) -> Result<(), RequestError> {
    let collection = path.collection();
    if !writer.policy.writes(collection) {
        let message = format!("your page does not let you write in `{collection}` (`write_collections`)");
        return Err(RequestError::kept_by_person(message));
    }
    is_kept(writer.workspace(), path, text)
}

/// Refuses a note that the program keeps in order, to whoever is not the owner.
pub(super) fn is_kept(workspace: &Workspace, path: &VaultPath, text: &str) -> Result<(), RequestError> {
    let is_of_facts = workspace.fact_store.scope_of(path).is_some();
    let is_made = || is_generated(&Note::parse(text, "").metadata);
    if is_of_facts || KEPT.contains(&path.collection()) || path.as_str() == USER_FILE || is_made() {
        let message = format!("`{path}` has facts or entries, or is made of other notes; the owner alone writes it");
        return Err(RequestError::forbidden(message));
    }
    Ok(())
}

/// Refuses a text that would change who reads the note, or that it could not read itself any more.
fn stays_open(writer: &MemoryWriter, path: &VaultPath, before: Option<&str>, after: &str) -> Result<(), RequestError> {
    let refuse = |why: &str| Err(RequestError::invalid(format!("`{path}`: {why}")).hint("nothing was written"));
    let note = Note::parse(after, path.stem());
    let body = &after[note.body.clone()];
    // Of a new note the frontmatter is made here.
    let (before, now) = before.map_or(("", body), |before| (before, after));
    if let Some(why) = refusal(before, now) {
        return refuse(why);
    }
    let subject =
        Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private: note.is_private() };
    let grant = writer.policy.grant.as_ref().filter(|_| !writer.is_closed());
    if grant.is_none_or(|grant| grant.refusal(&subject).is_some()) || writer.workspace().hides(path) {
        return refuse("you could not read it any more");
    }
    if after.len() as u64 > writer.workspace().config.index.max_file_bytes {
        return refuse("it would have more bytes than are indexed");
    }
    Ok(())
}

/// Where a new note of that name goes. The name ends with the time, so that it never tells whether a hidden note has the name already.
fn new_note(writer: &MemoryWriter, params: &AgentWriteParams) -> Result<VaultPath, RequestError> {
    if params.old.is_some() || params.heading.is_some() || params.base_hash.is_some() {
        return Err(RequestError::invalid("`create` takes `path` and `new` alone"));
    }
    let path = note_path(&params.path)?;
    let (folder, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    if !name.ends_with(".md") || !is_folder_name(path.stem()) {
        return Err(RequestError::invalid(format!(
            "`path` is `{path}`; it takes the name of a note, as `inbox/idea.md`"
        )));
    }
    may_write(writer, &path, "")?;
    let scope = writer.read_scope()?;
    // Any other folder may be there, or a file in its place, that it does not see; the name of a file has a dot.
    let has_folder = (folder == path.collection() && !folder.contains('.'))
        || (folder.is_empty() && path.collection() == ROOT_COLLECTION)
        || scope.files().any(|file| file.path.as_str().rsplit_once('/').is_some_and(|(seen, _)| seen == folder));
    if !has_folder {
        return Err(
            RequestError::not_found(format!("there is no folder `{folder}`")).hint("use one of a note that you see")
        );
    }
    let stamp = writer.at().strftime("%Y%m%d-%H%M%S%3f");
    note_path(format!("{folder}/{}-{stamp}.md", slug(path.stem())).trim_start_matches('/'))
}

/// The text of a new note, which says that an agent wrote it.
fn composed(writer: &MemoryWriter, params: &AgentWriteParams, new: &str) -> Result<String, RequestError> {
    let path = note_path(&params.path)?;
    let title = if writer.workspace().redacts() { redact(path.stem()).into_owned() } else { path.stem().to_owned() };
    let front = json!({ "title": title, "created": now(), "source": "agent", "agent": writer.slug, "trust": "agent" });
    Ok(compose(front.as_object().expect("it is a map"), new))
}
