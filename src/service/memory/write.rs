//! Writes what an agent remembers, takes it out again, and undoes either.

use std::path::Path;

use serde_json::{Map, Value};

use super::super::error::{ErrorKind, ServiceError};
use super::super::save::{now, text};
use super::super::start::Service;
use super::super::views::{MemoryChange, MemoryDeleteParams, MemoryRestoreParams, MemorySaveParams};
use super::edit::{EditError, with_content, without_text};
use super::own::{Own, forbidden};
use super::target::{TargetError, default_file, folder, own_name, writable};
use crate::access::{Principal, Scope};
use crate::capture::redact;
use crate::note::Note;
use crate::path::{VaultPath, folded};
use crate::vault::{Act, Action, CheckpointId, WriteError, globs};

/// Maximum times that a change is worked out anew because somebody else wrote the file in between. Each time one of them got through.
const TRIES: usize = 100;

/// What becomes of a file.
pub(super) enum Outcome {
    /// It says this.
    Text(String),
    /// It goes to the trash.
    Gone,
}

impl Service {
    /// Adds a text to a file of an agent's own memory, or replaces what it says. Returns when it can be found.
    ///
    /// # Errors
    /// When it is not an agent that asks or it may not write the file, a parameter makes no sense, the agent could not read the
    /// file any more, or the disk refuses.
    pub fn memory_save(&self, principal: &Principal, params: &MemorySaveParams) -> Result<MemoryChange, ServiceError> {
        let own = self.own(principal)?;
        let path = self.file_to_write(&own, params.file.as_deref())?;
        let given = text("content", &params.content)?;
        let content = if self.switches.capture().redact { redact(&given).into_owned() } else { given.clone() };
        let append = params.append.unwrap_or(true);
        let mut made = Map::new();
        made.insert("created".into(), Value::from(now()));
        let id = self.rewrite(&own, &path, Action::Edit, content.len(), |existing| {
            Ok(Outcome::Text(with_content(existing, &content, append, &made).map_err(|error| refused(&path, error))?))
        })?;
        Ok(MemoryChange { redacted: content != given, ..self.changed(&own, "memory_save", &path, &id) })
    }

    /// Deletes a text from a file of an agent's own memory, or the file. Returns when it can no longer be found.
    ///
    /// # Errors
    /// As [`Service::memory_save`]; when the text is not there, or more than once.
    pub fn memory_delete(
        &self,
        principal: &Principal,
        params: &MemoryDeleteParams,
    ) -> Result<MemoryChange, ServiceError> {
        let own = self.own(principal)?;
        let whole = params.whole_file.unwrap_or(false);
        if whole && params.file.is_none() {
            return Err(ServiceError::invalid("`whole_file` takes a `file`"));
        }
        let text = match (whole, params.text.as_deref()) {
            (true, None) => None,
            (false, Some(text)) if !text.trim().is_empty() => Some(text),
            _ => return Err(ServiceError::invalid("give `text`, or `whole_file` and no `text`")),
        };
        let path = self.file_to_write(&own, params.file.as_deref())?;
        let mut matches = None;
        let id = self.rewrite(&own, &path, Action::Forget, 0, |existing| {
            let existing = existing.ok_or_else(|| gone(&path))?;
            let Some(text) = text else { return Ok(Outcome::Gone) };
            let left = without_text(existing, text, params.all_matches.unwrap_or(false));
            let left = left.map_err(|error| refused(&path, error))?;
            matches = Some(left.matches);
            let goes = left.empty && params.delete_if_empty.unwrap_or(true);
            Ok(if goes { Outcome::Gone } else { Outcome::Text(left.text) })
        })?;
        Ok(MemoryChange { matches_removed: matches, ..self.changed(&own, "memory_delete", &path, &id) })
    }

