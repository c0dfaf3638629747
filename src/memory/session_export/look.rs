//! A look at all files of sessions: what has come or grown is read, compared with what is known of it, and written; what is too old, or too
//! many, goes to the trash. And the task that says when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::channel::{ChannelStores, SessionChannel};
use super::note::{NotExported, SessionAbout, SessionWriter, take_notes_away};
use crate::access::request::Workspace;
use crate::base::config::{ChannelScope, SessionProgram, SessionsConfig};
use crate::base::fs::{FsError, crash};
use crate::base::state::{Digest, SessionSource, SessionTable, StateError, cut, digest_of};
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::imports::{SourceKind, is_beside_session, session, session_kind};
use crate::serve::wire::{SessionsState, Skipped};
use crate::vault::disk::{ElsewhereFile, FilesElsewhere, FoldersWatcher, Identity};

/// Maximum number of problems that are kept.
const MAX_PROBLEMS: usize = 100;

/// The files of an entry of `memory.toml`.
struct SessionsEntry {
    config: SessionsConfig,
    /// Its glob, or why it is none.
    files: Result<FilesElsewhere, String>,
    key: Digest,
}

/// What is known of the files, from look to look.
struct SessionsLook {
    entries: Vec<SessionsEntry>,
    table: SessionTable,
    stores: ChannelStores,
    /// What is known of files since the start, by their names.
    known: HashMap<Digest, KnownFile>,
}

/// What is known of a file since the start.
#[derive(Debug, Default)]
struct KnownFile {
    /// Why it is not kept, until it changes, with what it was.
    refused: Option<(u64, i64, String)>,
    /// Whether it is shorter than it was.
    is_cut_short: bool,
    /// Size, time and number of the files that were gone when it was none of them.
    unmoved: Option<(u64, i64, usize)>,
}

/// What a look came to.
#[derive(Debug, Default)]
struct SessionsSeen {
    state: SessionsState,
    /// Whether something is to be tried again soon.
    again: bool,
}

impl SessionsLook {
    /// For the entries of a vault's configuration.
    fn new(workspace: &Workspace) -> Self {
        let root = workspace.home.root();
        let entry = |config: &SessionsConfig| SessionsEntry {
            files: FilesElsewhere::new(root, &config.path).map_err(|error| error.to_string()),
            key: digest_of(config.path.as_bytes()),
            config: config.clone(),
        };
        Self {
            entries: workspace.config.sessions.iter().map(entry).collect(),
            table: SessionTable::new(&workspace.state),
            stores: ChannelStores::default(),
            known: HashMap::new(),
        }
    }

    /// The folders in which files may come, without a look at the files.
    fn folders(&self) -> BTreeSet<PathBuf> {
        self.entries
            .iter()
            .filter_map(|entry| entry.files.as_ref().ok())
            .flat_map(|files| files.find().folders)
            .collect()
    }

    /// Looks at all files, and does what is to be done.
    fn look(&mut self, workspace: &Workspace, is_over: &dyn Fn() -> bool) -> SessionsSeen {
        let mut seen = SessionsSeen::default();
        let mut taken = HashSet::new();
        let Self { entries, table, stores, known } = self;
        for entry in entries.iter() {
            let files = match &entry.files {
                Ok(files) => files.find(),
                Err(error) => {
                    seen.problem(&entry.config.path, error);
                    continue;
                }
            };
            for (path, problem) in files.problems {
                seen.problem(&path.display().to_string(), &problem);
            }
            // What two entries name is the first one's.
            let files: BTreeMap<Digest, ElsewhereFile> = files
                .files
                .into_iter()
                .map(|file| (digest_of(file.path.as_os_str().as_bytes()), file))
                .filter(|(key, file)| !is_beside_session(&file.path.to_string_lossy()) && taken.insert(*key))
                .collect();
            seen.state.sources += files.len();
            let seen = &mut seen;
            let mut look = EntryLook { workspace, table, stores, known, entry, seen };
            if let Err(error) = look.run(&files, is_over) {
                seen.again = true;
                seen.problem(&entry.config.path, &error.to_string());
            }
            if is_over() {
                break;
            }
        }
        known.retain(|key, _| taken.contains(key));
        seen.state.cut_short = known.values().filter(|file| file.is_cut_short).count();
        seen
    }
}

impl SessionsSeen {
    fn problem(&mut self, path: &str, reason: &str) {
        if self.state.problems.len() < MAX_PROBLEMS {
            self.state.problems.push(Skipped { path: path.to_owned(), reason: reason.to_owned() });
        }
    }
}

