//! The tables, step by step as the versions of this program added them.

use rusqlite::{Connection, OptionalExtension};

use super::error::StateError;
use crate::fs::crash;

// Whose tokens count. A row that its checksum does not fit counts as none: a bit that flips makes nobody another. There is no
// index beside the rows, as one that was damaged would hide a row from whoever takes its token back.
const TOKENS: &str = "
CREATE TABLE taken_over(name TEXT PRIMARY KEY, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE capture_tokens(
    name TEXT NOT NULL, created_at TEXT NOT NULL, hash TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE agents(
    slug TEXT NOT NULL, created_at TEXT NOT NULL, hash TEXT NOT NULL, chat_type TEXT, channel TEXT,
    given TEXT NOT NULL, given_since TEXT, checksum INTEGER NOT NULL);
";

// What agents asked, and how many bytes each agent's entries have.
const READ_LOG: &str = "
CREATE TABLE read_log(id INTEGER PRIMARY KEY, slug TEXT NOT NULL, entry TEXT NOT NULL);
CREATE INDEX read_log_by_agent ON read_log(slug, id);
CREATE TABLE read_log_bytes(slug TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
";

// Events that wait, the keys of those that do not any more, and what is being written: a row, or none. `next` is a number
// beyond all that it names. There is a row in `events_unswept` while copies of what was deleted may be left.
const QUEUE: &str = "
CREATE TABLE events(
    number INTEGER PRIMARY KEY, key INTEGER, kind TEXT NOT NULL, body TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE events_seen(id INTEGER PRIMARY KEY, key INTEGER NOT NULL);
CREATE TABLE events_plan(next INTEGER NOT NULL, plan TEXT NOT NULL);
CREATE TABLE events_unswept(id INTEGER PRIMARY KEY);
";

// How often each reader was given a chunk: the person has no name.
const USAGE: &str = "
CREATE TABLE usage(reader TEXT NOT NULL, chunk INTEGER NOT NULL, count INTEGER NOT NULL, last_ms INTEGER NOT NULL);
CREATE UNIQUE INDEX usage_by_chunk ON usage(chunk, reader);
";

// What was forgotten for good, as digests, with the name of the key that they were made with; what was left out because of it; what was
// changed. `revision` counts the changes of a row.
const FORGOTTEN: &str = "
CREATE TABLE tombstones(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, place TEXT NOT NULL, about TEXT NOT NULL, key INTEGER NOT NULL,
    checksum INTEGER NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE tombstone_digests(tombstone INTEGER NOT NULL, kind INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE INDEX tombstone_digests_by_tombstone ON tombstone_digests(tombstone);
CREATE TABLE left_out(
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by_whom TEXT NOT NULL, into_what TEXT NOT NULL, whole INTEGER NOT NULL,
    tombstone INTEGER NOT NULL);
CREATE TABLE changes(
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by_whom TEXT NOT NULL, what TEXT NOT NULL, path TEXT NOT NULL,
    first_line INTEGER, last_line INTEGER, before BLOB, after BLOB, checkpoint TEXT);
CREATE INDEX changes_by_path ON changes(path);
";

// Files of facts that were seen.
const FACTS_SEEN: &str = "
CREATE TABLE facts_seen(path TEXT PRIMARY KEY) WITHOUT ROWID;
";

// Work that waits, by digests of what it is about, and what of it was done with which content; calls of chat models, and what those that
// are not listed any more came to. None of it holds a text.
const JOBS: &str = "
CREATE TABLE jobs(
    kind TEXT NOT NULL, key BLOB NOT NULL, content BLOB NOT NULL, state TEXT NOT NULL, due INTEGER NOT NULL, attempts INTEGER NOT NULL,
    revived INTEGER NOT NULL, passing INTEGER NOT NULL, reason TEXT, created INTEGER NOT NULL, PRIMARY KEY(kind, key)) WITHOUT ROWID;
CREATE TABLE jobs_done(
    kind TEXT NOT NULL, key BLOB NOT NULL, content BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(kind, key)) WITHOUT ROWID;
CREATE TABLE model_calls(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, weight INTEGER NOT NULL, ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL, kept INTEGER NOT NULL, dropped INTEGER NOT NULL);
CREATE INDEX model_calls_by_time ON model_calls(at);
CREATE TABLE model_calls_before(
    outcome TEXT PRIMARY KEY, calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL, first INTEGER NOT NULL) WITHOUT ROWID;
";

// Imports of what other programs wrote, the events and notes that each brought, and the files that it made or changed.
const IMPORTS: &str = "
CREATE TABLE imports(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, source TEXT NOT NULL, at INTEGER NOT NULL, is_done INTEGER NOT NULL);
CREATE TABLE import_keys(key INTEGER PRIMARY KEY, import INTEGER NOT NULL);
CREATE TABLE import_files(
    import INTEGER NOT NULL, path TEXT NOT NULL, checkpoint TEXT, after TEXT NOT NULL, PRIMARY KEY(import, path)) WITHOUT ROWID;
CREATE TABLE import_notes(
    key INTEGER PRIMARY KEY, import INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL, after TEXT NOT NULL);
";

// Purges that are not finished.
const OPEN_PURGES: &str = "
CREATE TABLE open_purges(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, path TEXT NOT NULL, first_line INTEGER, last_line INTEGER,
    gone INTEGER NOT NULL, readers TEXT NOT NULL);
";

// Files of sessions as they were read, and the notes that were made of each, both by digests of the files' names; and which parts of
// agents' traces the librarian has read.
const SESSIONS: &str = "
CREATE TABLE session_sources(
    key BLOB PRIMARY KEY, entry BLOB NOT NULL, settings BLOB NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    length INTEGER NOT NULL, content BLOB NOT NULL,
    turns INTEGER NOT NULL, digest BLOB NOT NULL, generation INTEGER NOT NULL, is_out INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE session_notes(
    key BLOB NOT NULL, generation INTEGER NOT NULL, part INTEGER NOT NULL, path TEXT NOT NULL, after TEXT NOT NULL, next TEXT NOT NULL,
    turns INTEGER NOT NULL, next_turns INTEGER NOT NULL, is_edited INTEGER NOT NULL, PRIMARY KEY(key, generation, part)) WITHOUT ROWID;
CREATE INDEX session_notes_by_path ON session_notes(path);
CREATE TABLE librarian_parts(
    agent TEXT NOT NULL, key BLOB NOT NULL, events INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(agent, key)) WITHOUT ROWID;
";

// Where the source of a note that was imported is: another of the same text may be a copy of it, or it moved.
const NOTE_ORIGINS: &str = "
ALTER TABLE import_notes ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE INDEX import_notes_by_source ON import_notes(source);
CREATE INDEX import_notes_by_path ON import_notes(path);
";

// From what kind of channel a session was told to come, last that anything told it.
const TOLD_SCOPES: &str = "
ALTER TABLE session_sources ADD COLUMN told_scope TEXT NOT NULL DEFAULT '';
";

// What that channel was called.
const TOLD_NAMES: &str = "
ALTER TABLE session_sources ADD COLUMN told_name TEXT NOT NULL DEFAULT '';
";

// What goes with a note that is purged, in the words of whoever purges it.
const GOING_WITH: &str = "
ALTER TABLE open_purges ADD COLUMN going_with TEXT NOT NULL DEFAULT '[]';
";

/// What each format adds to the one before. What was released stays as it is; what comes is a step more.
const STEPS: &[&str] = &[
    TOKENS,
    READ_LOG,
    QUEUE,
    USAGE,
    FORGOTTEN,
    FACTS_SEEN,
    JOBS,
    IMPORTS,
    OPEN_PURGES,
    SESSIONS,
    NOTE_ORIGINS,
    TOLD_SCOPES,
    TOLD_NAMES,
    GOING_WITH,
];

/// The newest format, which this version writes.
pub(super) const FORMAT: i64 = STEPS.len() as i64;

/// Why a database is not one of ours.
pub(super) enum Strange {
    /// It has tables of somebody else, or lacks some of ours.
    Damaged(String),
    /// It comes from a later version.
    Later(i64),
    /// SQLite refused.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Strange {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Strange {
    pub(super) fn of(self, path: &std::path::Path) -> StateError {
        match self {
            Self::Damaged(reason) => StateError::Damaged { path: path.to_owned(), reason },
            Self::Later(found) => StateError::Later { path: path.to_owned(), found, known: FORMAT },
            Self::Sqlite(error) => StateError::of(path, error),
        }
    }
}

/// Brings a database to the newest format, in one transaction.
pub(super) fn bring_up(connection: &Connection) -> Result<(), Strange> {
    bring_to(connection, STEPS)
}

fn bring_to(connection: &Connection, steps: &[&str]) -> Result<(), Strange> {
    let format = |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let newest = steps.len() as i64;
    let mut found: i64 = format(connection)?;
    if found != newest {
        let transaction = connection.unchecked_transaction()?;
        // Another process may have been faster.
        found = format(&transaction)?;
        let Some(missing) = usize::try_from(found).ok().and_then(|found| steps.get(found..)) else {
            return Err(Strange::Later(found));
        };
        if found == 0
            && transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))? > 0
        {
            return Err(Strange::Damaged("it has tables of somebody else".into()));
        }
        for step in missing {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", newest)?;
        crash::point("state-made");
        transaction.commit()?;
    }
    for step in steps {
        for table in tables(step) {
            let there = connection
                .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", [table], |_| Ok(()))
                .optional()?;
            there.ok_or_else(|| Strange::Damaged(format!("it has no table `{table}`")))?;
        }
    }
    Ok(())
}

/// The names of the tables that a step makes.
fn tables(step: &str) -> impl Iterator<Item = &str> {
    step.split("CREATE TABLE ").skip(1).filter_map(|rest| rest.split('(').next())
}

/// What tells that a row holds what was written: 63 bits of BLAKE3. Every part says its own length.
pub(super) fn checksum(parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_brought_up_and_a_later_one_is_left_alone() {
        let steps = [TOKENS, "CREATE TABLE jobs(id INTEGER PRIMARY KEY);", "ALTER TABLE jobs ADD COLUMN at TEXT;"];
        for from in 0..=steps.len() {
            let connection = Connection::open_in_memory().unwrap();
            assert!(bring_to(&connection, &steps[..from]).is_ok());
            assert!(bring_to(&connection, &steps).is_ok() && bring_to(&connection, &steps).is_ok());
            connection.execute("INSERT INTO jobs(at) VALUES ('now')", []).unwrap();
            assert!(matches!(bring_to(&connection, &steps[..2]), Err(Strange::Later(3))));
        }
        let theirs = Connection::open_in_memory().unwrap();
        theirs.execute_batch("CREATE TABLE notes(id)").unwrap();
        assert!(matches!(bring_to(&theirs, &steps), Err(Strange::Damaged(_))));
        let robbed = Connection::open_in_memory().unwrap();
        assert!(bring_up(&robbed).is_ok());
        robbed.execute_batch("DROP TABLE agents").unwrap();
        assert!(matches!(bring_up(&robbed), Err(Strange::Damaged(_))));
    }
}
