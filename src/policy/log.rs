//! What agents asked, and what they got: for the person to see.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::state::{LogTable, State, StateError};

/// Maximum number of characters of a query that are kept.
const MAX_QUERY_CHARS: usize = 500;
/// Maximum number of places that are kept of what one answer gave.
const MAX_GIVEN: usize = 100;

/// Stands where a query was that told of what was forgotten for good.
const FORGOTTEN: &str = "(forgotten)";

/// The logs of all agents.
#[derive(Debug)]
pub struct ReadLog(LogTable);

/// Something that an agent asked.
#[skip_serializing_none]
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
    pub refused: Option<String>,
    /// What an agent's page gives otherwise than before, a key each: `collections: ["*"] → ["notes"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What a context was made of, in short.
    pub receipt: Option<String>,
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
        Self {
            at: Timestamp::now(),
            what: what.into(),
            query,
            given,
            refused: None,
            changed: Vec::new(),
            receipt: None,
        }
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
        self.add(slug, &LogEntry { changed: changed(before, after), ..LogEntry::now("page", &query, Vec::new()) });
    }

    /// Takes out what is said of something that was forgotten for good: queries that tell of it, and those for which its note was given.
    /// Where the note is gone, too, `instead` takes the place of its name.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn forget(&self, path: &str, instead: Option<&str>, tells: impl Fn(&str) -> bool) -> Result<(), StateError> {
        let names =
            |text: &str| text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', ':']));
        self.0.rewrite(|entry| {
            let mut entry: LogEntry = serde_json::from_str(entry).ok()?;
            let before = entry.clone();
            let of_it = entry.given.iter().any(|given| names(given));
            if names(&entry.query) {
                entry.query = instead.unwrap_or(path).to_owned();
            } else if !entry.query.is_empty() && (of_it || tells(&entry.query)) {
                entry.query = FORGOTTEN.to_owned();
                entry.changed.clear();
            }
            if let Some(instead) = instead {
                entry.given.iter_mut().filter(|given| names(given)).for_each(|given| *given = instead.to_owned());
            }
            (entry != before).then(|| serde_json::to_string(&entry).ok()).flatten()
        })
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

/// The keys whose values differ, in the order of the alphabet.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let keys = |value: &Value| value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>();
    let all: BTreeSet<String> = keys(before).into_iter().chain(keys(after)).collect();
    let said = |value: Option<&Value>| value.map_or_else(|| "not said".to_owned(), Value::to_string);
    let of_key = |key: String| match (before.get(&key), after.get(&key)) {
        (before, after) if before == after => Vec::new(),
        // Of a map those within it.
        (Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => changed(before, after),
        (before, after) => vec![format!("{key}: {} → {}", said(before), said(after))],
    };
    all.into_iter().flat_map(of_key).collect()
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
    fn what_was_forgotten_is_in_no_query_and_a_note_that_is_gone_in_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let log = ReadLog::new(&State::in_folder(folder.path()));
        let given = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>();
        log.add("ada", &LogEntry::now("search", "pots", given(&["notes/a.md#L1-L2", "notes/a.mdx", "b.md"])));
        log.add("ada", &LogEntry::now("search", "the key", given(&["b.md"])));
        log.add("bob", &LogEntry::now("note", "notes/a.md", given(&["notes/a.md"])));
        log.add("bob", &LogEntry::now("search", "bread", given(&[])));
        let all = || {
            let entries = ["ada", "bob"].into_iter().flat_map(|slug| log.entries(slug, 9).unwrap());
            entries.map(|entry| format!("{} {}", entry.query, entry.given.join(" "))).collect::<Vec<_>>()
        };
        log.forget("notes/a.md", None, |query| query.contains("key")).unwrap();
        let part =
            ["(forgotten) b.md", "(forgotten) notes/a.md#L1-L2 notes/a.mdx b.md", "bread ", "notes/a.md notes/a.md"];
        assert_eq!(all(), part);
        log.forget("notes/a.md", Some("notes/"), |_| false).unwrap();
        assert_eq!(all(), ["(forgotten) b.md", "(forgotten) notes/ notes/a.mdx b.md", "bread ", "notes/ notes/"]);
    }

    #[test]
    fn of_a_page_the_keys_that_differ_are_told() {
        let before = serde_json::json!({ "rules": { "can_read_user_memory": false, "paths": [] }, "expires": "x" });
        let after = serde_json::json!({ "rules": { "can_read_user_memory": true, "paths": [] }, "tags": ["a"] });
        let told = ["expires: \"x\" → not said", "can_read_user_memory: false → true", "tags: not said → [\"a\"]"];
        assert_eq!(changed(&before, &after), told);
        assert_eq!(changed(&Value::Null, &Value::Null), [""; 0]);
    }

    #[test]
    fn long_queries_and_answers_are_cut() {
        let entry = LogEntry::now("search", &"ä".repeat(9000), vec!["a".into(); 150]);
        assert_eq!((entry.query.chars().count(), entry.given.len()), (500, 101));
        assert_eq!(entry.given[100], "and 50 more");
    }
}
