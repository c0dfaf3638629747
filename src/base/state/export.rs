//! What an archive carries of the state: a database of its own with the rows of the tables that are named here, and the keys of digests
//! beside it. So a vault that goes on elsewhere writes what waited, forgets what was forgotten, imports nothing twice, and knows what its chat
//! model has cost. Hashes of tokens and logs never come near it, nor does what was deleted.
//!
//! Anybody may have made what an archive brings. It counts only if it is whole and has our tables and nothing else; then its rows are
//! taken over, in one transaction, when the state is opened.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::key::{KEY, keys_of};
use super::queue::event_checksum;
use super::schema::{self, damaged};
use super::store::{Durability, Handle, State, StateError, aside, copy_rows};
use crate::base::fs::{Context, crash, remove_file};

/// The file's name in the vault's state.
const EXPORTED: &str = "export.db";
/// Maximum size of what an archive brings, in bytes: it is read into memory.
const MAX_BYTES: u64 = 4 << 30;
/// Maximum number that a row may bring along: beyond it there would soon be none left.
const MAX_ID: i64 = 1 << 40;

/// The tables, with the columns that go along. Where a table whose rows are numbered is named besides, the first column is a number of that
/// table: its rows get others where there are some already. Events, whose checksums cover their numbers, are copied apart.
const CARRIED: [(&str, &str, Option<&str>); 12] = [
    ("tombstones", "id, at, place, about, key, checksum", Some("tombstones")),
    ("tombstone_digests", "tombstone, kind, digest", Some("tombstones")),
    ("imports", "id, kind, source, at, is_done", Some("imports")),
    ("import_keys", "import, key", Some("imports")),
    ("import_files", "import, path, checkpoint, after", Some("imports")),
    ("import_notes", "import, key, path, source, after, origin", Some("imports")),
    ("jobs", "kind, key, content, state, due, attempts, revived, passing, reason, created", None),
    ("jobs_done", "kind, key, content, at", None),
    ("model_calls", "at, kind, model, outcome, prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped", None),
    ("model_calls_before", "outcome, calls, prompt_tokens, answer_tokens, bytes, first", None),
    ("usage", "reader, chunk, count, last_ms", None),
    ("events_seen", "key", None),
];

