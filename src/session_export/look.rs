//! A look at all files of sessions: what has come or grown is kept, and what is too old, or too many, goes to the trash.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::channel::ChannelStores;
use super::export::{SessionExporter, SessionFate, ToldSession, digest_of};
use super::part::{BY, NotExported};
use crate::config::SessionsConfig;
use crate::path::VaultPath;
use crate::request::Workspace;
use crate::state::{Digest, SessionSource, SessionTable, StateError};
use crate::vault::{Action, ElsewhereFile, FilesElsewhere, WriteError};
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
    /// What the others are that were kept since the start.
    told: HashMap<Digest, ToldSession>,
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
                .filter(|(key, file)| is_session(&file.path) && taken.insert(*key))
                .collect();
            there.extend(files.keys().copied());
            seen.state.sources += files.len();
            let mut look =
                EntryLook { workspace, table, stores, refused, cut_short, told, entry, files, seen: &mut seen };
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

/// Whether a file may be a session, and is none of the copies that OpenClaw lays beside one.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.ends_with(".trajectory.jsonl")
        && ![".checkpoint.", ".deleted.", ".reset."].iter().any(|mark| name.contains(mark))
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
    told: &'l mut HashMap<Digest, ToldSession>,
    entry: &'l SessionsEntry,
    files: BTreeMap<Digest, ElsewhereFile>,
    seen: &'l mut SessionsSeen,
}

impl EntryLook<'_> {
    fn run(&mut self, is_over: &dyn Fn() -> bool) -> Result<(), StateError> {
        let known: HashMap<Digest, SessionSource> = self.table.of_entry(&self.entry.key)?.into_iter().collect();
        // Those that are gone count as well: the ones that changed last stay.
        let times = self.files.iter().map(|(key, file)| (file.stamp.mtime_ns, *key));
        let gone = known.iter().filter(|(key, _)| !self.files.contains_key(*key));
        let mut order: Vec<(i64, Digest)> = times.chain(gone.map(|(key, source)| (source.mtime_ns, *key))).collect();
        order.sort_unstable_by_key(|(time, key)| (std::cmp::Reverse(*time), *key));
        let SessionsConfig { keep_days, keep_count, .. } = self.entry.config;
        let days = SignedDuration::from_hours(24 * i64::try_from(keep_days).unwrap_or_default());
        let since = Timestamp::now().checked_sub(days).ok().filter(|_| keep_days > 0);
        let since = since.and_then(|since| i64::try_from(since.as_nanosecond()).ok());
        for (at, (time, key)) in order.into_iter().enumerate() {
            if is_over() {
                return Ok(());
            }
            let before = known.get(&key);
            let stays = (keep_count == 0 || (at as u64) < keep_count) && since.is_none_or(|since| time >= since);
            match self.files.get(&key).cloned() {
                _ if !stays => self.take_away(&key, before)?,
                Some(file) => self.bring_up(&key, &file, before),
                None => {
                    let is_kept = before.is_some_and(|before| !before.is_out && before.turns > 0);
                    self.seen.state.gone += usize::from(is_kept);
                }
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

    fn bring_up(&mut self, key: &Digest, file: &ElsewhereFile, before: Option<&SessionSource>) {
        let stamp = (file.stamp.size, file.stamp.mtime_ns);
        let name = file.path.display().to_string();
        if let Some((size, mtime_ns, reason)) = self.refused.get(key)
            && (*size, *mtime_ns) == stamp
        {
            return self.seen.problem(&name, reason);
        }
        let mut exporter = SessionExporter {
            workspace: self.workspace,
            table: self.table,
            stores: self.stores,
            entry: &self.entry.config,
            entry_key: self.entry.key,
            told: self.told,
        };
        let is_known = |before: &SessionSource| (before.size, before.mtime_ns) == stamp && !before.is_out;
        if before.is_some_and(is_known) && before.is_some_and(|before| exporter.is_as_set(key, before, file)) {
            return;
        }
        self.refused.remove(key);
        match exporter.export(key, file, before) {
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

    /// Moves the notes of a session to the trash, but for those that somebody has edited.
    fn take_away(&mut self, key: &Digest, before: Option<&SessionSource>) -> Result<(), StateError> {
        let Some(before) = before.filter(|before| !before.is_out) else { return Ok(()) };
        let mut stays = false;
        for (_, note) in self.table.all_notes(key)? {
            let Ok(path) = VaultPath::new(note.path.clone()) else { continue };
            match self.trash(&path, &note.after, note.is_edited) {
                Ok(true) => {}
                Ok(false) => stays = true,
                Err(error) => {
                    self.seen.again = true;
                    self.seen.problem(path.as_str(), &error);
                    return Ok(());
                }
            }
        }
        if !stays {
            self.table.drop_notes(key)?;
        }
        self.table.keep_source(key, &SessionSource { is_out: true, ..before.clone() })
    }

    /// Says whether it went, or was not there.
    fn trash(&self, path: &VaultPath, after: &str, is_edited: bool) -> Result<bool, String> {
        let files = self.workspace.files().map_err(|error| error.message)?;
        let said = |error: WriteError| error.to_string();
        let Some((_, hash)) = files.read(path).map_err(said)? else { return Ok(true) };
        if is_edited || hash.to_hex().as_str() != after {
            return Ok(false);
        }
        files.trash_as(path, hash, Action::Trash.done_by(BY)).map_err(said)?;
        Ok(true)
    }
}
