//! What agents asked, and what they got: for the person to see.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::fs::{Context, FsError, create_private_dir};

/// A log that is longer is put aside, and the one put aside before is dropped: two of these an agent at most.
const MAX_BYTES: u64 = 1 << 20;
/// Of a query, so many characters are kept.
const MAX_QUERY_CHARS: usize = 500;
/// Of what one answer gave, so many places are kept.
const MAX_GIVEN: usize = 100;

/// The logs of all agents: a file of JSON lines each, in the vault's state.
#[derive(Debug)]
pub struct ReadLog {
    folder: PathBuf,
    one: Mutex<()>,
}

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
    /// The logs in a folder, which need not be there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, one: Mutex::default() }
    }

    /// Adds an entry. A log that cannot be written is said in the program's own.
    pub fn add(&self, slug: &str, entry: &LogEntry) {
        if let Err(error) = self.try_add(slug, entry) {
            tracing::warn!("what `{slug}` reads cannot be logged: {error}");
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
    pub fn entries(&self, slug: &str, limit: usize) -> Result<Vec<LogEntry>, FsError> {
        let path = self.path(slug);
        let mut entries = Vec::new();
        for path in [path.clone(), aside(&path)] {
            let bytes = match std::fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                bytes => bytes.on("read", &path)?,
            };
            let text = String::from_utf8_lossy(&bytes);
            // A line that was cut short by a kill is passed over.
            entries.extend(text.lines().rev().filter_map(|line| serde_json::from_str::<LogEntry>(line).ok()));
            if entries.len() >= limit {
                break;
            }
        }
        entries.truncate(limit);
        Ok(entries)
    }

    fn try_add(&self, slug: &str, entry: &LogEntry) -> Result<(), FsError> {
        let path = self.path(slug);
        // It begins with a new line too, as a kill may have cut the one before.
        let entry = serde_json::to_string(entry).map_err(std::io::Error::other).on("encode", &path)?;
        let line = format!("\n{entry}\n");
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        create_private_dir(&self.folder)?;
        if path.metadata().is_ok_and(|meta| meta.len() > MAX_BYTES) {
            std::fs::rename(&path, aside(&path)).on("rename", &path)?;
        }
        let mut options = File::options();
        options.append(true).create(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path).and_then(|mut file| file.write_all(line.as_bytes())).on("write", &path)
    }

    fn path(&self, slug: &str) -> PathBuf {
        self.folder.join(format!("{slug}.jsonl"))
    }
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let log = ReadLog::new(folder.path().join("agents"));
        assert!(log.entries("ada", 5).unwrap().is_empty());
        let add = |number: usize| {
            log.add("ada", &LogEntry::now("search", &format!("{number} {}", "x".repeat(450)), Vec::new()))
        };
        (0..10_000).for_each(add);
        let bytes: u64 = std::fs::read_dir(folder.path().join("agents"))
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes < 3 * MAX_BYTES, "{bytes}");
        let newest: Vec<String> = log.entries("ada", 3).unwrap().into_iter().map(|entry| entry.query).collect();
        assert!(
            newest.iter().zip(["9999 ", "9998 ", "9997 "]).all(|(query, wanted)| query.starts_with(wanted)),
            "{newest:?}"
        );
        assert!(log.entries("ada", 3000).unwrap().len() > 2000, "it goes on in the one put aside");
        let path = log.path("ada");
        let mut cut = std::fs::read(&path).unwrap();
        cut.extend("{\"at\": \"ä".as_bytes().split_last().unwrap().1);
        std::fs::write(&path, cut).unwrap();
        add(10_000);
        let newest: Vec<String> = log.entries("ada", 2).unwrap().into_iter().map(|entry| entry.query).collect();
        assert!(newest[0].starts_with("10000 ") && newest[1].starts_with("9999 "), "one that was cut is passed over");
    }

    #[test]
    fn long_queries_and_answers_are_cut() {
        let entry = LogEntry::now("search", &"ä".repeat(9000), vec!["a".into(); 150]);
        assert_eq!((entry.query.chars().count(), entry.given.len()), (500, 101));
        assert_eq!(entry.given[100], "and 50 more");
    }
}
