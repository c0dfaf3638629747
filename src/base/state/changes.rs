//! What this program changed of the memory, a line a change, apart from what can be undone: it holds no text, so that it can outlive
//! what was forgotten.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::key::{Digest, DigestKey};
use super::later::LaterWriter;
use super::store::{State, StateError};

/// Maximum of lines; beyond it the oldest go.
const MAX_LINES: i64 = 100_000;

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
    pub fn add(&self, line: ChangeLine) {
        self.log.add(move |connection| {
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
            checkpoint: Some("x".into()),
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