    /// Undoes a change that an agent made to its own memory. Returns when the index agrees.
    ///
    /// # Errors
    /// When it is not an agent that asks, there is no such change of its own to a file that it may write, the file has changed
    /// since, or the disk refuses.
    pub fn memory_restore(
        &self,
        principal: &Principal,
        params: &MemoryRestoreParams,
    ) -> Result<MemoryChange, ServiceError> {
        let own = self.own(principal)?;
        let files = self.files()?;
        let absent =
            || ServiceError::not_found(format!("no change of yours has the checkpoint {:?}", params.checkpoint_id));
        let id: CheckpointId = params.checkpoint_id.parse().map_err(|_| absent())?;
        let checkpoint = match files.checkpoint(&id) {
            Err(WriteError::NoCheckpoint(_)) => return Err(absent()),
            checkpoint => checkpoint?,
        };
        // What the person took away stays so, whoever guesses the checkpoint's name.
        let is_own = checkpoint.by.as_deref() == Some(own.slug);
        let file = own_name(own.slug, &checkpoint.path).filter(|_| is_own).ok_or_else(absent)?;
        let path = self.file_to_write(&own, Some(file))?;
        let act = self.act(&own, Action::Restore, 0);
        begin(&own)?;
        let (_, undo) = files.restore_as(&id, false, act).inspect_err(|_| own.turn.rest())?;
        Ok(self.changed(&own, "checkpoint_restore", &path, &undo))
    }

    /// The file that is meant, when the agent may write it and would find what it writes.
    pub(super) fn file_to_write(&self, own: &Own<'_>, file: Option<&str>) -> Result<VaultPath, ServiceError> {
        if !matches!(own.scope, Scope::Own { .. }) {
            return Err(forbidden("your memory is closed in this session", "the person says so in `memory.toml`"));
        }
        let file = file.unwrap_or(default_file(own.mode));
        let path = writable(own.slug, own.mode, file).map_err(|error| match error {
            TargetError::Mode(_) => forbidden(format!("`{file}`: {error}"), "the person says so in your `agent.md`"),
            error => ServiceError::invalid(format!("`file` is {file:?}; {error}")),
        })?;
        let hidden =
            globs("access.private", &self.config.access.private).map_or(true, |set| set.is_match(path.as_str()));
        if hidden || self.leaves_out(&path) {
            let message = format!("`{path}` is left out of what you can read, by `memory.toml` or by its name");
            return Err(forbidden(message, "nothing was written; take another file"));
        }
        Ok(self.as_spelled(path))
    }

    /// The name as the disk has it, where case does not count there.
    fn as_spelled(&self, path: VaultPath) -> VaultPath {
        let on_disk = path.on_disk(self.home.root());
        let (Some(name), Some(folder)) = (on_disk.file_name().and_then(|name| name.to_str()), on_disk.parent()) else {
            return path;
        };
        if on_disk.symlink_metadata().is_err() {
            return path;
        }
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        if names.iter().any(|found| found == name) {
            return path;
        }
        let spelled = names.iter().find(|found| folded(found) == folded(name));
        let before = path.as_str().strip_suffix(name).unwrap_or_default();
        spelled.and_then(|found| VaultPath::new(format!("{before}{found}")).ok()).unwrap_or(path)
    }

