//! What a reader gives.

use serde_json::Value;

use crate::wire::ImportNote;

/// What is handed over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ImportItem {
    /// An event, as programs send them.
    Event(Value),
    /// A note.
    Note(ImportNote),
}
