//! A whole note, to be read.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::writes::AnnotationView;
use crate::note::Node;

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteParams {
    /// Its path in the vault.
    pub path: String,
    /// Of a note that is too long for `body` (1 MB), the part around this line is given, from 1; its beginning when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub line: Option<usize>,
}

impl NoteParams {
    /// The note with a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// A note as it is on disk, with its passages as they are indexed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoteView {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its collection.
    pub collection: String,
    /// The note's name: it changes when the note does.
    pub hash: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its frontmatter.
    pub metadata: Value,
    /// When it was made, as RFC 3339.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Opens it in Obsidian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// Its whole text, frontmatter included.
    pub text: String,
    /// Its body as nodes: a text, or `{tag, attrs?, line_start?, line_end?, children}`. Raw HTML is text.
    #[schema(value_type = Vec<Value>)]
    pub body: Vec<Node>,
    /// Whether `body` is only a part of a very long note; for an agent also whether `text` is cut, and `body` is empty.
    pub cut: bool,
    /// Its passages, in the order of the text.
    pub chunks: Vec<PassageSpan>,
    /// What was written about its passages.
    pub annotations: Vec<AnnotationView>,
}

/// Where a passage of a note is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PassageSpan {
    /// The passage's name.
    pub hash: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
}
