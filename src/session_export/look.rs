//! A look at all files of sessions: what has come or grown is kept, and what is too old, or too many, goes to the trash.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::channel::ChannelStores;
use super::export::{SessionExporter, SessionFate, ToldSession, digest_of};
use super::gone::GoneSessions;
use super::order::{RankedSession, rank};
use super::part::NotExported;
use super::trash::take_away;
use crate::config::SessionsConfig;
use crate::imports::is_beside_session;
use crate::request::Workspace;
use crate::state::{Digest, SessionSource, SessionTable, StateError};
use crate::vault::{ElsewhereFile, FilesElsewhere};
use crate::wire::{SessionsState, Skipped};

/// Maximum number of problems that are kept.
const MAX_PROBLEMS: usize = 100;

/// The files of an entry of `memory.toml`.
pub(super) struct SessionsEntry {
    pub(super) config: SessionsConfig,
    /// Its glob, or why it is none.
    pub(super) files: Result<FilesElsewhere, String>,
    key: Digest,
}

/// What is known of the files, from look to look.
pub(super) struct SessionsLook {
    entries: Vec<SessionsEntry>,
    table: SessionTable,
    stores: ChannelStores,
    /// Files that are not kept, until they change: by their names, with what they were.
    refused: HashMap<Digest, (u64, i64, String)>,
    /// Those that are shorter than they were.
    cut_short: HashSet<Digest>,
    /// What the others are called, as far as that is known since the start.
    told: HashMap<Digest, Option<ToldSession>>,
}

/// What a look came to.
#[derive(Debug, Default)]
pub(super) struct SessionsSeen {
    /// The folders in which more may come.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) state: SessionsState,
    /// Whether something is to be tried again soon.
    pub(super) again: bool,
}

impl SessionsLook {
    /// For the entries of a vault's configuration.
    pub(super) fn new(workspace: &Workspace) -> Self {
        let root = workspace.home().root();
        let entry = |config: &SessionsConfig| SessionsEntry {
            files: FilesElsewhere::new(root, &config.path).map_err(|error| error.to_string()),
            key: digest_of(config.path.as_bytes()),
            config: config.clone(),
        };
        Self {
            entries: workspace.config().sessions.iter().map(entry).collect(),
            table: SessionTable::new(workspace.state()),
            stores: ChannelStores::default(),
            refused: HashMap::new(),
            cut_short: HashSet::new(),
            told: HashMap::new(),
        }
    }

    /// The folders in which files may come, without a look at the files.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        self.entries
            .iter()
            .filter_map(|entry| entry.files.as_ref().ok())
            .flat_map(|files| files.find().folders)
            .collect()
    }

    /// Looks at all files, and does what is to be done.
    pub(super) fn look(&mut self, workspace: &Workspace, is_over: &dyn Fn() -> bool) -> SessionsSeen {
        let mut seen = SessionsSeen::default();
        let mut taken = HashSet::new();
        let Self { entries, table, stores, refused, cut_short, told } = self;
        let mut there = HashSet::new();
        for entry in entries.iter() {
            let files = match &entry.files {
                Ok(files) => files.find(),
                Err(error) => {
                    seen.problem(&entry.config.path, error);
                    continue;
                }
            };
            seen.folders.extend(files.folders);
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
            there.extend(files.keys().copied());
            seen.state.sources += files.len();
            let gone = GoneSessions::default();
            let seen = &mut seen;
            let mut look = EntryLook { workspace, table, stores, refused, cut_short, told, gone, entry, files, seen };
            if let Err(error) = look.run(is_over) {
                seen.again = true;
                seen.problem(&entry.config.path, &error.to_string());
            }
            if is_over() {
                break;
            }
        }
        refused.retain(|key, _| there.contains(key));
        cut_short.retain(|key| there.contains(key));
        told.retain(|key, _| there.contains(key));
        seen.state.cut_short = cut_short.len();
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

/// A look at the files of one entry.
struct EntryLook<'l> {
    workspace: &'l Workspace,
    table: &'l SessionTable,
    stores: &'l mut ChannelStores,
    refused: &'l mut HashMap<Digest, (u64, i64, String)>,
    cut_short: &'l mut HashSet<Digest>,
    told: &'l mut HashMap<Digest, Option<ToldSession>>,
    gone: GoneSessions,
    entry: &'l SessionsEntry,
    files: BTreeMap<Digest, ElsewhereFile>,
    seen: &'l mut SessionsSeen,
}