impl State {
    /// What an archive carries, as files below the vault's state; none where there is nothing to carry.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn export(self: &Arc<Self>) -> Result<Vec<(&'static str, Vec<u8>)>, StateError> {
        let keys = self.key_bytes()?;
        let mut copy = Connection::open_in_memory().map_err(|error| StateError::of(&self.file, error))?;
        schema::make(&copy, &self.file)?;
        let handle = Handle::new(self, Durability::Full);
        let copied = handle.if_there(|opened| {
            let from = opened.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
            let into = copy.transaction()?;
            let copied = copy_all(&from, &into)?;
            // What no key is left for is known nowhere.
            if keys.is_empty() {
                into.execute_batch("DELETE FROM tombstones; DELETE FROM tombstone_digests")?;
            }
            into.commit()?;
            Ok(copied)
        });
        if copied?.unwrap_or(0) == 0 {
            return Ok(Vec::new());
        }
        let copy = copy.serialize("main").map_err(|error| StateError::of(&self.file, error))?;
        let keys = (!keys.is_empty()).then(|| (KEY, keys.concat()));
        Ok(keys.into_iter().chain([(EXPORTED, copy.to_vec())]).collect())
    }

    /// What an archive has brought into a folder, checked, to be changed before it is taken over elsewhere.
    ///
    /// # Errors
    /// When it cannot be read, or no export has made it.
    pub fn of_archive(folder: &Path) -> Result<Arc<Self>, StateError> {
        if let Some(bytes) = read(&folder.join(EXPORTED))? {
            open(folder, &bytes)?;
        }
        Ok(Self::in_folder(folder))
    }

    /// Leaves it as an archive has it. Nobody else may have it open.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn leave_as_archive(&self) -> Result<(), StateError> {
        if !self.file.exists() {
            return Ok(());
        }
        let opened = self.connect(Durability::Full)?;
        // All of it is in the one file then.
        opened
            .connection
            .pragma_update(None, "journal_mode", "DELETE")
            .map_err(|error| StateError::of(&self.file, error))?;
        drop(opened);
        let exported = self.brought.join(EXPORTED);
        std::fs::rename(&self.file, &exported).on("rename", &self.file)?;
        Ok(remove_file(&self.lock_file())?)
    }

    /// Whether an archive has brought something that was not taken over.
    pub(super) fn is_brought(&self) -> bool {
        self.brought.join(EXPORTED).exists()
    }

    /// Takes over what an archive has brought, once. What cannot be read is put aside.
    pub(super) fn take_over(&self, connection: &mut Connection) -> Result<(), StateError> {
        let path = self.brought.join(EXPORTED);
        let Some(bytes) = read(&path)? else { return Ok(()) };
        let sqlite = |error| StateError::of(&self.file, error);
        let transaction = connection.transaction().map_err(sqlite)?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let before = "SELECT hash FROM taken_over WHERE name = ?1";
        let before = transaction.query_row(before, [EXPORTED], |row| row.get::<_, String>(0)).optional();
        // Else a kill came before the file was removed.
        if before.map_err(sqlite)?.is_none_or(|before| before != hash) {
            let opened = open(&self.brought, &bytes).and_then(|(brought, keys)| {
                if self.brought != self.folder() {
                    self.add_keys(&keys)?;
                }
                Ok(brought)
            });
            let brought = match opened {
                Err(error @ StateError::Fs(_)) => return Err(error),
                Err(error) => {
                    let aside = aside(&path);
                    tracing::warn!("what an archive brought is not taken over: {error}. It is {} now", aside.display());
                    return Ok(std::fs::rename(&path, &aside).on("rename", &path)?);
                }
                Ok(brought) => brought,
            };
            copy_all(&brought, &transaction).map_err(sqlite)?;
            let taken = "INSERT OR REPLACE INTO taken_over(name, hash) VALUES (?1, ?2)";
            transaction.execute(taken, [EXPORTED, &hash]).map_err(sqlite)?;
            transaction.commit().map_err(sqlite)?;
            crash::point("state-taken-over");
        }
        // The keys that came along stay nowhere but beside the state.
        if self.brought != self.folder() {
            remove_file(&self.brought.join(KEY))?;
        }
        Ok(remove_file(&path)?)
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.on("open", path)?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).on("read", path)?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(damaged(path, "it is too large")),
        false => Ok(Some(bytes)),
    }
}

/// A database, in memory and to be read, and the keys that came with it.
type Brought = (Connection, Vec<[u8; 32]>);

/// Opens what an archive has brought into a folder. It runs nothing of its own, is whole, and has our tables and nothing else.
fn open(folder: &Path, bytes: &[u8]) -> Result<Brought, StateError> {
    let (path, key_file) = (folder.join(EXPORTED), folder.join(KEY));
    let sqlite = |error| StateError::of(&path, error);
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        for (config, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(config, on)?;
        }
        connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
        connection.pragma_update(None, "cell_size_check", "ON")?;
        Ok(connection)
    };
    let connection = open().map_err(sqlite)?;
    schema::is_exactly_ours(&connection, &path)?;
    let check = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0)).map_err(sqlite)?;
    if check != "ok" {
        return Err(damaged(&path, &check));
    }
    let keys = match std::fs::read(&key_file) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        keys => keys_of(&keys.on("read", &key_file)?),
    };
    let forgotten = connection.prepare("SELECT 1 FROM tombstones").and_then(|mut select| select.exists([]));
    if keys.is_none() && forgotten.map_err(sqlite)? {
        return Err(damaged(&key_file, "it is not a key, and purged texts are recognised only with their key"));
    }
    Ok((connection, keys.unwrap_or_default()))
}

