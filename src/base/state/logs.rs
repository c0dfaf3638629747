//! Logs, in the order in which it came: what agents asked and got, and what this program changed of the memory, apart from what can be undone. That
//! one holds no text, so that it can outlive what was forgotten. No answer waits for an entry to be written.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::key::{Digest, DigestKey};
use super::later::LaterWriter;
use super::store::{State, StateError};

/// Maximum number of an agent's entries; beyond it the oldest go.
const MAX_ENTRIES: i64 = 2_000;
/// After how many new entries of all agents that is looked at: a prime, so that agents that take turns are all looked at.
const AT_A_TIME: i64 = 61;
/// Maximum number of characters of a query that are kept.
const MAX_QUERY_CHARS: usize = 500;
/// Maximum number of places that are kept of what one answer gave.
const MAX_GIVEN: usize = 100;

/// Stands where a query was that told of what was forgotten for good.
const FORGOTTEN: &str = "(forgotten)";

/// A request of an agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogEntry {
    /// When, as RFC 3339.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// What: `search`, `browse`, `passage`, `note`, `memory_save`, … or `page` if the rules in its `agent.md` changed.
    pub what: String,
    /// The query, name or file of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The places that it returned, as citations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Why it returned nothing, if a rule decided so.
    pub refused: Option<String>,
    /// Changed rules on an agent's page, one per key: `collections: ["*"] → ["notes"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// A short receipt of a context.
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

/// The entries of all agents.
#[derive(Debug)]
pub struct ReadLog(LaterWriter);

impl ReadLog {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(LaterWriter::new(state, "the log of what agents read"))
    }

    /// Adds an entry, which is written in a moment; the oldest go of an agent that has too much. A log that cannot be written is said in the
    /// program's own.
    pub fn add(&self, slug: &str, entry: LogEntry) {
        let (slug, entry) = match serde_json::to_string(&entry) {
            Ok(entry) => (slug.to_owned(), entry),
            Err(error) => return tracing::warn!("what `{slug}` reads cannot be logged: {error}"),
        };
        self.0.add(move |connection| {
            let insert = "INSERT INTO read_log(slug, entry) VALUES (?1, ?2)";
            connection.prepare_cached(insert)?.execute([&slug, &entry])?;
            if connection.last_insert_rowid() % AT_A_TIME == 0 {
                let oldest = "DELETE FROM read_log WHERE slug = ?1 AND id <=
                    (SELECT id FROM read_log WHERE slug = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
                connection.prepare_cached(oldest)?.execute(params![slug, MAX_ENTRIES])?;
            }
            Ok(())
        });
    }

    /// The newest entries of an agent, newest first. One that a later version has written in another way is passed over.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn entries(&self, slug: &str, limit: usize) -> Result<Vec<LogEntry>, StateError> {
        let newest = "SELECT entry FROM read_log WHERE slug = ?1 ORDER BY id DESC LIMIT ?2";
        let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let entries = self.0.written().rows(newest, params![slug, limit as i64], read)?;
        Ok(entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect())
    }

    /// Takes out what is said of something that was forgotten for good: queries that tell of it, and those for which its note was given.
    /// Where the note is gone, too, `instead` takes the place of its name.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn forget(&self, path: &str, instead: Option<&str>, tells: impl Fn(&str) -> bool) -> Result<(), StateError> {
        let names =
            |text: &str| text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', ':']));
        let new = |entry: &str| {
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
        };
        let forgotten = self.0.written().if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            let mut changed: Vec<(i64, String)> = Vec::new();
            for entry in transaction
                .prepare_cached("SELECT id, entry FROM read_log")?
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?
            {
                let (id, entry) = entry?;
                changed.extend(new(&entry).map(|new| (id, new)));
            }
            for (id, entry) in changed {
                transaction.execute("UPDATE read_log SET entry = ?2 WHERE id = ?1", params![id, entry])?;
            }
            // What they said is not left where rows have been moved, either.
            transaction.execute("INSERT OR IGNORE INTO events_unswept(id) VALUES (1)", [])?;
            transaction.commit()
        });
        forgotten.map(drop)
    }
}

/// Maximum of lines; beyond it the oldest go.
const MAX_LINES: i64 = 100_000;
/// Among so many of the newest lines is that of a change that goes on.
const NEAR: i64 = 1_000;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// When.
    pub at: Timestamp,
    /// Who: `owner`, `agent NAME`, `program NAME`, `retention`.
    pub by: String,
    /// What was done: `create`, `edit`, `append`, `forget`, `trash`, `restore`, `purge`.
    pub what: String,
    /// The note, or the folder of one that is gone for good.
    pub path: String,
    /// The first and the last line that is another than before, where there is one now.
    pub lines: Option<(u32, u32)>,
    /// A keyed digest of what the note had; none where it was not there.
    pub before: Option<Digest>,
    /// Of what it has.
    pub after: Option<Digest>,
    /// What undoes it.
    pub checkpoint: Option<String>,
}

