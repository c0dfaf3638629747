//! The files beside the notes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The attachments of a vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentsView {
    /// Whether their text is searched: `[index] attachments`.
    pub searched: bool,
    /// All of them, by path.
    pub attachments: Vec<AttachmentView>,
}

/// A file beside the notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentView {
    /// Its path in the vault.
    pub path: String,
    /// `pdf`, `docx`, `html` or `image`, by the end of its name.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed on disk, as RFC 3339.
    pub updated_at: String,
    /// Whether its text is searched.
    pub state: AttachmentState,
    /// The passages of its text.
    pub passages: usize,
    /// Why it is not searched, or what of it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Whether the text of an attachment is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentState {
    /// It is.
    Searched,
    /// It waits to be read.
    Waiting,
    /// It is not, for the reason given.
    NotRead,
}
