//! One side of a conflict: a text whose lines are compared, or another file, of which its size and its time are told.

use std::fs;

use crate::path::VaultPath;
use crate::request::{Workspace, rfc3339};
use crate::vault::{NoteRules, Stamp, file_of};
use crate::wire::ConflictSide;

/// Maximum size of a text that is compared line by line, in bytes.
const MAX_TEXT_BYTES: u64 = 8 << 20;

/// What one side has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SideText {
    /// `None` where it is no text.
    text: Option<String>,
    bytes: u64,
    /// In milliseconds since 1970.
    changed_ms: i64,
}

/// It is not a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoText;

impl SideText {
    /// A text of a note with conflict markers.
    pub(super) fn of(text: String) -> Self {
        Self { bytes: text.len() as u64, changed_ms: 0, text: Some(text) }
    }

    /// Its text.
    ///
    /// # Errors
    /// When it is no text.
    pub(super) fn text(&self) -> Result<&str, NoText> {
        self.text.as_deref().ok_or(NoText)
    }

    /// How long it is, and when it was changed.
    pub(super) fn described(&self) -> ConflictSide {
        ConflictSide { bytes: self.bytes, updated_at: rfc3339(self.changed_ms) }
    }
}

/// What a file has; `None` where it is not there.
pub(super) fn side_of(workspace: &Workspace, rules: &NoteRules, path: &VaultPath) -> Option<SideText> {
    let root = workspace.home().root();
    let meta = file_of(root, rules, path)?;
    // A document may look like text, and is not what it says.
    let is_short = meta.len() <= MAX_TEXT_BYTES && path.attachment().is_none();
    let read = is_short.then(|| fs::read(rules.outside().on_disk(root, path)).ok()).flatten();
    let text = read.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.contains('\0'));
    Some(SideText { text, bytes: meta.len(), changed_ms: Stamp::of(&meta).mtime_ns / 1_000_000 })
}
