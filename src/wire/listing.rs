//! The names of notes and collections.

/// Maximum number of collections that are named to whoever asks for one that is not there.
const SHOWN_NAMES: usize = 50;

/// Which notes, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListingParams {
    /// Only notes whose paths match this glob; `*` stays within a folder, `**` does not.
    pub glob: Option<String>,
    /// Only notes that come after this path.
    pub after: Option<String>,
    /// Notes at most.
    pub limit: usize,
}

/// A page of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on this page and those after it.
    pub total: usize,
}

/// What a note is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteName {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// The names of collections for a sentence, not more than can be read; `None` when there is none.
pub(crate) fn named(collections: &[String]) -> Option<String> {
    let shown: Vec<String> = collections.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
    match collections.len().checked_sub(SHOWN_NAMES) {
        _ if collections.is_empty() => None,
        None | Some(0) => Some(shown.join(", ")),
        Some(more) => Some(format!("{}, and {more} more", shown.join(", "))),
    }
}
