//! What other programs have kept, as if it had been captured: once for good, and so that it can be undone. Notes are copied into `notes` as
//! they are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use serde_json::Value;

use super::event::{NOTES, check_taken};
use super::intake::Capture;
use crate::access::request::{Owner, RequestError, Workspace};
use crate::access::rules::Scope;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::base::state::{ImportTable, ImportedFile, NoteOrigin, hash_of};
use crate::serve::wire::{ImportNote, ImportParams, ImportTaken};
use crate::text::note::{Note, compose, with_property};
use crate::vault::disk::{Action, Files, WriteError, note_names, slug};

/// Maximum length of what a note is called, and of what tells it from others, in bytes.
const MAX_NAME_BYTES: usize = 2000;
/// Maximum number of names that are looked at before a note is given up.
const MAX_NAMES: usize = 10_000;

/// Takes a piece of an import. When it returns what was added is safe on disk.
///
/// # Errors
/// When something of it is not right, or none can be kept now.
pub(crate) fn import(capture: &Capture, owner: &Owner, params: ImportParams) -> Result<ImportTaken, RequestError> {
    let imports = &capture.queue.imports;
    let mut went_on = false;
    let import = match (params.dry_run, params.import) {
        (true, _) => None,
        (false, None) => {
            if params.kind.trim().is_empty() || params.kind.len() > 100 || params.source.len() > 8000 {
                return Err(RequestError::invalid("`kind` takes 1 to 100 bytes, and `source` up to 8000"));
            }
            let (import, is_new) = imports.begin(&params.kind, &params.source, Timestamp::now())?;
            went_on = !is_new;
            Some(import)
        }
        (false, Some(import)) => match imports.has(import)? {
            true => Some(import),
            false => return Err(RequestError::not_found(format!("there is no import {import}; start again"))),
        },
    };
    let taken = capture.take_imported(Value::Array(params.events), import)?;
    let mut answer = ImportTaken { ok: true, import, went_on, ..taken };
    if !params.notes.is_empty() {
        let notes = NoteImporter::new(owner.workspace(), imports, &params.kind, import)?;
        for note in &params.notes {
            *match notes.put(note)? {
                NoteOutcome::Added => &mut answer.added,
                NoteOutcome::Updated => &mut answer.updated,
                NoteOutcome::Existing => &mut answer.existing,
                NoteOutcome::Forgotten => &mut answer.forgotten,
                NoteOutcome::Edited => &mut answer.edited,
            } += 1;
        }
    }
    if let Some(import) = import {
        if params.done {
            imports.end(import)?;
        }
        answer.undoable = imports.has_files(import)?;
    }
    let state = capture.state();
    (answer.pending, answer.failure) = (state.pending, state.failure);
    Ok(answer)
}

/// What became of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoteOutcome {
    Added,
    Updated,
    /// It came before.
    Existing,
    /// It was forgotten for good.
    Forgotten,
    /// It was changed or taken away here.
    Edited,
}

/// Copies notes.
struct NoteImporter<'i> {
    workspace: &'i Arc<Workspace>,
    files: &'i Files,
    imports: &'i ImportTable,
    kind: &'i str,
    /// Without one nothing is written.
    import: Option<i64>,
    /// What the files have whose names a title leads to, as far as they were looked at: of many notes of one title none is looked at for each.
    taken: RefCell<HashMap<String, Vec<Option<Hash>>>>,
}

impl<'i> NoteImporter<'i> {
    /// For the notes of an import; without one it is only said what would become of them.
    ///
    /// # Errors
    /// When notes are not captured, or the vault cannot be written.
    fn new(
        workspace: &'i Arc<Workspace>,
        imports: &'i ImportTable,
        kind: &'i str,
        import: Option<i64>,
    ) -> Result<Self, RequestError> {
        check_taken(&workspace.switches.capture(), NOTES)?;
        Ok(Self { workspace, files: workspace.files()?, imports, kind, import, taken: RefCell::default() })
    }