/// What a file keeps when it grows and its folder is moved.
fn name_and_number(file: &ElsewhereFile) -> Digest {
    let name = file.path.file_name().unwrap_or_default().as_bytes();
    digest_of(&[name, &file.stamp.inode.to_le_bytes()].concat())
}

/// Maximum size of a file, in bytes; a larger one is left out, as its turns are held together.
const MAX_SOURCE_BYTES: u64 = 256 << 20;

/// A look at the files of one entry.
struct EntryLook<'l> {
    workspace: &'l Workspace,
    table: &'l SessionTable,
    stores: &'l mut ChannelStores,
    known: &'l mut HashMap<Digest, KnownFile>,
    entry: &'l SessionsEntry,
    seen: &'l mut SessionsSeen,
}

impl EntryLook<'_> {
    fn run(&mut self, files: &BTreeMap<Digest, ElsewhereFile>, is_over: &dyn Fn() -> bool) -> Result<(), StateError> {
        let known = self.sources(files)?;
        let is_kept = |key: &Digest| known.get(key).is_some_and(|before| !before.is_out && before.turns > 0);
        let ranked = |key: &Digest, mtime_ns, path| RankedSession { mtime_ns, is_kept: is_kept(key), path, key: *key };
        let there = files.iter().map(|(key, file)| ranked(key, file.stamp.mtime_ns, Some(file.path.as_path())));
        // Those that are gone count as well: the ones that changed last stay.
        let gone = known.iter().filter(|(key, _)| !files.contains_key(*key));
        let mut sessions: Vec<RankedSession<'_>> =
            there.chain(gone.map(|(key, source)| ranked(key, source.mtime_ns, None))).collect();
        rank(&mut sessions);
        let SessionsConfig { keep_days, keep_count, .. } = self.entry.config;
        let days = SignedDuration::from_hours(24 * i64::try_from(keep_days).unwrap_or_default());
        let since = Timestamp::now().checked_sub(days).ok().filter(|_| keep_days > 0);
        let since = since.and_then(|since| i64::try_from(since.as_nanosecond()).ok());
        for (at, RankedSession { mtime_ns, key, .. }) in (0_u64..).zip(sessions) {
            if is_over() {
                return Ok(());
            }
            let before = known.get(&key);
            let stays = (keep_count == 0 || at < keep_count) && since.is_none_or(|since| mtime_ns >= since);
            match (files.get(&key), before) {
                (_, Some(before)) if !stays && !before.is_out => {
                    match take_notes_away(self.workspace, self.table, &key, |_, _| true) {
                        Ok(()) => self.table.keep_source(&key, &SessionSource { is_out: true, ..before.clone() })?,
                        Err(NotExported::Lasting(reason) | NotExported::Passing(reason)) => {
                            self.seen.again = true;
                            self.seen.problem(&self.entry.config.path, &reason);
                        }
                    }
                }
                _ if !stays => {}
                (Some(file), before) => self.bring_up(&key, file, before),
                (None, _) => self.seen.state.gone += usize::from(is_kept(&key)),
            }
        }
        for (_, source) in self.table.of_entry(&self.entry.key)? {
            self.seen.state.begun_anew += source.generation as usize;
            self.seen.state.sessions += usize::from(!source.is_out && source.turns > 0);
        }
        self.seen.state.edited += self.table.edited(&self.entry.key)?;
        Ok(())
    }

    /// What is known of the files of the entry: of those of another as well, which named them before. A file that is new and was elsewhere
    /// before is known as that one.
    fn sources(
        &mut self,
        files: &BTreeMap<Digest, ElsewhereFile>,
    ) -> Result<HashMap<Digest, SessionSource>, StateError> {
        let mut known: HashMap<Digest, SessionSource> = self.table.of_entry(&self.entry.key)?.into_iter().collect();
        let mut new = Vec::new();
        for (key, file) in files {
            // One that is refused has nothing that was kept.
            if known.contains_key(key) || self.refused(key, file).is_some() {
                continue;
            }
            match self.table.source(key)? {
                Some(source) => {
                    let source = SessionSource { entry: self.entry.key, ..source };
                    self.table.keep_source(key, &source)?;
                    known.insert(*key, source);
                }
                None => new.push((key, file)),
            }
        }
        let is_gone = |(key, source): &(&Digest, &SessionSource)| source.turns > 0 && !files.contains_key(*key);
        let mut gone: Vec<(Digest, SessionSource)> =
            known.iter().filter(is_gone).map(|(key, source)| (*key, source.clone())).collect();
        // Those first that are known as files: size and time may be another's as well.
        new.sort_by_cached_key(|(_, file)| {
            let own = name_and_number(file);
            !gone.iter().any(|(_, source)| source.file == own)
        });
        for (key, file) in new {
            let stamp = (file.stamp.size, file.stamp.mtime_ns);
            let as_is = Some((stamp.0, stamp.1, gone.len()));
            let is_unmoved = self.known.get(key).is_some_and(|known| known.unmoved == as_is);
            if gone.is_empty() || stamp.0 > MAX_SOURCE_BYTES || is_unmoved {
                continue;
            }
            let lengths = gone.iter().map(|(_, source)| source.length).filter(|length| *length <= stamp.0).collect();
            // What cannot be read is said where it is to be kept.
            let opened = File::open(&file.path).and_then(|mut opened| digests(&mut opened, &lengths));
            let Ok(digests) = opened else { continue };
            // It begins with all that was read of it; of what was purged it is not known what that was.
            let own = name_and_number(file);
            let is_same_file = |source: &SessionSource| source.file == own;
            let is_it = |source: &SessionSource| match source.is_purged() {
                true => (source.size, source.mtime_ns) == stamp || is_same_file(source),
                false => digests.contains(&(source.length, source.content)),
            };
            let found = gone.iter().enumerate().filter(|(_, (_, source))| is_it(source));
            let most = found.max_by_key(|(_, (_, source))| (is_same_file(source), source.length));
            let Some(at) = most.map(|(at, _)| at) else {
                self.known.entry(*key).or_default().unmoved = as_is;
                continue;
            };
            let (from, source) = gone.swap_remove(at);
            self.table.move_file(&from, key)?;
            crash::point("session-moved");
            known.remove(&from);
            known.insert(*key, source);
        }
        Ok(known)
    }

    /// Why a file is not kept that was read as it is now.
    fn refused(&self, key: &Digest, file: &ElsewhereFile) -> Option<&str> {
        let (size, mtime_ns, reason) = self.known.get(key)?.refused.as_ref()?;
        ((*size, *mtime_ns) == (file.stamp.size, file.stamp.mtime_ns)).then_some(reason)
    }

    fn bring_up(&mut self, key: &Digest, file: &ElsewhereFile, before: Option<&SessionSource>) {
        let stamp = (file.stamp.size, file.stamp.mtime_ns);
        let name = file.path.display().to_string();
        let is_known = |before: &SessionSource| (before.size, before.mtime_ns) == stamp && !before.is_out;
        let before_as_is = before.filter(|before| is_known(before));
        let is_done = before_as_is.is_some_and(|before| self.is_as_set(before, file));
        // Of what is kept as far as it can be read, the note may have to follow its channel all the same.
        let reason = self.refused(key, file).filter(|_| is_done || before_as_is.is_none()).map(str::to_owned);
        if let Some(reason) = &reason {
            self.seen.problem(&name, reason);
        }
        if is_done || reason.is_some() {
            return;
        }
        let exported = self.export(key, file, before);
        let known = self.known.entry(*key).or_default();
        known.refused = None;
        match exported {
            Ok(is_cut_short) => known.is_cut_short = is_cut_short,
            Err(NotExported::Lasting(reason)) => {
                tracing::warn!("the session {name} is not kept, or not all of it: {reason}");
                self.seen.problem(&name, &reason);
                known.refused = Some((stamp.0, stamp.1, reason));
            }
            Err(NotExported::Passing(reason)) => {
                self.seen.again = true;
                self.seen.problem(&name, &format!("will be retried: {reason}"));
            }
        }
    }

    /// Brings the notes of a file up to date. `before` is how it was read last. Says whether it is shorter than it was: then what was kept of
    /// it stays.
    fn export(
        &mut self,
        key: &Digest,
        file: &ElsewhereFile,
        before: Option<&SessionSource>,
    ) -> Result<bool, NotExported> {
        let unread = |error: io::Error| NotExported::Lasting(format!("it cannot be read: {error}"));
        let size = file.stamp.size;
        if size > MAX_SOURCE_BYTES {
            return Err(NotExported::Lasting(format!("it has more than {} MB", MAX_SOURCE_BYTES >> 20)));
        }
        let mut opened = File::open(&file.path).map_err(unread)?;
        // What is written behind that meanwhile is for the next look.
        let lengths = before.map(|before| before.length).into_iter().chain([size]).collect();
        let digests = digests(&mut opened, &lengths).map_err(unread)?;
        let content = digests.iter().find(|(length, _)| *length == size).map(|(_, digest)| *digest);
        let content = content.ok_or_else(|| NotExported::Passing("it is being written".into()))?;
        opened.rewind().map_err(unread)?;
        let kind = match self.entry.config.kind {
            Some(SessionProgram::OpenClaw) => Some(SourceKind::OpenClaw),
            Some(SessionProgram::Moltis) => Some(SourceKind::Moltis),
            Some(SessionProgram::ClaudeCode) => Some(SourceKind::ClaudeCode),
            Some(SessionProgram::Codex) => Some(SourceKind::Codex),
            None => session_kind(&file.path, &mut opened),
        };
        let unknown = || NotExported::Lasting("it is not a session of a known program".into());
        let kind = kind.ok_or_else(unknown)?;
        opened.rewind().map_err(unread)?;
        let at_ms = file.stamp.mtime_ns / 1_000_000;
        let transcript = session(kind, &file.path, Some(at_ms), &mut opened.take(size));
        let channel = self.stores.channel(kind, &transcript.id, &file.path);
        // Where nothing tells it any more, as once the channel has a newer session, what was told of it counts.
        let told_scope = channel.scope.or_else(|| ChannelScope::of(&before?.told_scope));
        let told_name = channel.name.or_else(|| before.map(|before| before.told_name.clone()));
        let about = SessionAbout {
            scope: told_scope.unwrap_or(self.entry.config.scope),
            channel: told_name.clone().filter(|name| !name.is_empty()),
            agent: self.entry.config.agent.clone(),
        };
        let seen = SessionSource {
            entry: self.entry.key,
            settings: self.settings(),
            file: name_and_number(file),
            size,
            mtime_ns: file.stamp.mtime_ns,
            told_scope: told_scope.map(|scope| scope.name().to_owned()).unwrap_or_default(),
            told_name: told_name.unwrap_or_default(),
            ..before.cloned().unwrap_or_default()
        };
        let turns = transcript.turns.len() as u64;
        if turns == 0 {
            self.table.keep_source(key, &seen)?;
            return Ok(before.is_some_and(|before| before.turns > 0));
        }
        let (files, collection) = (self.workspace.files()?, self.entry.config.collection());
        let _one = files.one_generation();
        let asked = self.workspace.forgotten.ask()?;
        let mut writer = SessionWriter {
            workspace: self.workspace,
            table: self.table,
            files,
            asked: &asked,
            collection: &collection,
            key,
            generation: seen.generation,
            transcript: &transcript,
            about: &about,
        };
        let goes_on = |before: &SessionSource| match before.is_purged() {
            true => turns >= before.turns,
            false => digests.contains(&(before.length, before.content)),
        };
        let (generation, is_said) = match before.filter(|before| before.turns > 0) {
            Some(before) => writer.place(before, goes_on(before))?,
            None => (seen.generation, false),
        };
        if is_said {
            let seen = match generation == seen.generation {
                true => seen,
                // By what it has now it is told from the next that has its place.
                false => SessionSource { generation, turns, content, length: size, ..seen },
            };
            self.table.keep_source(key, &seen)?;
            return Ok(true);
        }
        writer.generation = generation;
        let count = writer.write()?;
        // What was in the notes behind them is in others now, or is said no more.
        let is_behind = |of: u32, part: usize| of == generation && part >= count;
        take_notes_away(self.workspace, self.table, key, is_behind)?;
        let now = SessionSource { length: size, content, turns, generation, is_out: false, ..seen };
        self.table.keep_source(key, &now)?;
        crash::point("session-marked");
        match transcript.remarks.iter().find(|remark| !remark.contains("is incomplete")) {
            // It is kept as far as it could be read.
            Some(remark) => Err(NotExported::Lasting(remark.clone())),
            None => Ok(false),
        }
    }

    /// Whether the notes of a file that has not changed say of it what they would say now. OpenClaw calls a file as its session is called.
    fn is_as_set(&mut self, before: &SessionSource, file: &ElsewhereFile) -> bool {
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        // OpenClaw names the file of a topic after its session and the topic.
        let id = stem.split_once("-topic-").map_or(&*stem, |(id, _)| id);
        let SessionChannel { scope, name } = self.stores.channel(SourceKind::OpenClaw, id, &file.path);
        before.settings == self.settings()
            && scope.is_none_or(|scope| scope.name() == before.told_scope)
            && name.is_none_or(|name| name == before.told_name)
    }

    /// What the notes are made by, besides the file.
    fn settings(&self) -> Digest {
        let SessionsConfig { agent, scope, .. } = &self.entry.config;
        digest_of(format!("{agent:?} {scope} {}", self.workspace.redacts()).as_bytes())
    }
}

