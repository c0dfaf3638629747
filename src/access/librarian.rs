//! How the librarian of an agent is to work, as that agent's page says.

/// What taOS has its librarian do, task by task.
pub(crate) const LIBRARIAN_TASKS: [&str; 8] = [
    FACT_EXTRACTION,
    PREFERENCE_EXTRACTION,
    "intake_classification",
    "crystallise",
    "reflect",
    "catalog_enrichment",
    "query_expansion",
    "verification",
];

/// To find what is no preference.
const FACT_EXTRACTION: &str = "fact_extraction";
/// To find preferences.
const PREFERENCE_EXTRACTION: &str = "preference_extraction";

/// How much taOS looks up for one question.
pub(crate) const FANOUT_LEVELS: [&str; 4] = ["off", "low", "med", "high"];
const USUAL_FANOUT: &str = "low";

/// The keys of a page.
pub(crate) const LIBRARIAN_OFF: &str = "librarian_off";
pub(crate) const LIBRARIAN_FANOUT: &str = "librarian_fanout";
pub(crate) const LIBRARIAN_FANOUT_AUTO_SCALE: &str = "librarian_fanout_auto_scale";

/// How a librarian is to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibrarianRules {
    /// Its tasks that are switched off.
    pub off: Vec<String>,
    /// How much is looked up: kept for taOS, and without effect here.
    pub fanout: String,
    /// Whether that follows the machine: kept for taOS as well.
    pub fanout_auto_scale: bool,
}

impl Default for LibrarianRules {
    fn default() -> Self {
        Self { off: Vec::new(), fanout: USUAL_FANOUT.into(), fanout_auto_scale: true }
    }
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
