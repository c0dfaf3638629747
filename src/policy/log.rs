//! What agents asked, and what they got: for the person to see.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::state::{LogTable, State, StateError};

/// Of a query, so many characters are kept.
const MAX_QUERY_CHARS: usize = 500;
/// Of what one answer gave, so many places are kept.
const MAX_GIVEN: usize = 100;

/// The logs of all agents.
#[derive(Debug)]
pub struct ReadLog(LogTable);

/// Something that an agent asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogEntry {
    /// When, as RFC 3339.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// What: `search`, `browse`, `passage`, `note`, `memory_save`, … or `page` when its `agent.md` gives something else.
    pub what: String,
    /// What it looked for, named or wrote to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The places that it was given, as citations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Why it got nothing, where a rule and not the search decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl LogEntry {
    /// Something that was asked now.
    pub fn now(what: &str, query: &str, given: Vec<String>) -> Self {
        let query = query.chars().take(MAX_QUERY_CHARS).collect();
        let left = given.len().saturating_sub(MAX_GIVEN);
        let mut given: Vec<String> = given.into_iter().take(MAX_GIVEN).collect();
        if left > 0 {
            given.push(format!("and {left} more"));
        }
        Self { at: Timestamp::now(), what: what.into(), query, given, refused: None }
    }
}

impl ReadLog {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(LogTable::new(state))
    }

    /// Adds an entry, and does not wait until it is written. A log that cannot be written is said in the program's own.
    pub fn add(&self, slug: &str, entry: &LogEntry) {
        match serde_json::to_string(entry) {
            Ok(entry) => self.0.add(slug, entry),
            Err(error) => tracing::warn!("what `{slug}` reads cannot be logged: {error}"),
        }
    }

    /// Notes that an agent's page gives something else.
    pub(super) fn page_changed(&self, slug: &str, before: &Value, after: &Value) {
        let query = format!("agent.md gives {after}, before {before}");
        self.add(slug, &LogEntry::now("page", &query, Vec::new()));
    }

    /// The newest entries of an agent, newest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn entries(&self, slug: &str, limit: usize) -> Result<Vec<LogEntry>, StateError> {
        let entries = self.0.newest(slug, limit)?;
        // One that a later version has written in another way is passed over.
        Ok(entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let log = ReadLog::new(&State::in_folder(folder.path()));
        let entries = ["one", "two"].map(|query| LogEntry::now("search", query, vec!["notes/a.md#1".into()]));
        entries.iter().for_each(|entry| log.add("ada", entry));
        let [one, two] = entries;
        assert_eq!(log.entries("ada", 5).unwrap(), [two, one]);
        assert_eq!(log.entries("bob", 5).unwrap(), []);
    }

    #[test]
    fn long_queries_and_answers_are_cut() {
        let entry = LogEntry::now("search", &"ä".repeat(9000), vec!["a".into(); 150]);
        assert_eq!((entry.query.chars().count(), entry.given.len()), (500, 101));
        assert_eq!(entry.given[100], "and 50 more");
    }
}