    /// Copies a note, or brings the copy up to date that nobody has changed since.
    ///
    /// # Errors
    /// When its name is too long, or the disk refuses.
    fn put(&self, note: &ImportNote) -> Result<NoteOutcome, RequestError> {
        if note.id.len() > MAX_NAME_BYTES || note.title.len() > MAX_NAME_BYTES {
            return Err(RequestError::invalid(format!("`notes`: a name takes up to {MAX_NAME_BYTES} bytes")));
        }
        let title: String = note.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let title = title.trim();
        let text = named(&note.text, title);
        let mut text = if self.workspace.redacts() { redact(&text).into_owned() } else { text };
        let key = note_key(self.kind, &note.id);
        let source = blake3::hash(text.as_bytes()).to_hex().to_string();
        // Held until it is written: what is purged meanwhile would come back.
        let asked = self.workspace.forgotten.ask()?;
        if let Some(left) = asked.without_in_file(&text, false, &Scope::Everything, &|_, _| false) {
            if let Some(import) = self.import {
                let (by, into, whole) = (format!("import {import}"), NOTES, left.text.is_none());
                self.workspace.forgotten.note(&by, into, whole, left.tombstone);
            }
            let Some(kept) = left.text else { return Ok(NoteOutcome::Forgotten) };
            text = kept;
        }
        let before = self.imports.note(key)?;
        match before {
            Some(before) if before.source == source => Ok(NoteOutcome::Existing),
            Some(before) if self.is_of_others(&before)? => self.anew(NoteOrigin { source, ..before }, title, &text),
            Some(before) => self.again(before, source, &text),
            None => match self.imports.note_like(&source)? {
                // It came from elsewhere: the source has moved, or this is a copy of it. What became of that holds of this.
                Some((import, like)) => {
                    if self.import.is_some() {
                        self.keep(import, NoteOrigin { key, origin: note.id.clone(), ..like })?;
                    }
                    Ok(NoteOutcome::Existing)
                }
                None => {
                    let (path, after) = (String::new(), String::new());
                    self.anew(NoteOrigin { key, origin: note.id.clone(), path, source, after }, title, &text)
                }
            },
        }
    }

    /// Whether the note that was made of a source is that of others besides, which have what they had: it stays theirs. A source that is
    /// where this one is, or is there no more, is none.
    fn is_of_others(&self, before: &NoteOrigin) -> Result<bool, RequestError> {
        if before.path.is_empty() {
            return Ok(false);
        }
        let all = self.imports.notes_at(&before.path)?;
        Ok(all.iter().any(|other| other.key != before.key && other.origin != before.origin && is_there(&other.origin)))
    }

    /// A note that was imported before.
    fn again(&self, before: NoteOrigin, source: String, text: &str) -> Result<NoteOutcome, RequestError> {
        let Ok(path) = VaultPath::try_from(before.path.clone()) else { return Ok(NoteOutcome::Edited) };
        let after = blake3::hash(text.as_bytes()).to_hex().to_string();
        let there = self.files.read(&path)?.map(|(_, hash)| hash);
        let is_done = there.is_some_and(|now| now.to_hex().as_str() == after);
        let Some(now) = there.filter(|now| is_done || now.to_hex().as_str() == before.after) else {
            return Ok(NoteOutcome::Edited);
        };
        let Some(import) = self.import else { return Ok(NoteOutcome::Updated) };
        // A kill came between, or the person was faster.
        if is_done {
            self.keep(import, NoteOrigin { source, after, ..before })?;
            return Ok(NoteOutcome::Updated);
        }
        let checkpoint = match self.imports.file(import, path.as_str())? {
            Some(_) => None,
            None => Some(self.files.leave(&path, Some(now), Action::Edit.into())?.to_string()),
        };
        let file = ImportedFile { path: path.to_string(), checkpoint, after: after.clone() };
        self.imports.note_file(import, &file)?;
        // Those that are there no more: where one comes back, it is one of its own.
        for other in self.imports.notes_at(path.as_str())? {
            if other.key != before.key {
                self.imports.drop_note(other.key)?;
            }
        }
        self.files.replace(&path, now, text, Action::Edit.done_by(&format!("import {import}")))?;
        self.keep(import, NoteOrigin { source, after, ..before })?;
        Ok(NoteOutcome::Updated)
    }

