//! What a command came to.

/// What a command came to when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    NothingFound,
    Damaged,
}
