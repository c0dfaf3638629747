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
    /// There is nothing of the kind in it.
    #[error("there is nothing of `{kind}` in {}: it takes {takes}", path.display())]
    Nothing {
        /// The kind.
        kind: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What it should have been.
        takes: &'static str,
    },
}
