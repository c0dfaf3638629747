//! What becomes of a file that cannot be read: it is put aside under another name, so that it keeps nobody out, and lets
//! nobody in.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::store::{Durability, State, StateError};
use crate::base::fs::{Context, FsError, remove_file, sync_folder};

impl State {
    /// Where the last file is that could not be read, if there is one.
    pub fn put_aside(&self) -> Option<PathBuf> {
        let aside = aside(&self.file);
        aside.exists().then_some(aside)
    }

    /// Puts the file aside, and begins another. Tokens are not taken out of what is damaged: who had one, and whose was taken
    /// back, is not certain there.
    pub(super) fn replace(&self, damage: &StateError) -> Result<(), StateError> {
        let aside = aside(&self.file);
        self.say(format!(
            "{damage}. It was moved to {}; agents and programs need new tokens (`vault agent rotate`, `vault token add`)",
            aside.display()
        ));
        // The file goes before its log: without the log it might read as it was before its last changes.
        rename(&self.file, &aside)?;
        rename(&with(&self.file, "-wal"), &with(&aside, "-wal"))?;
        remove_file(&with(&self.file, "-shm"))?;
        sync_folder(&self.file)?;
        self.make()?;
        let mut opened = self.connect(Durability::Full)?;
        if let Err(error) = salvage(&aside, &mut opened.connection) {
            tracing::warn!("nothing could be taken out of {}: {error}", aside.display());
        }
        Ok(())
    }
}

/// What is taken over row by row: events on their way, what agents asked, what was given how often, what was changed and what was forgotten,
/// what was imported or kept of sessions, so that it does not come twice, and what was done.
/// Each row of an event or a tombstone says itself whether it is whole.
const SALVAGED: [(&str, &str); 18] = [
    ("events", "number, key, kind, body, checksum"),
    ("events_seen", "id, key"),
    ("events_plan", "rowid, next, plan"),
    ("read_log", "id, slug, entry"),
    ("read_log_bytes", "slug, bytes"),
    ("usage", "reader, chunk, count, last_ms"),
    ("tombstones", "id, at, place, about, key, checksum, revision"),
    ("tombstone_digests", "rowid, tombstone, kind, digest"),
    ("left_out", "id, at, by_whom, into_what, whole, tombstone"),
    ("changes", "id, at, by_whom, what, path, first_line, last_line, before, after, checkpoint"),
    ("imports", "id, kind, source, at, is_done"),
    ("import_keys", "key, import"),
    ("import_files", "import, path, checkpoint, after"),
    ("import_notes", "key, import, path, source, after, origin"),
    ("jobs_done", "kind, key, content, at"),
    (
        "session_sources",
        "key, entry, settings, size, mtime_ns, length, content, turns, digest, generation, is_out, told_scope, told_name",
    ),
    ("session_notes", "key, generation, part, path, after, next, turns, next_turns, is_edited"),
    ("open_purges", "id, at, path, first_line, last_line, gone, readers, going_with, tombstone, removed"),
];

/// Takes over what can be read: from the beginning up to where the damage is, and from the end back to it.
fn salvage(damaged: &Path, into: &mut Connection) -> rusqlite::Result<()> {
    let from = Connection::open(damaged)?;
    let transaction = into.transaction()?;
    let mut failed = None;
    for (table, columns) in SALVAGED {
        let first = columns.split(", ").next().unwrap_or("rowid");
        for order in ["ASC", "DESC"] {
            let select = format!("SELECT {columns} FROM {table} ORDER BY {first} {order}");
            // A row that fits no more is as good as none.
            match copy_rows((&from, &select), &transaction, (table, columns), true) {
                Ok(_) => break,
                Err(error) => failed = Some(error),
            }
        }
    }
    transaction.commit()?;
    failed.map_or(Ok(()), Err)
}

/// Copies the rows that a statement selects into columns of a table; gives how many. What is there already stays as it is, and what does not
/// fit `may_fail`.
pub(super) fn copy_rows(
    (from, select): (&Connection, &str),
    into: &Connection,
    (table, columns): (&str, &str),
    may_fail: bool,
) -> rusqlite::Result<usize> {
    let count = columns.split(", ").count();
    let places = vec!["?"; count].join(", ");
    let mut insert = into.prepare(&format!("INSERT OR IGNORE INTO {table}({columns}) VALUES ({places})"))?;
    let mut select = from.prepare(select)?;
    let (mut rows, mut copied) = (select.query([])?, 0);
    while let Some(row) = rows.next()? {
        let values = (0..count).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()?;
        match insert.execute(params_from_iter(values)) {
            Err(error) if !may_fail => return Err(error),
            inserted => copied += inserted.unwrap_or(0),
        }
    }
    Ok(copied)
}

/// Where a file is put.
pub(super) fn aside(file: &Path) -> PathBuf {
    with(file, ".damaged")
}

/// A path with something at its end.
pub(super) fn with(file: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(end);
    name.into()
}

fn rename(from: &Path, to: &Path) -> Result<(), FsError> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => remove_file(to),
        renamed => renamed.on("rename", from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_imported_and_done_is_known_after_damage() {
        let rows = [
            ("imports", "1, 'chatgpt', 'export.zip', 7, 1"),
            ("import_keys", "7, 1"),
            ("import_files", "1, 'conversations/a.md', NULL, 'hash'"),
            ("import_notes", "8, 1, 'notes/a.md', 'a.md', 'hash', '/theirs/a.md'"),
            ("jobs_done", "'extraction', x'01', x'02', 5"),
            ("session_sources", "x'01', x'02', x'03', 7, 8, 7, x'04', 1, x'05', 0, 0, 'direct', 'telegram'"),
            ("session_notes", "x'01', 0, 0, 'conversations/a.md', 'hash', '', 1, 0, 0"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let connected = |name: &str| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            let state = State::in_folder(&folder.path().join(name));
            state.make().unwrap();
            (state.file().to_owned(), state.connect(Durability::Full).unwrap().connection)
        };
        let (damaged, from) = connected("damaged");
        let (_, mut into) = connected("new");
        for (table, values) in rows {
            from.execute(&format!("INSERT INTO {table} VALUES ({values})"), []).unwrap();
        }
        salvage(&damaged, &mut into).unwrap();
        for (table, _) in rows {
            let count = into.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
            assert_eq!(count.unwrap(), 1, "{table}");
        }
    }
}