impl EntryLook<'_> {
    fn run(&mut self, is_over: &dyn Fn() -> bool) -> Result<(), StateError> {
        let known = self.with_moved()?;
        let is_kept = |key: &Digest| known.get(key).is_some_and(|before| !before.is_out && before.turns > 0);
        let there = self.files.iter().map(|(key, file)| RankedSession {
            mtime_ns: file.stamp.mtime_ns,
            is_kept: is_kept(key),
            path: Some(&file.path),
            key: *key,
        });
        // Those that are gone count as well: the ones that changed last stay.
        let gone = known.iter().filter(|(key, _)| !self.files.contains_key(*key)).map(|(key, source)| RankedSession {
            mtime_ns: source.mtime_ns,
            is_kept: is_kept(key),
            path: None,
            key: *key,
        });
        let mut ranked: Vec<RankedSession<'_>> = there.chain(gone).collect();
        rank(&mut ranked);
        let ranked: Vec<(i64, Digest)> = ranked.into_iter().map(|session| (session.mtime_ns, session.key)).collect();
        let SessionsConfig { keep_days, keep_count, .. } = self.entry.config;
        let days = SignedDuration::from_hours(24 * i64::try_from(keep_days).unwrap_or_default());
        let since = Timestamp::now().checked_sub(days).ok().filter(|_| keep_days > 0);
        let since = since.and_then(|since| i64::try_from(since.as_nanosecond()).ok());
        let mut at: u64 = 0;
        for (time, key) in ranked {
            if is_over() {
                return Ok(());
            }
            // It is at another place now, and was there before.
            if self.gone.has_moved(&key) {
                continue;
            }
            let before = known.get(&key);
            let stays = (keep_count == 0 || at < keep_count) && since.is_none_or(|since| time >= since);
            at += 1;
            match self.files.get(&key).cloned() {
                _ if !stays => {
                    if let Some((note, reason)) = take_away(self.workspace, self.table, &key, before)? {
                        self.seen.again = true;
                        self.seen.problem(&note, &reason);
                    }
                }
                Some(file) => self.bring_up(&key, &file, before),
                None => self.seen.state.gone += usize::from(is_kept(&key)),
            }
        }
        for (_, source) in self.table.of_entry(&self.entry.key)? {
            self.seen.state.begun_anew += source.generation as usize;
            self.seen.state.sessions += usize::from(!source.is_out && source.turns > 0);
        }
        let edited = self.table.edited(&self.entry.key)?;
        self.seen.state.edited += edited;
        Ok(())
    }

    /// What is known of the files of the entry: of those of another as well, which named them before.
    fn known(&self) -> Result<HashMap<Digest, SessionSource>, StateError> {
        let mut known: HashMap<Digest, SessionSource> = self.table.of_entry(&self.entry.key)?.into_iter().collect();
        for (key, file) in &self.files {
            // One that is refused has nothing that was kept.
            let stamp = (file.stamp.size, file.stamp.mtime_ns);
            let is_refused = self.refused.get(key).is_some_and(|(size, mtime_ns, _)| (*size, *mtime_ns) == stamp);
            if is_refused || known.contains_key(key) {
                continue;
            }
            if let Some(source) = self.table.source(key)? {
                let source = SessionSource { entry: self.entry.key, ..source };
                self.table.keep_source(key, &source)?;
                known.insert(*key, source);
            }
        }
        Ok(known)
    }

    /// The same, with those files that are new and as one was that is gone known as that one, where they are it: they take its place, and
    /// not that of another.
    fn with_moved(&mut self) -> Result<HashMap<Digest, SessionSource>, StateError> {
        let known = self.known()?;
        self.gone = self.gone_of(&known);
        let may_have_moved: Vec<(Digest, ElsewhereFile)> = self
            .files
            .iter()
            .filter(|(key, file)| {
                known.get(*key).is_none_or(|before| before.is_out)
                    && self.gone.has_stamp(file.stamp.size, file.stamp.mtime_ns)
            })
            .map(|(key, file)| (*key, file.clone()))
            .collect();
        let mut has_moved = false;
        for (key, file) in may_have_moved {
            has_moved |= self.exporter().take_over(&key, &file, known.get(&key))?;
        }
        if !has_moved {
            return Ok(known);
        }
        let known = self.known()?;
        self.gone = self.gone_of(&known);
        Ok(known)
    }

    fn gone_of(&self, known: &HashMap<Digest, SessionSource>) -> GoneSessions {
        GoneSessions::of(known.iter().filter(|(key, _)| !self.files.contains_key(*key)))
    }

    fn exporter(&mut self) -> SessionExporter<'_> {
        SessionExporter {
            workspace: self.workspace,
            table: self.table,
            stores: self.stores,
            entry: &self.entry.config,
            entry_key: self.entry.key,
            told: self.told,
            gone: &mut self.gone,
        }
    }

    fn bring_up(&mut self, key: &Digest, file: &ElsewhereFile, before: Option<&SessionSource>) {
        let stamp = (file.stamp.size, file.stamp.mtime_ns);
        let name = file.path.display().to_string();
        let is_known = |before: &SessionSource| (before.size, before.mtime_ns) == stamp && !before.is_out;
        let before_as_is = before.filter(|before| is_known(before));
        let is_done = before_as_is.is_some_and(|before| self.exporter().is_as_set(key, before, file));
        // Of what is kept as far as it can be read, the note may have to follow its channel all the same.
        let refused = self.refused.get(key).filter(|(size, mtime_ns, _)| (*size, *mtime_ns) == stamp);
        let reason = refused.filter(|_| is_done || before_as_is.is_none()).map(|(.., reason)| reason.clone());
        if let Some(reason) = &reason {
            self.seen.problem(&name, reason);
        }
        if is_done || reason.is_some() {
            return;
        }
        self.refused.remove(key);
        match self.exporter().export(key, file, before) {
            Ok(fate) => {
                if fate == SessionFate::CutShort {
                    self.cut_short.insert(*key);
                } else {
                    self.cut_short.remove(key);
                }
            }
            Err(NotExported::Lasting(reason)) => {
                tracing::warn!("the session {name} is not kept, or not all of it: {reason}");
                self.seen.problem(&name, &reason);
                self.refused.insert(*key, (stamp.0, stamp.1, reason));
            }
            Err(NotExported::Passing(reason)) => {
                self.seen.again = true;
                self.seen.problem(&name, &format!("it is tried again: {reason}"));
            }
        }
    }
}