/// Copies what an archive carries; gives how many rows. What is there already stays as it is.
fn copy_all(from: &Connection, into: &Connection) -> rusqlite::Result<usize> {
    let (mut copied, mut shift) = (copy_events(from, into)?, 0);
    for (table, columns, numbered) in CARRIED {
        if numbered == Some(table) {
            // No number is given twice.
            let last = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?1";
            shift = into.query_row(last, [table], |row| row.get::<_, Option<i64>>(0))?.unwrap_or(0);
        }
        let (first, rest) = columns.split_once(", ").unwrap_or((columns, ""));
        let select = match numbered {
            Some(of) => format!(
                "SELECT {first} + {shift}, {rest} FROM {table}
                WHERE {first} BETWEEN 1 AND {MAX_ID} AND {first} IN (SELECT id FROM {of}) ORDER BY 1"
            ),
            None => format!("SELECT {columns} FROM {table}"),
        };
        copied += copy_rows((from, &select), into, (table, columns), false)?;
    }
    Ok(copied)
}

/// Copies events that wait behind those that are there, and what is being written of them where there were none. Those that do not hold what
/// was written into them stay behind.
fn copy_events(from: &Connection, into: &Connection) -> rusqlite::Result<usize> {
    let next = "SELECT max((SELECT coalesce(max(number), 0) FROM events), (SELECT coalesce(max(next) - 1, 0) FROM events_plan))";
    let before: i64 = into.query_row(next, [], |row| row.get(0))?;
    let mut insert =
        into.prepare("INSERT INTO events(number, key, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut select = from.prepare(&format!(
        "SELECT number, key, kind, body, checksum FROM events WHERE number BETWEEN 1 AND {MAX_ID} ORDER BY number"
    ))?;
    let (mut rows, mut copied) = (select.query([])?, 0);
    while let Some(row) = rows.next()? {
        let (number, key): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        let (kind, body): (String, String) = (row.get(2)?, row.get(3)?);
        if event_checksum(number, key, &kind, &body) == row.get::<_, i64>(4)? {
            let number = number + before;
            copied += insert.execute(params![number, key, kind, body, event_checksum(number, key, &kind, &body)])?;
        }
    }
    if before == 0 {
        let plan = format!("SELECT next, plan FROM events_plan WHERE next BETWEEN 1 AND {MAX_ID} LIMIT 1");
        let plan = from.query_row(&plan, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
        if let Some((next, plan)) = plan.optional()? {
            into.execute("DELETE FROM events_plan", [])?;
            copied += into.execute("INSERT INTO events_plan(next, plan) VALUES (?1, ?2)", params![next, plan])?;
        }
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::jobs::JobTable;
    use super::super::key::DigestKey;
    use super::super::model_calls::{CallAllowance, CallEnd, CallQuota, ModelCallTable};
    use super::super::queue::{Batch, EventQueue, EventReader, NewEvent};
    use super::super::sources::{ImportTable, ImportedFile, NoteOrigin};
    use super::super::tokens::{TokenRow, TokenTable};
    use super::super::tombstones::{ForgottenKind, TombstoneTable};
    use super::super::usage::UsageTable;
    use super::*;

    const KIND: &str = "extraction";

    fn state() -> (tempfile::TempDir, Arc<State>) {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        (folder, state)
    }

    fn write(files: &[(&str, Vec<u8>)], folder: &tempfile::TempDir) {
        files.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
    }

    fn forget(state: &Arc<State>, text: &str) {
        let digest = state.key_or_new().unwrap().digest("x", &[text.as_bytes()]);
        TombstoneTable::new(state).add(Timestamp::now(), "a.md", "{}", &[(ForgottenKind::Text, digest)], None).unwrap();
    }

    fn knows(state: &Arc<State>, text: &str) -> bool {
        let all = TombstoneTable::new(state).all().unwrap();
        state.keys().unwrap().iter().any(|key| all.with(&key.digest("x", &[text.as_bytes()])).count() == 1)
    }

    fn event(key: u64, body: &str) -> NewEvent {
        NewEvent { key: Some(key), import: None, kind: "messages", body: body.into() }
    }

    fn send(state: &Arc<State>, events: Vec<NewEvent>) -> usize {
        EventQueue::new(state).commit(&Batch { events, ..Batch::default() }).unwrap()
    }

    fn waiting(state: &Arc<State>) -> Vec<(u64, String)> {
        let events = EventReader::new(state).read(0, u64::MAX, 99, usize::MAX).unwrap();
        events.into_iter().map(|(number, body)| (number, body.unwrap())).collect()
    }

    fn import(state: &Arc<State>) -> ImportTable {
        let imports = ImportTable::new(state);
        let (id, _) = imports.begin("chatgpt", "a.zip", Timestamp::from_second(7).unwrap()).unwrap();
        let imported = NewEvent { import: Some(id), ..event(u64::MAX, "imported") };
        assert_eq!(send(state, vec![imported]), 1);
        let file = |path: &str| ImportedFile { path: path.into(), checkpoint: None, after: "digest".into() };
        ["notes/a.md", "notes/b.md"].iter().for_each(|path| imports.note_file(id, &file(path)).unwrap());
        let [path, origin, source, after] = ["notes/a.md", "a.md", "digest", "digest"].map(String::from);
        imports.keep_note(id, &NoteOrigin { key: 8, origin, path, source, after }).unwrap();
        imports.end(id).unwrap();
        imports
    }

    #[test]
    fn what_is_carried_is_taken_over_once_and_whole_and_no_token_is() {
        let ((_here, here), (there, _)) = (state(), state());
        assert_eq!(here.export().unwrap(), []);
        let hash = blake3::hash(b"secret");
        TokenTable::new(&here).add(&TokenRow { name: "browser".into(), created_at: Timestamp::now(), hash }).unwrap();
        assert_eq!(here.export().unwrap(), [], "there is nothing to carry");
        forget(&here, "one");
        let imports = import(&here);
        UsageTable::new(&here).add("ada", vec![7], 9);
        let (jobs, calls) = (JobTable::new(&here), ModelCallTable::new(&here));
        jobs.queue(KIND, [1; 16], [7; 16], 5, 0).unwrap();
        jobs.queue(KIND, [2; 16], [8; 16], 5, 0).unwrap();
        jobs.finish(KIND, [2; 16], [8; 16], 9).unwrap();
        jobs.queue(KIND, [3; 16], [9; 16], 0, 0).unwrap();
        jobs.bury(KIND, [3; 16], true, "no answer").unwrap();
        jobs.claim(KIND, 6).unwrap().unwrap();
        let allowance = CallAllowance { calls: 9, tokens: 999 };
        let CallQuota::Call(id) = calls.reserve(KIND, "m", [10, 20], allowance, 100).unwrap() else { panic!() };
        let end = CallEnd { outcome: "answered", tokens: [3, 4], ms: 5, kept_and_dropped: [1, 0] };
        calls.finish(id, end).unwrap();

        let files = here.export().unwrap();
        let bytes = &files.iter().find(|(name, _)| *name == EXPORTED).unwrap().1;
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(has(b"chatgpt") && !has(b"browser") && !has(hash.to_hex().as_bytes()));
        write(&files, &there);
        for _ in 0..2 {
            let taken = State::in_folder(there.path());
            assert!(knows(&taken, "one") && !knows(&taken, "two"));
            let imports_there = ImportTable::new(&taken);
            assert_eq!(imports_there.known(&[u64::MAX, 5]).unwrap(), [true, false]);
            assert_eq!(imports_there.all().unwrap(), imports.all().unwrap());
            assert_eq!(imports_there.files(1).unwrap(), imports.files(1).unwrap());
            assert_eq!(imports_there.note(8).unwrap(), imports.note(8).unwrap());
            assert_eq!(UsageTable::new(&taken).of("ada", &[7]).unwrap(), [1]);
            let (jobs_there, calls_there) = (JobTable::new(&taken), ModelCallTable::new(&taken));
            // What was being done elsewhere is done here.
            assert_eq!(jobs_there.all(KIND).unwrap().len(), 2);
            assert!(jobs_there.all(KIND).unwrap().iter().any(|job| !job.is_dead));
            assert_eq!(jobs_there.done(KIND).unwrap(), jobs.done(KIND).unwrap());
            assert_eq!(calls_there.newest(9).unwrap(), calls.newest(9).unwrap());
            assert_eq!(calls_there.totals(200).unwrap(), calls.totals(200).unwrap());
            assert_eq!(waiting(&taken), [(1, "imported".into())]);
            assert!(!there.path().join(EXPORTED).exists());
            // As after a kill before it was removed.
            write(&files, &there);
        }
    }

    #[test]
    fn beside_what_is_there_each_gets_a_number_that_is_free() {
        let ((_one, one), (busy_folder, busy)) = (state(), state());
        assert_eq!(send(&one, vec![event(1, "first"), event(2, "second")]), 2);
        let commit = |batch: Batch| _ = EventQueue::new(&one).commit(&batch).unwrap();
        commit(Batch { done: vec![1], plan: Some("[2]".into()), ..Batch::default() });
        let elsewhere = state();
        write(&one.export().unwrap(), &elsewhere.0);
        assert_eq!(waiting(&elsewhere.1), [(2, "second".into())]);
        assert_eq!(EventReader::new(&elsewhere.1).plan().unwrap().as_deref(), Some("[2]"));
        assert_eq!(send(&elsewhere.1, vec![event(1, "first"), event(3, "third")]), 1, "it was there before");
        import(&busy);
        forget(&busy, "mine");
        import(&one);
        forget(&one, "theirs");
        let (folder, _) = state();
        let both = Arc::new(State::new(folder.path().to_owned(), busy_folder.path()));
        write(&one.export().unwrap(), &folder);
        let ids = |imports: ImportTable| imports.all().unwrap().iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids(ImportTable::new(&both)), [2, 1]);
        assert_eq!(ImportTable::new(&both).files(2).unwrap().len(), 2);
        assert!(knows(&both, "mine") && knows(&both, "theirs"));
        let said: Vec<_> = waiting(&both).into_iter().map(|(_, body)| body).collect();
        assert_eq!(said, ["imported", "second", "imported"]);
        assert!(!folder.path().join(KEY).exists(), "the keys are beside the state alone");
    }

    #[test]
    fn what_two_vaults_have_forgotten_is_known_each_by_its_key() {
        let vaults = [(); 4].map(|()| state());
        let unpack = |of: &Arc<State>, into: &tempfile::TempDir, by: &Arc<State>| {
            write(&of.export().unwrap(), into);
            let state = State::of_archive(into.path()).unwrap();
            TombstoneTable::new(&state).join(by).unwrap();
            state.leave_as_archive().unwrap();
            let mut names: Vec<_> =
                std::fs::read_dir(into.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, [EXPORTED, KEY]);
        };
        let [one, two, third, fourth] = vaults.each_ref().map(|(_, state)| state);
        forget(one, "one");
        forget(two, "two");
        unpack(one, &vaults[2].0, two);
        assert!(knows(third, "one") && knows(third, "two") && !knows(one, "two"));
        // What comes now has the first key, and all of it goes on to the next vault, each once.
        forget(third, "three");
        unpack(third, &vaults[3].0, two);
        assert!(["one", "two", "three"].iter().all(|text| knows(fourth, text)));
        assert_eq!(TombstoneTable::new(fourth).all().unwrap().all.len(), 3);
        assert_eq!(fourth.keys().unwrap().iter().map(DigestKey::name).collect::<Vec<_>>().len(), 2);
    }

    #[test]
    fn what_no_export_has_made_is_no_nothing_and_does_no_harm() {
        let (_here, here) = state();
        forget(&here, "one");
        import(&here);
        let files = here.export().unwrap();
        let refused = |files: &[(&str, Vec<u8>)]| {
            let (folder, there) = state();
            write(files, &folder);
            let said = State::of_archive(folder.path()).unwrap_err().to_string();
            // Whoever unpacks it by hand has a vault all the same.
            assert!(!knows(&there, "one") && ImportTable::new(&there).all().unwrap().is_empty(), "{said}");
            assert!(there.put_aside().is_none() && there.trouble().is_none(), "{said}");
            assert!(aside(&folder.path().join(EXPORTED)).exists(), "{said}");
            said
        };
        let [key, exported] = &files[..] else { panic!("{}", files.len()) };
        assert!(refused(std::slice::from_ref(exported)).contains(KEY));
        assert!(refused(&[(KEY, b"short".to_vec()), exported.clone()]).contains(KEY));
        let with = |bytes: &[u8]| refused(&[key.clone(), (EXPORTED, bytes.to_vec())]);
        for length in [0, 7, 99, 100, 5000, exported.1.len() - 5000] {
            assert!(with(&exported.1[..length]).contains(EXPORTED), "{length}");
        }
        let changed = |sql: &str| {
            let mut hostile = Connection::open_in_memory().unwrap();
            hostile.deserialize_read_exact("main", &exported.1[..], exported.1.len(), false).unwrap();
            hostile
                .execute_batch(&format!("PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON; {sql}"))
                .unwrap();
            hostile.serialize("main").unwrap().to_vec()
        };
        for (sql, why) in [
            ("PRAGMA user_version = 99", "format 99"),
            ("CREATE TABLE more(x)", "other tables"),
            ("CREATE VIEW more AS SELECT 1", "other tables"),
            ("CREATE TRIGGER more AFTER INSERT ON imports BEGIN DELETE FROM tombstones; END", "other tables"),
            ("DROP TABLE usage; CREATE VIEW usage AS SELECT 'a' reader, 1 chunk, 1 count, 1 last_ms", "other tables"),
            (
                "UPDATE sqlite_master SET sql = replace(sql, 'source TEXT', 'source ANY') WHERE name = 'imports'",
                "other tables",
            ),
            ("INSERT INTO jobs VALUES ('k', x'01', x'02', 'queued', 0, 1 << 40, 0, 0, NULL, 0)", "CHECK"),
            ("INSERT INTO usage VALUES ('ada', 1, 9223372036854775807, 0)", "CHECK"),
        ] {
            let said = with(&changed(sql));
            assert!(said.contains(why), "{sql}: {said}");
        }
        // Numbers that would leave none for those to come, and rows of no import, are passed over.
        let (folder, there) = state();
        let greedy = "INSERT INTO imports VALUES (9223372036854775807, 'k', 's', 0, 1);
            INSERT INTO import_files VALUES (9, 'notes/c.md', NULL, 'x'), (9223372036854775807, 'notes/c.md', NULL, 'x');
            INSERT INTO tombstones(id, at, place, about, key, checksum) VALUES (9223372036854775807, '', '', '', 0, 0);
            INSERT INTO events VALUES (9223372036854775807, NULL, 'messages', 'x', 0), (5, NULL, 'messages', 'x', 0);
            INSERT INTO events_plan VALUES (9223372036854775807, '[]')";
        write(&[key.clone(), (EXPORTED, changed(greedy))], &folder);
        forget(&there, "two");
        assert!(knows(&there, "one") && knows(&there, "two"));
        assert_eq!(send(&there, vec![event(1, "next")]), 1);
        assert_eq!(waiting(&there), [(1, "imported".into()), (2, "next".into())]);
        assert_eq!(ImportTable::new(&there).begin("k", "t", Timestamp::now()).unwrap(), (2, true));
        assert!(ImportTable::new(&there).files(9).unwrap().is_empty());
    }
}