/// All of it.
#[derive(Debug)]
pub struct ChangeTable {
    log: LaterWriter,
    state: Arc<State>,
    key: OnceLock<DigestKey>,
}

impl ChangeTable {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self { log: LaterWriter::new(state, "changes"), state: Arc::clone(state), key: OnceLock::new() }
    }

    /// Adds a line, which is written in a moment. No change waits for it, or fails with it.
    ///
    /// Of changes that one checkpoint undoes, one after the other, there is one line: the lines of all, as they were counted then.
    pub fn add(&self, line: ChangeLine) {
        self.log.add(move |connection| {
            let go_on = "UPDATE changes SET after = ?2,
                first_line = min(coalesce(first_line, ?3), coalesce(?3, first_line)),
                last_line = max(coalesce(last_line, ?4), coalesce(?4, last_line))
                WHERE checkpoint = ?1 AND id > (SELECT max(id) FROM changes) - ?5";
            let (first, last) = line.lines.unzip();
            let after = line.after.map(|digest| digest.to_vec());
            if line.checkpoint.is_some()
                && connection.prepare_cached(go_on)?.execute(params![line.checkpoint, after, first, last, NEAR])? > 0
            {
                return Ok(());
            }
            let insert =
                "INSERT INTO changes(at, by_whom, what, path, first_line, last_line, before, after, checkpoint)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            connection.prepare_cached(insert)?.execute(params![
                line.at.as_millisecond(),
                line.by,
                line.what,
                line.path,
                line.lines.map(|(first, _)| first),
                line.lines.map(|(_, last)| last),
                line.before.map(|digest| digest.to_vec()),
                line.after.map(|digest| digest.to_vec()),
                line.checkpoint,
            ])?;
            let old = "DELETE FROM changes WHERE id <= (SELECT max(id) FROM changes) - ?1";
            connection.prepare_cached(old)?.execute([MAX_LINES]).map(drop)
        });
    }

    /// A digest that tells the same content again, and cannot be made by who guesses what it was.
    pub fn digest(&self, bytes: &[u8]) -> Option<Digest> {
        let key = match self.key.get() {
            Some(key) => key,
            None => match self.state.key_or_new() {
                Ok(key) => self.key.get_or_init(|| key),
                Err(error) => {
                    tracing::warn!("a change is logged without its digests: {error}");
                    return None;
                }
            },
        };
        Some(key.digest("file", &[bytes]))
    }

    /// The newest lines, newest first: of a note, or of a folder that ends in `/`; from a moment on, in milliseconds since 1970.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn newest(&self, path: Option<&str>, since: Option<i64>, limit: usize) -> Result<Vec<ChangeLine>, StateError> {
        let newest = "SELECT at, by_whom, what, path, first_line, last_line, before, after, checkpoint FROM changes
            WHERE (?1 IS NULL OR path = ?1 OR (substr(?1, -1) = '/' AND substr(path, 1, length(?1)) = ?1))
            AND (?2 IS NULL OR at >= ?2) ORDER BY id DESC LIMIT ?3";
        self.log.written().rows(newest, params![path, since, limit as i64], line)
    }

    /// Says `instead` where a note is named, which is gone for good, and not in which lines.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn hide(&self, path: &str, instead: &str) -> Result<(), StateError> {
        let hidden = self.log.written().if_there(|opened| {
            let hide =
                "UPDATE changes SET path = ?2, first_line = NULL, last_line = NULL, checkpoint = NULL WHERE path = ?1";
            opened.connection.execute(hide, [path, instead])?;
            // What it said is not left where rows have been moved, either.
            opened.connection.execute("INSERT OR IGNORE INTO events_unswept(id) VALUES (1)", [])
        });
        hidden.map(drop)
    }
}

