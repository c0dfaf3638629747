//! The tables.

use std::path::Path;

use rusqlite::Connection;

use super::key::hash_of;
use super::store::StateError;
use crate::base::fs::crash;

/// The number of the format. Another number is another format, which this version leaves alone.
pub(super) const FORMAT: i64 = 2;

/// All tables. A row of another type than its columns is refused, and so are numbers that no archive of ours brings: those that
/// would not fit where they are read, or could not be summed up.
const SCHEMA: &str = "
-- Whose tokens count. A row that its checksum does not fit counts as none: a bit that flips makes nobody another. There is no
-- index beside the rows, as one that was damaged would hide a row from whoever takes its token back.
CREATE TABLE capture_tokens(
    name TEXT NOT NULL, created_at TEXT NOT NULL, hash TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
CREATE TABLE agents(
    slug TEXT NOT NULL, created_at TEXT NOT NULL, hash TEXT NOT NULL, chat_type TEXT, channel TEXT,
    given TEXT NOT NULL, given_since TEXT, checksum INTEGER NOT NULL) STRICT;

-- What agents asked.
CREATE TABLE read_log(id INTEGER PRIMARY KEY, slug TEXT NOT NULL, entry TEXT NOT NULL) STRICT;
CREATE INDEX read_log_by_agent ON read_log(slug, id);

-- Events that wait, the keys of those that do not any more, and what is being written: a row, or none. `next` is a number
-- beyond all that it names. There is a row in `events_unswept` while copies of what was deleted may be left.
CREATE TABLE events(
    number INTEGER PRIMARY KEY, key INTEGER, kind TEXT NOT NULL, body TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
CREATE TABLE events_seen(id INTEGER PRIMARY KEY, key INTEGER NOT NULL) STRICT;
CREATE TABLE events_plan(next INTEGER NOT NULL, plan TEXT NOT NULL) STRICT;
CREATE TABLE events_unswept(id INTEGER PRIMARY KEY) STRICT;

-- What was forgotten for good, as digests, with the name of the key that they were made with; what was left out because of it; what was
-- changed. `revision` counts the changes of a row.
CREATE TABLE tombstones(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, place TEXT NOT NULL, about TEXT NOT NULL, key INTEGER NOT NULL,
    checksum INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE tombstone_digests(tombstone INTEGER NOT NULL, kind INTEGER NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE INDEX tombstone_digests_by_tombstone ON tombstone_digests(tombstone);
CREATE TABLE left_out(
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by_whom TEXT NOT NULL, into_what TEXT NOT NULL, whole INTEGER NOT NULL,
    tombstone INTEGER NOT NULL) STRICT;
CREATE TABLE changes(
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by_whom TEXT NOT NULL, what TEXT NOT NULL, path TEXT NOT NULL,
    first_line INTEGER, last_line INTEGER, before BLOB, after BLOB, checkpoint TEXT) STRICT;
CREATE INDEX changes_by_path ON changes(path);

-- Purges that are not finished, and what goes with each, in the words of whoever purges it; `removed` once the note's own text is.
CREATE TABLE open_purges(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, path TEXT NOT NULL, first_line INTEGER, last_line INTEGER,
    gone INTEGER NOT NULL, readers TEXT NOT NULL, going_with TEXT NOT NULL DEFAULT '[]', tombstone INTEGER,
    removed INTEGER NOT NULL DEFAULT 0) STRICT;

-- Files of facts that were seen.
CREATE TABLE facts_seen(path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Work that waits, by digests of what it is about, and what of it was done with which content; calls of chat models.
-- None of it holds a text.
CREATE TABLE jobs(
    kind TEXT NOT NULL, key BLOB NOT NULL, content BLOB NOT NULL, state TEXT NOT NULL, due INTEGER NOT NULL, attempts INTEGER NOT NULL,
    revived INTEGER NOT NULL, passing INTEGER NOT NULL, reason TEXT, created INTEGER NOT NULL,
    CHECK(min(attempts, revived) >= 0 AND max(attempts, revived) < 1 << 31), PRIMARY KEY(kind, key)) STRICT, WITHOUT ROWID;
CREATE TABLE jobs_done(
    kind TEXT NOT NULL, key BLOB NOT NULL, content BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(kind, key)) STRICT, WITHOUT ROWID;
CREATE TABLE model_calls(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, weight INTEGER NOT NULL, ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL, kept INTEGER NOT NULL, dropped INTEGER NOT NULL,
    CHECK(min(prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped) >= 0
        AND max(prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped) < 1 << 42)) STRICT;
CREATE INDEX model_calls_by_time ON model_calls(at);

-- Imports of what other programs wrote, the events and notes that each brought, and the files that it made or changed. `origin` is where
-- the source of a note is: another of the same text may be a copy of it, or it moved.
CREATE TABLE imports(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, source TEXT NOT NULL, at INTEGER NOT NULL, is_done INTEGER NOT NULL) STRICT;
CREATE TABLE import_keys(key INTEGER PRIMARY KEY, import INTEGER NOT NULL) STRICT;
CREATE TABLE import_files(
    import INTEGER NOT NULL, path TEXT NOT NULL, checkpoint TEXT, after TEXT NOT NULL, PRIMARY KEY(import, path)) STRICT, WITHOUT ROWID;
CREATE TABLE import_notes(
    key INTEGER PRIMARY KEY, import INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL, after TEXT NOT NULL,
    origin TEXT NOT NULL) STRICT;
CREATE INDEX import_notes_by_source ON import_notes(source);
CREATE INDEX import_notes_by_path ON import_notes(path);

-- Files of sessions as they were read, and the notes that were made of each, both by digests of the files' names, with what kind of channel
-- a session was told to come from, last that anything told it, and what that is called.
CREATE TABLE session_sources(
    key BLOB PRIMARY KEY, entry BLOB NOT NULL, settings BLOB NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    length INTEGER NOT NULL, content BLOB NOT NULL, turns INTEGER NOT NULL, digest BLOB NOT NULL, generation INTEGER NOT NULL,
    is_out INTEGER NOT NULL, told_scope TEXT NOT NULL DEFAULT '', told_name TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
CREATE TABLE session_notes(
    key BLOB NOT NULL, generation INTEGER NOT NULL, part INTEGER NOT NULL, path TEXT NOT NULL, after TEXT NOT NULL, next TEXT NOT NULL,
    turns INTEGER NOT NULL, next_turns INTEGER NOT NULL, is_edited INTEGER NOT NULL,
    PRIMARY KEY(key, generation, part)) STRICT, WITHOUT ROWID;
CREATE INDEX session_notes_by_path ON session_notes(path);

-- What of an archive was taken over, by its hash.
CREATE TABLE taken_over(name TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// Makes the tables where there is nothing yet, in one transaction, and looks whether all are there.
///
/// # Errors
/// When the database at `path` is not one of ours, or SQLite refuses.
pub(super) fn make(connection: &Connection, path: &Path) -> Result<(), StateError> {
    let sqlite = |error| StateError::of(path, error);
    if format(connection).map_err(sqlite)? == 0 {
        let transaction = connection.unchecked_transaction().map_err(sqlite)?;
        // Another process may have been faster.
        if format(&transaction).map_err(sqlite)? == 0 {
            let tables = "SELECT count(*) FROM sqlite_master";
            if transaction.query_row(tables, [], |row| row.get::<_, i64>(0)).map_err(sqlite)? > 0 {
                return Err(damaged(path, "it has tables of somebody else"));
            }
            let made = transaction.execute_batch(SCHEMA);
            made.and_then(|()| transaction.pragma_update(None, "user_version", FORMAT)).map_err(sqlite)?;
            crash::point("state-made");
        }
        transaction.commit().map_err(sqlite)?;
    }
    if format(connection).map_err(sqlite)? == 1 {
        let drops =
            "DROP TABLE IF EXISTS usage; DROP TABLE IF EXISTS read_log_bytes; DROP TABLE IF EXISTS model_calls_before";
        let transaction = connection.unchecked_transaction().map_err(sqlite)?;
        transaction.execute_batch(drops).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)?;
    }
    check_format(connection, path)?;
    for table in SCHEMA.split("CREATE TABLE ").skip(1).filter_map(|rest| rest.split('(').next()) {
        let there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
        if !connection.prepare(there).and_then(|mut there| there.exists([table])).map_err(sqlite)? {
            return Err(damaged(path, &format!("it has no table `{table}`")));
        }
    }
    Ok(())
}

/// Whether a database has our format, our tables and nothing else.
///
/// # Errors
/// When it has not, or SQLite refuses.
pub(super) fn is_exactly_ours(connection: &Connection, path: &Path) -> Result<(), StateError> {
    let sqlite = |error| StateError::of(path, error);
    check_format(connection, path)?;
    let all = |connection: &Connection| -> rusqlite::Result<Vec<[Option<String>; 4]>> {
        let mut all = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")?;
        let all = all.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
        all.collect()
    };
    let ours = Connection::open_in_memory().map_err(sqlite)?;
    make(&ours, path)?;
    match all(connection).map_err(sqlite)? == all(&ours).map_err(sqlite)? {
        true => Ok(()),
        false => Err(damaged(path, "it has other tables than this program makes")),
    }
}

fn format(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn check_format(connection: &Connection, path: &Path) -> Result<(), StateError> {
    match format(connection).map_err(|error| StateError::of(path, error))? {
        FORMAT => Ok(()),
        found => {
            let reason = format!(
                "it has format {found}, and this version knows only format {FORMAT}: use the version that wrote it, or move the file away; \
                 the vault then starts with a new one, without tokens and without its list of purged texts"
            );
            Err(StateError::Refused { path: path.to_owned(), reason })
        }
    }
}

/// Why the database at a path is not taken for ours.
pub(super) fn damaged(path: &Path, reason: &str) -> StateError {
    StateError::Damaged { path: path.to_owned(), reason: reason.into() }
}

/// What tells that a row holds what was written: 63 bits of BLAKE3.
pub(super) fn checksum(parts: &[&[u8]]) -> i64 {
    (hash_of(parts) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_made_once_and_another_format_is_left_alone() {
        let ours = Connection::open_in_memory().unwrap();
        assert!(make(&ours, Path::new("x")).is_ok() && make(&ours, Path::new("x")).is_ok());
        ours.execute_batch("PRAGMA user_version = 99").unwrap();
        let refused = make(&ours, Path::new("x")).unwrap_err();
        assert!(matches!(&refused, StateError::Refused { reason, .. } if reason.contains("format 99")), "{refused}");
        let theirs = Connection::open_in_memory().unwrap();
        theirs.execute_batch("CREATE TABLE notes(id)").unwrap();
        assert!(matches!(make(&theirs, Path::new("x")), Err(StateError::Damaged { .. })));
        let robbed = Connection::open_in_memory().unwrap();
        assert!(make(&robbed, Path::new("x")).is_ok());
        robbed.execute_batch("DROP TABLE agents").unwrap();
        assert!(matches!(make(&robbed, Path::new("x")), Err(StateError::Damaged { .. })));
    }
}
