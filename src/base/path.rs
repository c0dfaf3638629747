//! Validated, vault-relative paths.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// A path relative to the vault's root: UTF-8, `/`-separated, never absolute, never with a `.` or `..` part.
///
/// It spells the name as the disk does, so that the file can be opened; [`VaultPath::same_as`] compares names
/// in Unicode normalisation form C, as people type them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VaultPath(String);

/// What kind of file lies beside the notes, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttachmentKind {
    /// `.pdf`
    Pdf,
    /// `.docx`
    Docx,
    /// `.html`, `.htm`
    Html,
    /// A picture, which is listed and not read.
    Image,
}

impl AttachmentKind {
    /// What it is called in answers and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Html => "html",
            Self::Image => "image",
        }
    }

    /// Whether it has a text that is read.
    pub fn is_document(self) -> bool {
        self != Self::Image
    }

    /// What a file of that name is; `None` for notes and all that is neither.
    pub fn of(name: &str) -> Option<Self> {
        let end = name.rsplit('/').next()?.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())?.1;
        Some(match end.to_ascii_lowercase().as_str() {
            "pdf" => Self::Pdf,
            "docx" => Self::Docx,
            "html" | "htm" => Self::Html,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "bmp" | "tif" | "tiff" | "heic" | "avif" => Self::Image,
            _ => return None,
        })
    }
}

/// Why a text is not a vault path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultPathError {
    /// It is no path, or could lead out of the vault.
    #[error("{0}")]
    Invalid(String),
    /// The name on disk is not Unicode text.
    #[error("the name is not UTF-8")]
    NotUtf8,
}

impl VaultPath {
    /// Validates `text`.
    ///
    /// # Errors
    /// When it is empty or absolute, holds a NUL, or has an empty, `.` or `..` part.
    pub fn new(text: impl Into<String>) -> Result<Self, VaultPathError> {
        let text = text.into();
        let wrong = if text.is_empty() {
            "the path is empty".to_owned()
        } else if text.contains('\0') {
            "the path contains a NUL".to_owned()
        } else if text.starts_with('/') {
            format!("`{text}` is absolute; paths are relative to the vault")
        } else if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            format!("`{text}` has an empty, `.` or `..` part")
        } else {
            return Ok(Self(text));
        };
        Err(VaultPathError::Invalid(wrong))
    }

    /// Turns a path on disk, relative to the vault's root, into a vault path.
    ///
    /// # Errors
    /// As [`VaultPath::new`], and when a name is not UTF-8.
    pub fn from_relative(path: &Path) -> Result<Self, VaultPathError> {
        let mut text = String::new();
        for part in path.components() {
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(part.as_os_str().to_str().ok_or(VaultPathError::NotUtf8)?);
        }
        Self::new(text)
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the file is on disk, given the vault's root.
    pub fn on_disk(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }

    /// The file's name without folder and extension.
    pub fn stem(&self) -> &str {
        let name = self.0.rsplit('/').next().unwrap_or(&self.0);
        match name.rfind('.') {
            Some(0) | None => name,
            Some(dot) => &name[..dot],
        }
    }

    /// What kind of attachment the file is, by its name; `None` for notes and all that is neither.
    pub fn attachment(&self) -> Option<AttachmentKind> {
        AttachmentKind::of(&self.0)
    }

    /// Whether the file is an attachment with a text that is read: it is indexed as notes are, and never written.
    pub fn is_document(&self) -> bool {
        self.attachment().is_some_and(AttachmentKind::is_document)
    }

    /// The collection the file belongs to: its top-level folder, or [`ROOT_COLLECTION`] for files that are in none.
    pub fn collection(&self) -> &str {
        self.0.split_once('/').map_or(ROOT_COLLECTION, |(top, _)| top)
    }

    /// The path, and that of every folder around it.
    pub fn and_parents(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.0).chain(self.0.match_indices('/').map(|(at, _)| &self.0[..at]))
    }

    /// Whether both name the same file once differences of Unicode normalisation are set aside.
    pub fn same_as(&self, text: &str) -> bool {
        self.0 == text || (!(is_nfc(&self.0) && is_nfc(text)) && self.0.nfc().eq(text.nfc()))
    }

    /// Whether the file is `prefix` itself or below it, or its path starts with it.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix) || (!is_nfc(&self.0) && self.0.nfc().collect::<String>().starts_with(prefix))
    }
}

/// A name as it is compared where case and Unicode normalisation do not count.
pub fn folded(name: &str) -> String {
    composed(name).to_lowercase()
}

/// A text in Unicode normalisation form C, as people type it.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// The collection of notes that lie directly in the vault's root.
pub const ROOT_COLLECTION: &str = "vault";

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for VaultPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for VaultPath {
    type Error = VaultPathError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl From<VaultPath> for String {
    fn from(path: VaultPath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_could_leave_the_vault() {
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\0b"] {
            assert!(VaultPath::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a.md", "a b/ü#1.md", "a..b/c...md", "..a/b.md"] {
            assert!(VaultPath::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn attachments_are_told_by_the_end_of_their_names() {
        let kind = |text: &str| VaultPath::new(text).unwrap().attachment();
        assert_eq!(
            [kind("a/b.pdf"), kind("b.PDF"), kind("b.htm")].map(Option::unwrap).map(AttachmentKind::as_str),
            ["pdf", "pdf", "html"]
        );
        for other in ["a.md", "a.pdf.md", "pdf", ".pdf", "a.pdf/b", "a.doc"] {
            assert_eq!(kind(other), None, "{other}");
        }
        assert!(VaultPath::new("x.docx").unwrap().is_document() && !VaultPath::new("x.png").unwrap().is_document());
    }

    #[test]
    fn names_its_stem_and_collection() {
        let path = VaultPath::new("notes/daily/2026-01-05.md").unwrap();
        assert_eq!((path.stem(), path.collection()), ("2026-01-05", "notes"));
        let root = VaultPath::new("facts.md").unwrap();
        assert_eq!((root.stem(), root.collection()), ("facts", ROOT_COLLECTION));
    }

    #[test]
    fn compares_across_unicode_normalisation() {
        let decomposed = VaultPath::new("notes/cafe\u{301}.md").unwrap();
        assert!(decomposed.same_as("notes/caf\u{e9}.md"));
        assert!(!decomposed.same_as("notes/cafe.md"));
    }
}
