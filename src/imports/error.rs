//! Why nothing was read.

use std::io;
use std::path::PathBuf;

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportReadError {
    /// It cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a pipe, or the like.
    #[error("{} is neither a file nor a folder", path.display())]
    NoFile {
        /// What.
        path: PathBuf,
    },
    /// There is nothing of the kind in it.
    #[error("there is nothing of `{kind}` in {}: it takes {takes}{seems}", path.display())]
    Nothing {
        /// The kind.
        kind: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What it should have been.
        takes: &'static str,
        /// What else is in it: the end of a sentence, or nothing.
        seems: String,
    },
    /// It is a zip archive without the list of its files, which stands at its end.
    #[error("{} was cut short: download it again", path.display())]
    CutShort {
        /// What.
        path: PathBuf,
    },
    /// It is a file of another kind.
    #[error("{} {seems}, and nothing of `{kind}`, which takes {takes}", path.display())]
    OtherKind {
        /// The kind.
        kind: &'static str,
        /// What.
        path: PathBuf,
        /// What it should have been.
        takes: &'static str,
        /// What it is: `seems to be a picture`.
        seems: String,
    },
}
