//! What a chat model does for one search, and what it did not.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::FileEntry;
use crate::models::{ChatExpander, ModelAsker, QueryVariants, Reranker};

/// Who helps a search, and with what.
pub(crate) struct Assistant<'a> {
    /// Who puts the best in order anew, or why nobody does; `None` where nobody is to.
    pub(crate) reranker: Option<Result<&'a dyn Reranker, String>>,
    /// Who says the query in other words, likewise.
    pub(crate) expander: Option<Result<&'a ChatExpander, String>>,
    /// Whether chunks of a file may be sent.
    pub(crate) may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    /// For whom answers are remembered; `None` for nobody.
    pub(crate) asker: Option<ModelAsker>,
    /// What came of it so far.
    pub(crate) asked: &'a AskedOnce,
    /// Until when all of it is waited for.
    pub(crate) until: Instant,
}

/// Whether chunks of a file may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaySend {
    Yes,
    /// They keep their place.
    No,
    /// The file will be hidden, and the search begun anew: nothing is asked before.
    Hidden,
}

/// What a request was answered, and what failed, however often it is begun anew.
#[derive(Default)]
pub(crate) struct AskedOnce {
    pub(super) variants: OnceCell<Result<Arc<QueryVariants>, String>>,
    /// Why nothing is judged.
    pub(super) not_judged: OnceCell<String>,
}

/// What was to be done for a search and was not.
#[derive(Debug, Clone)]
pub(crate) enum Unassisted {
    /// Nothing was asked, as these are to be hidden first.
    Hidden(Vec<Arc<FileEntry>>),
    /// The best are in the order that they had, for the reason given.
    OrderKept(String),
    /// So many of the best were not sent, and kept their place.
    Withheld(usize),
    /// Only what was typed was looked for, for the reason given.
    AsTyped(String),
}