    /// A note that was not, or has none of its own.
    fn anew(&self, origin: NoteOrigin, title: &str, text: &str) -> Result<NoteOutcome, RequestError> {
        let after = blake3::hash(text.as_bytes());
        let mut taken = self.taken.borrow_mut();
        let taken = taken.entry(slug(title)).or_default();
        let same = taken.iter().position(|found| *found == Some(after));
        let first = same.unwrap_or(taken.len());
        for (at, path) in note_names(NOTES, title).take(MAX_NAMES).enumerate().skip(first) {
            let found = match self.files.read(&path) {
                Err(WriteError::Refused { .. }) => {
                    note_taken(taken, at, None);
                    continue;
                }
                found => found?.map(|(_, hash)| hash),
            };
            if found.is_some() {
                note_taken(taken, at, found);
            }
            let origin = NoteOrigin { path: path.to_string(), after: after.to_hex().to_string(), ..origin.clone() };
            match (found, self.import) {
                // A kill came between, or the person has copied it.
                (Some(found), import) if found == after => {
                    import.map_or(Ok(()), |import| self.keep(import, origin))?;
                    return Ok(NoteOutcome::Existing);
                }
                (Some(_), _) => {}
                (None, None) => return Ok(NoteOutcome::Added),
                (None, Some(import)) => {
                    let file =
                        ImportedFile { path: origin.path.clone(), checkpoint: None, after: origin.after.clone() };
                    self.imports.note_file(import, &file)?;
                    let act = Action::Create.done_by("import");
                    match self.files.extend(&path, None, text, act) {
                        // Somebody took the name at this very moment.
                        Err(WriteError::Exists(_)) => {}
                        made => {
                            made?;
                            note_taken(taken, at, Some(after));
                            self.keep(import, origin)?;
                            return Ok(NoteOutcome::Added);
                        }
                    }
                }
            }
        }
        Err(RequestError::invalid(format!("`{title}`: all similar names are taken")))
    }

    fn keep(&self, import: i64, note: NoteOrigin) -> Result<(), RequestError> {
        Ok(self.imports.keep_note(import, &note)?)
    }
}

/// Tells a note of a kind of source from all others.
pub(super) fn note_key(kind: &str, id: &str) -> u64 {
    hash_of(&["note", kind, id].map(str::as_bytes))
}

/// Whether what a note was read from is there still: a file, or one within an archive. What is no path may be anywhere.
fn is_there(origin: &str) -> bool {
    let path = Path::new(origin);
    if !path.is_absolute() {
        return true;
    }
    let nearest = path.ancestors().find_map(|path| path.metadata().ok());
    nearest.is_none_or(|nearest| nearest.is_file())
}

/// Notes what the file of a name has, where all those before it are noted.
fn note_taken(taken: &mut Vec<Option<Hash>>, at: usize, found: Option<Hash>) {
    if let Some(known) = taken.get_mut(at) {
        *known = found;
    } else if at == taken.len() {
        taken.push(found);
    }
}

/// A note that can be found and linked to by what it was called, whatever its file is called now: its text with a title, or with one more
/// alias. Frontmatter that cannot be read stays as it is.
fn named(text: &str, title: &str) -> String {
    let note = Note::parse(text, &slug(title));
    if title.is_empty()
        || !note.problems.is_empty()
        || note.title == title
        || note.aliases.iter().any(|alias| alias == title)
    {
        return text.to_owned();
    }
    if note.metadata.is_empty() {
        let front = serde_json::Map::from_iter([("title".to_owned(), Value::from(title))]);
        return compose(&front, &text[note.body.start..]);
    }
    let (key, value) = match note.metadata.contains_key("title") {
        true => ("aliases", [note.aliases, vec![title.to_owned()]].concat().into()),
        false => ("title", Value::from(title)),
    };
    with_property(text, key, &value).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::named;
    use crate::text::note::Note;

    #[test]
    fn a_note_is_found_by_what_it_was_called() {
        for text in ["Body\n", "# Other\n\nBody\n", "---\ntags: [a]\n---\nBody\n", "---\ntitle: Mine\n---\nBody\n", ""]
        {
            let note = Note::parse(&named(text, "My Note"), "my-note");
            assert!(note.title == "My Note" || note.aliases == ["My Note"], "{text:?} {note:?}");
        }
        let broken = "---\ntitle: [\n---\nBody\n";
        assert_eq!(named(broken, "My Note"), broken);
    }
}