fn line(row: &Row<'_>) -> rusqlite::Result<ChangeLine> {
    let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH);
    let (first, last): (Option<u32>, Option<u32>) = (row.get(4)?, row.get(5)?);
    let digest = |at: usize| -> rusqlite::Result<Option<Digest>> {
        Ok(row.get::<_, Option<Vec<u8>>>(at)?.and_then(|bytes| bytes.try_into().ok()))
    };
    Ok(ChangeLine {
        at,
        by: row.get(1)?,
        what: row.get(2)?,
        path: row.get(3)?,
        lines: first.zip(last),
        before: digest(6)?,
        after: digest(7)?,
        checkpoint: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn entry(query: &str) -> LogEntry {
        LogEntry::now("search", query, Vec::new())
    }

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let log = ReadLog::new(&state);
        assert!(log.entries("ada", 5).unwrap().is_empty() && !state.file().exists());
        for number in 0..12_000 {
            log.add("ada", entry(&number.to_string()));
            if number < 1_000 {
                log.add("bob", entry(&number.to_string()));
            }
            if number % 1000 == 0 {
                assert_eq!(log.entries("ada", 1).unwrap()[0].query, number.to_string());
            }
        }
        let kept = log.entries("ada", 20_000).unwrap();
        let numbers: Vec<usize> = kept.iter().map(|entry| entry.query.parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1] + 1) && numbers[0] == 11_999);
        assert!((MAX_ENTRIES..MAX_ENTRIES + AT_A_TIME).contains(&(kept.len() as i64)), "{}", kept.len());
        assert_eq!(log.entries("bob", 20_000).unwrap().len(), 1_000, "one agent's does not cost another's");
        drop(log);
        assert_eq!(ReadLog::new(&state).entries("ada", 20_000).unwrap(), kept);
    }

    #[test]
    fn an_entry_is_added_while_another_writes_and_does_not_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let log = ReadLog::new(&state);
        log.add("ada", entry("before"));
        log.0.flush();
        let other = Connection::open(state.file()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        // It would not return before the other has ended, if it waited.
        log.add("ada", entry("meanwhile"));
        other.execute_batch("COMMIT").unwrap();
        let queries =
            |log: &ReadLog| log.entries("ada", 2).unwrap().into_iter().map(|entry| entry.query).collect::<Vec<_>>();
        assert_eq!(queries(&log), ["meanwhile", "before"]);
        log.add("ada", entry("last"));
        drop(log);
        assert_eq!(queries(&ReadLog::new(&state))[0], "last", "a stop writes what waits");
    }

    #[test]
    fn what_is_added_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let log = ReadLog::new(&State::in_folder(folder.path()));
        let entries = ["one", "two"].map(|query| LogEntry::now("search", query, vec!["notes/a.md#1".into()]));
        entries.iter().for_each(|entry| log.add("ada", entry.clone()));
        let [one, two] = entries;
        assert_eq!(log.entries("ada", 5).unwrap(), [two, one]);
        assert_eq!(log.entries("bob", 5).unwrap(), []);
    }

    #[test]
    fn what_was_forgotten_is_in_no_query_and_a_note_that_is_gone_in_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let log = ReadLog::new(&State::in_folder(folder.path()));
        let given = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>();
        log.add("ada", LogEntry::now("search", "pots", given(&["notes/a.md#L1-L2", "notes/a.mdx", "b.md"])));
        log.add("ada", LogEntry::now("search", "the key", given(&["b.md"])));
        log.add("bob", LogEntry::now("note", "notes/a.md", given(&["notes/a.md"])));
        log.add("bob", LogEntry::now("search", "bread", given(&[])));
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
    fn long_queries_and_answers_are_cut() {
        let entry = LogEntry::now("search", &"ä".repeat(9000), vec!["a".into(); 150]);
        assert_eq!((entry.query.chars().count(), entry.given.len()), (500, 101));
        assert_eq!(entry.given[100], "and 50 more");
    }
}

#[cfg(test)]
mod tests_of_changes {
    use super::*;

    #[test]
    fn lines_are_kept_in_order_and_a_note_that_is_gone_is_named_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = ChangeTable::new(&state);
        assert!(table.newest(None, None, 5).unwrap().is_empty());
        let line = |second: i64, path: &str| ChangeLine {
            at: Timestamp::from_second(second).unwrap(),
            by: "owner".into(),
            what: "edit".into(),
            path: path.into(),
            lines: Some((2, 3)),
            before: None,
            after: table.digest(path.as_bytes()),
            checkpoint: Some(second.to_string()),
        };
        let lines = [line(1, "notes/a.md"), line(2, "notes/b.md"), line(3, "notes/a.md")];
        lines.iter().cloned().for_each(|line| table.add(line));
        let newest =
            |path: Option<&str>, since: Option<i64>| table.newest(path, since.map(|since| since * 1000), 9).unwrap();
        assert_eq!(newest(None, None), [lines[2].clone(), lines[1].clone(), lines[0].clone()]);
        assert_eq!(newest(Some("notes/b.md"), None), [lines[1].clone()]);
        assert_eq!(newest(Some("notes/"), Some(2)).len(), 2);
        assert_eq!(newest(Some("note"), None).len(), 0);
        table.hide("notes/a.md", "notes/").unwrap();
        assert_eq!(newest(Some("notes/a.md"), None), []);
        let hidden = &newest(None, None)[0];
        assert_eq!((hidden.path.as_str(), hidden.lines, hidden.checkpoint.as_deref()), ("notes/", None, None));
        assert!(hidden.after.is_some() && hidden.after != table.digest(b"notes/b.md"));
    }
}