    /// A change by an agent, as much as it may have.
    fn act<'a>(&self, own: &Own<'a>, action: Action, written: usize) -> Act<'a> {
        let act = action.by(own.slug);
        match self.limits_of(own.principal()) {
            Some(limits) => act.within(limits.quota, written as u64),
            None => act,
        }
    }

    /// Refuses a file more than an agent may have.
    fn may_make(&self, own: &Own<'_>) -> Result<(), ServiceError> {
        let Some(limits) = self.limits_of(own.principal()) else { return Ok(()) };
        let folder = self.home.root().join(folder(own.slug));
        let count = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "md")).count()
        };
        // `agent.md` is none of its memory.
        let files = count(&folder).saturating_sub(1) + count(&folder.join("memory"));
        if files < limits.max_files {
            return Ok(());
        }
        let message = format!("your memory has {files} files, which are as many as it may have");
        Err(forbidden(message, "nothing was written; take a file that is there, or delete one"))
    }

    /// Works out what a file says after a change, and writes that over what it said, as often as somebody else was faster.
    /// `written` is how many bytes the agent brings.
    pub(super) fn rewrite(
        &self,
        own: &Own<'_>,
        path: &VaultPath,
        action: Action,
        written: usize,
        mut change: impl FnMut(Option<&str>) -> Result<Outcome, ServiceError>,
    ) -> Result<CheckpointId, ServiceError> {
        let files = self.files()?;
        let reach = self.reach_own(own)?;
        if reach.snapshot.files().at(path.as_str()).is_some_and(|file| !reach.visible.has(file)) {
            return Err(kept(path));
        }
        drop(reach);
        let act = self.act(own, action, written);
        let mut lost = WriteError::Changed(path.clone());
        for _ in 0..TRIES {
            let (existing, hash) = match files.read(path)? {
                Some((bytes, hash)) => (Some(as_text(path, bytes)?), Some(hash)),
                None => (None, None),
            };
            let outcome = match (change(existing.as_deref())?, hash) {
                (Outcome::Text(text), _) if text.len() as u64 > self.config.index.max_file_bytes => {
                    return Err(too_long(path, text.len()));
                }
                (Outcome::Gone, None) => return Err(gone(path)),
                (outcome, hash) => (outcome, hash),
            };
            if outcome.1.is_none() {
                self.may_make(own)?;
            }
            begin(own)?;
            let written = match outcome {
                (Outcome::Text(text), None) => files.create_for(path, &text, self.act(own, Action::Create, written)),
                (Outcome::Text(text), Some(hash)) => files.replace(path, hash, &text, act),
                (Outcome::Gone, Some(hash)) => files.trash_as(path, hash, act),
                (Outcome::Gone, None) => return Err(gone(path)),
            };
            if written.is_err() {
                own.turn.rest();
            }
            match written {
                Err(error @ (WriteError::Exists(_) | WriteError::Changed(_) | WriteError::Gone(_))) => lost = error,
                written => return Ok(written?),
            }
        }
        Err(lost.into())
    }

    /// What became of a file that was changed, once the index says so too. The agent hears of the change in any case: what it
    /// is not told of it would do again.
    pub(super) fn changed(&self, own: &Own<'_>, what: &str, path: &VaultPath, id: &CheckpointId) -> MemoryChange {
        self.log_own(own, what, path.as_str(), Vec::new());
        let settled = self.settled_within(path, self.patience_of(own));
        if let Err(error) = &settled {
            tracing::warn!("{error}");
        }
        MemoryChange {
            ok: true,
            path: path.to_string(),
            checkpoint_id: id.to_string(),
            chunks: settled.as_ref().ok().copied().flatten().map_or(0, |(_, chunks)| chunks),
            searchable: settled.is_ok(),
            file_deleted: path.on_disk(self.home.root()).symlink_metadata().is_err(),
            redacted: false,
            matches_removed: None,
        }
    }
}

/// Begins to write, unless nobody waits for that any more.
fn begin(own: &Own<'_>) -> Result<(), ServiceError> {
    let in_time = own.turn.left().is_none_or(|left| !left.is_zero()) && own.turn.begin();
    let late = || ServiceError::unavailable("it took too long", "nothing was written; try again in a moment");
    in_time.then_some(()).ok_or_else(late)
}

/// What a file says, unless the person keeps it from its agent.
fn as_text(path: &VaultPath, bytes: Vec<u8>) -> Result<String, ServiceError> {
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(ServiceError::conflict(format!("`{path}` is not text; nothing was written")));
    };
    if Note::parse(&text, path.stem()).is_private() {
        return Err(kept(path));
    }
    Ok(text)
}

fn kept(path: &VaultPath) -> ServiceError {
    forbidden(format!("`{path}` is kept from you"), "nothing was written; take another file")
}

pub(super) fn refused(path: &VaultPath, error: EditError) -> ServiceError {
    let kind = match error {
        EditError::Absent => ErrorKind::NotFound,
        EditError::Ambiguous(_) => ErrorKind::Conflict,
        EditError::Private | EditError::Hidden | EditError::Frontmatter => ErrorKind::Invalid,
    };
    ServiceError { kind, message: format!("`{path}`: {error}"), hint: Some("nothing was written".into()) }
}

fn gone(path: &VaultPath) -> ServiceError {
    ServiceError::not_found(format!("`{path}` is not there"))
}

fn too_long(path: &VaultPath, bytes: usize) -> ServiceError {
    let hint = Some("nothing was written; take another file, or delete what is of no use any more".into());
    let message = format!("`{path}` would have {bytes} bytes, which is more than is indexed");
    ServiceError { hint, ..ServiceError::invalid(message) }
}
