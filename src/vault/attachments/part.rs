//! What a reader tells of a document, part by part: the lines between the two processes.

use serde::{Deserialize, Serialize};

/// A part of a document, in the order in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocumentPart {
    /// What follows is on this page, from 1.
    Page(u32),
    /// A heading with its level, 1 to 6.
    Heading(u8, String),
    /// A paragraph; it may have several lines.
    Text(String),
    /// Something that was not read, and why. What follows is read all the same.
    Problem(String),
    /// Nothing more can be read, and why.
    Refused(String),
    /// What of the confinement this system does not have.
    Unconfined(String),
    /// All of it was told.
    End,
}

/// Whoever listens wants no more.
#[derive(Debug)]
pub(super) struct OutputFull;

/// Takes the parts of a document.
pub(super) type Tell<'a> = &'a mut dyn FnMut(DocumentPart) -> Result<(), OutputFull>;

/// Maximum bytes of a document's text that are told.
pub(super) const MAX_TEXT: usize = 16_000_000;