/// The digest of the first bytes of a file, for each of these lengths that it has.
fn digests(file: &mut File, lengths: &BTreeSet<u64>) -> io::Result<Vec<(u64, Digest)>> {
    let (mut hasher, mut digests) = (blake3::Hasher::new(), Vec::new());
    file.seek(SeekFrom::Start(0))?;
    for length in lengths {
        hasher.update_reader(Read::take(&mut *file, length - hasher.count()))?;
        if hasher.count() < *length {
            break;
        }
        digests.push((*length, cut(&hasher.finalize())));
    }
    Ok(digests)
}

/// A session among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RankedSession<'f> {
    /// When its file was changed, in nanoseconds since 1970.
    mtime_ns: i64,
    /// Whether it has a note.
    is_kept: bool,
    /// Its file; `None` where that is gone.
    path: Option<&'f Path>,
    /// The name of the file in the table.
    key: Digest,
}

/// Puts those first that changed last. Of those that changed within one tick of the clock the ones that have a note stay, so that none takes
/// the place of another for nothing, and then they go by their names; those whose files are gone come last.
fn rank(sessions: &mut [RankedSession<'_>]) {
    sessions.sort_unstable_by_key(|session| {
        let RankedSession { mtime_ns, is_kept, path, key } = *session;
        (Reverse(mtime_ns), !is_kept, path.is_none(), path, key)
    });
}

/// Quiet period without a change before files are looked at: a session is written line by line.
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// Maximum time that such a quiet period is waited for.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(2);
/// Delay until what failed in a way that may pass is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Starts to look at the files that `[[sessions]]` names; `None` where it names none.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_sessions(workspace: &Arc<Workspace>) -> Result<Option<Task<SessionsState>>, FsError> {
    if workspace.config.sessions.is_empty() {
        return Ok(None);
    }
    let (vault, mut parts) = (Arc::clone(workspace), None);
    let task = Task::start("sessions", TaskSignal::default(), move |signal, shown| {
        if parts.is_some() && signal.wait_quiet(QUIET_PERIOD, MAX_QUIET_WAIT) {
            return None;
        }
        let index = &vault.config.index;
        let (look, watcher) = parts.get_or_insert_with(|| {
            let changed = signal.clone();
            (SessionsLook::new(&vault), FoldersWatcher::start(index.watch, Arc::new(move || changed.wake())))
        });
        // Listened to before it is looked at: what comes in between is heard of.
        watcher.cover(|| look.folders());
        let mut again = false;
        // A vault that is away, or another's now, is not written to.
        if Identity::of_vault(vault.home.root()).is_some() && vault.lock.is_held() {
            let mut seen = look.look(&vault, &|| signal.is_stopped());
            again = seen.again;
            let reason = watcher.needs_polling().map(str::to_owned);
            seen.state.by = if reason.is_some() { "polling" } else { "events" }.into();
            seen.state.reason = reason;
            *shown.lock().unwrap_or_else(PoisonError::into_inner) = seen.state;
        }
        let every = if watcher.needs_polling().is_some() { index.poll_seconds } else { index.reconcile_seconds };
        let every = Duration::from_secs(every);
        Some(if again { RETRY_DELAY.min(every) } else { every })
    });
    task.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_those_that_changed_at_once_the_ones_that_have_a_note_come_first_and_then_by_name() {
        let session = |name: &'static str, mtime_ns, is_kept, key| RankedSession {
            mtime_ns,
            is_kept,
            path: (!name.is_empty()).then_some(Path::new(name)),
            key: [key; 16],
        };
        let ranked = [
            session("z", 9, false, 1),
            session("x", 7, true, 8),
            session("y", 7, true, 2),
            session("", 7, true, 1),
            session("a", 7, false, 9),
            session("b", 7, false, 3),
            session("old", 1, true, 4),
        ];
        for turned in 0..ranked.len() {
            let mut sessions = ranked;
            sessions.rotate_left(turned);
            rank(&mut sessions);
            assert_eq!(sessions, ranked);
        }
    }
}
