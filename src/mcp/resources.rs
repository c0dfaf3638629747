//! Notes as resources: `vault://path`.

use rmcp::model::{
    Annotations, ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::refs::{path_of, uri_of};
use crate::access::Principal;
use crate::notes;
use crate::request::{ErrorKind, RequestError, Viewer};
use crate::wire::{ListingParams, NoteName, NoteParams};

/// Any note.
pub(super) const NOTE: &str = "vault://{+path}";

/// A note of a collection.
pub(super) const IN_COLLECTION: &str = "vault://{collection}/{+path}";

const MARKDOWN: &str = "text/markdown";

/// Notes on a page.
const PAGE: usize = 100;

/// What a cursor starts with: it is not one of another list.
const AFTER: &str = "after:";

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, description: &str| {
        let template = ResourceTemplate::new(uri, name).with_title(title).with_description(description);
        template.with_mime_type(MARKDOWN)
    };
    vec![
        template(NOTE, "note", "A note", "A note by its path in the vault, percent-encoded: vault://notes/api.md"),
        template(
            IN_COLLECTION,
            "note of a collection",
            "A note of a collection",
            "A note by its collection (a top-level folder) and its path there",
        ),
    ]
}

/// A page of the notes that are seen, in the order of their paths.
pub(super) fn list(viewer: &Viewer, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let after = cursor.map(|cursor| {
        let path = cursor.strip_prefix(AFTER).and_then(|uri| path_of(uri).ok());
        path.ok_or_else(|| ErrorData::invalid_params("the cursor is none that this list gave", None))
    });
    let params = ListingParams { glob: None, after: after.transpose()?, limit: PAGE };
    let listing = notes::listing(viewer, &params).map_err(|error| failed(viewer.principal(), error))?;
    let last = listing.notes.last().filter(|_| listing.total > listing.notes.len());
    let next_cursor = last.map(|note| format!("{AFTER}{}", uri_of(&note.path)));
    let mut result = ListResourcesResult::with_all_items(listing.notes.into_iter().map(resource).collect());
    result.next_cursor = next_cursor;
    Ok(result)
}

fn resource(note: NoteName) -> Resource {
    let mut changed = Annotations::default();
    changed.last_modified = Some(note.updated_at);
    Resource::new(uri_of(&note.path), note.path)
        .with_title(note.title)
        .with_mime_type(MARKDOWN)
        .with_size(note.bytes)
        .with_annotations(changed)
}

/// The whole text of a note.
pub(super) fn read(viewer: &Viewer, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let note = path_of(uri).and_then(|path| notes::whole_note(viewer, &NoteParams::of(path)));
    let note = note.map_err(|error| match error.kind {
        // What cannot be a note is none.
        ErrorKind::NotFound | ErrorKind::Invalid => {
            ErrorData::resource_not_found("there is no such note", Some(json!({ "uri": uri })))
        }
        _ => failed(viewer.principal(), error),
    })?;
    let room = viewer.limits().map_or(usize::MAX, |limits| limits.max_injected_chars);
    if note.text.len() > room {
        let message =
            format!("this note has over {room} bytes, which is more than you get at once; the tool `get` gives parts");
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": uri }))));
    }
    let text = ResourceContents::text(note.text, uri_of(&note.path)).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![text]))
}

/// A failure of a request, where the protocol has no place for one in its answers.
pub(super) fn failed(principal: &Principal, error: RequestError) -> ErrorData {
    let error = error.told_to(principal);
    let data = Some(json!({ "code": error.kind.code(), "hint": error.hint }));
    match error.kind {
        ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Conflict => {
            ErrorData::invalid_params(error.message, data)
        }
        _ => ErrorData::internal_error(error.message, data),
    }
}
