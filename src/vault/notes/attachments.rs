//! The files beside the notes: what there is, and what of it is searched.

use std::collections::HashMap;

use crate::access::request::{Owner, RequestError, rfc3339};
use crate::serve::wire::{AttachmentState, AttachmentView, AttachmentsView};
use crate::vault::disk::{FoundNote, scan_attachments};

/// All attachments, by path, be they searched or not.
///
/// # Errors
/// When the index is not open yet or damaged, or a glob of the configuration cannot be read.
pub(crate) fn attachments(owner: &Owner) -> Result<AttachmentsView, RequestError> {
    let workspace = owner.workspace();
    let scope = owner.now()?;
    let rules = workspace.rules().ok_or_else(|| RequestError::invalid("`index.exclude` has an invalid glob"))?;
    let searched = workspace.config().index.attachments;
    let problems = scope.reader().problems().map_err(|error| workspace.damaged(error))?;
    let mut reasons: HashMap<String, Vec<String>> = HashMap::new();
    problems.into_iter().for_each(|(path, reason)| reasons.entry(path).or_default().push(reason));
    let found = scan_attachments(workspace.home().root(), &rules);
    let mut attachments: Vec<AttachmentView> = Vec::with_capacity(found.files.len());
    for FoundNote { path, stamp } in found.files {
        let Some(kind) = path.attachment() else { continue };
        let file = scope.reader().files().at(path.as_str());
        let known = reasons.remove(path.as_str()).unwrap_or_default();
        let (state, reasons) = match file {
            _ if !kind.is_document() => (AttachmentState::NotRead, vec!["pictures are listed, but not read".into()]),
            _ if !searched => (AttachmentState::NotRead, vec!["`[index] attachments` is off".into()]),
            Some(_) => (AttachmentState::Searched, known),
            None if known.is_empty() => (AttachmentState::Waiting, known),
            None => (AttachmentState::NotRead, known),
        };
        attachments.push(AttachmentView {
            path: path.to_string(),
            kind: kind.as_str().into(),
            bytes: stamp.size,
            updated_at: rfc3339(stamp.mtime_ns / 1_000_000),
            state,
            passages: file.map_or(0, |file| file.chunks.len()),
            reasons,
        });
    }
    attachments.sort_unstable_by(|one, two| one.path.cmp(&two.path));
    Ok(AttachmentsView { searched, attachments })
}
