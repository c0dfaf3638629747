//! What other programs have kept, as if it had been captured: once for good, and so that it can be undone.

use jiff::Timestamp;
use serde_json::Value;

use super::imported_notes::{NoteFate, NoteImporter};
use super::intake::{Capture, CaptureError};
use crate::request::{Owner, RequestError};
use crate::wire::{ImportParams, ImportTaken};

/// Takes a piece of an import. When it returns what was added is safe on disk.
///
/// # Errors
/// When something of it is not right, or none can be kept now.
pub(crate) fn import(capture: &Capture, owner: &Owner, params: ImportParams) -> Result<ImportTaken, RequestError> {
    let unavailable = |reason: String| RequestError::unavailable(reason, "what came before is kept: import it again");
    let imports = capture.imports();
    let mut went_on = false;
    let import = match (params.dry_run, params.import) {
        (true, _) => None,
        (false, None) => {
            if params.kind.trim().is_empty() || params.kind.len() > 100 || params.source.len() > 8000 {
                return Err(RequestError::invalid("`kind` takes 1 to 100 bytes, and `source` up to 8000"));
            }
            let begun = imports.begin(&params.kind, &params.source, Timestamp::now());
            let (import, is_new) = begun.map_err(|error| unavailable(error.to_string()))?;
            went_on = !is_new;
            Some(import)
        }
        (false, Some(import)) => match imports.has(import).map_err(|error| unavailable(error.to_string()))? {
            true => Some(import),
            false => {
                return Err(RequestError::not_found(format!("there is no import {import}; begin it anew")));
            }
        },
    };
    let taken = capture.take_imported(Value::Array(params.events), import).map_err(|error| match error {
        CaptureError::Invalid(error) => RequestError::invalid(error.to_string()),
        CaptureError::Unavailable(reason) => unavailable(reason),
    })?;
    let mut answer = ImportTaken {
        ok: true,
        import,
        went_on,
        added: taken.added,
        existing: taken.existing,
        forgotten: taken.forgotten,
        empty: taken.empty,
        ..ImportTaken::default()
    };
    if !params.notes.is_empty() {
        let workspace = owner.workspace();
        let notes = NoteImporter::new(workspace, imports, &params.kind, import)?;
        for note in &params.notes {
            match notes.put(note)? {
                NoteFate::Added => answer.added += 1,
                NoteFate::Updated => answer.updated += 1,
                NoteFate::Existing => answer.existing += 1,
                NoteFate::Forgotten => answer.forgotten += 1,
                NoteFate::Edited => answer.edited += 1,
            }
        }
    }
    if let Some(import) = import.filter(|_| params.done) {
        imports.end(import).map_err(|error| unavailable(error.to_string()))?;
    }
    if let Some(import) = import {
        answer.undoable = imports.has_files(import).map_err(|error| unavailable(error.to_string()))?;
    }
    let status = capture.status();
    answer.pending = usize::try_from(status.pending).unwrap_or(usize::MAX);
    answer.failure = status.failure;
    Ok(answer)
}
