//! What was found in a source, counted.

use std::collections::BTreeMap;

/// Maximum number of remarks that are kept.
const MAX_REMARKS: usize = 20;

/// What was found, and what of it was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImportTally {
    /// Conversations that have a turn.
    pub conversations: usize,
    /// Turns.
    pub turns: usize,
    /// Pages.
    pub bookmarks: usize,
    /// Notes.
    pub notes: usize,
    /// How often something was left out, by the reason.
    pub left_out: BTreeMap<String, usize>,
    /// What else there is to say, as sentences.
    pub remarks: Vec<String>,
}

impl ImportTally {
    /// Keeps a remark, where it is new and there are few.
    pub(super) fn remark(&mut self, remark: String) {
        if self.remarks.len() < MAX_REMARKS && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Adds what was found later.
    pub(crate) fn add(&mut self, later: Self) {
        self.conversations += later.conversations;
        self.turns += later.turns;
        self.bookmarks += later.bookmarks;
        self.notes += later.notes;
        for (reason, times) in later.left_out {
            *self.left_out.entry(reason).or_default() += times;
        }
        later.remarks.into_iter().for_each(|remark| self.remark(remark));
    }
}
