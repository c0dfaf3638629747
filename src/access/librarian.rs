//! What the librarian of an agent looks for, as that agent's page says.

/// Its tasks, by the names that taOS has for them: to find what is no preference, and to find preferences.
pub(crate) const LIBRARIAN_TASKS: [&str; 2] = [FACT_EXTRACTION, PREFERENCE_EXTRACTION];

const FACT_EXTRACTION: &str = "fact_extraction";
const PREFERENCE_EXTRACTION: &str = "preference_extraction";

/// The key of a page.
pub(crate) const LIBRARIAN_OFF: &str = "librarian_off";

/// What a librarian looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LibrarianRules {
    /// Its tasks that are switched off.
    pub off: Vec<String>,
}

impl LibrarianRules {
    /// Whether a task is to be done.
    pub(crate) fn does(&self, task: &str) -> bool {
        !self.off.iter().any(|off| off == task)
    }

    /// Whether it is to find preferences, or what is none.
    pub(crate) fn finds(&self, preferences: bool) -> bool {
        self.does(if preferences { PREFERENCE_EXTRACTION } else { FACT_EXTRACTION })
    }

    /// Whether it is to find anything.
    pub(crate) fn finds_any(&self) -> bool {
        self.finds(true) || self.finds(false)
    }
}
