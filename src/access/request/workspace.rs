//! One vault at work, as requests need it: its notes on disk, its index, and who may write.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::find::ChatHelp;
use super::{Owner, RequestError, Role};
use crate::access::people::People;
use crate::access::policy::AgentRegistry;
use crate::access::rules::Principal;
use crate::base::config::{Config, Switches};
use crate::base::path::VaultPath;
use crate::base::state::{ChangeTable, State};
use crate::index::engine::{EngineError, FileEntry, Reader};
use crate::index::sync::{Phase, Shared, SyncProgress, Syncer};
use crate::memory::generated_files::SummaryFiles;
use crate::memory::items::{EntryStore, FactStore};
use crate::memory::trace_files::TraceFiles;
use crate::serve::wire::ConflictCopy;
use crate::text::derive::ChunkId;
use crate::text::note::{Note, sources};
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{
    Change, Files, Home, Lock, NoteRules, Outside, ReadError, Signal, Source, Stamp, globs, read, read_file,
};
use crate::vault::forgotten::{ForgottenNote, ForgottenTexts};

/// The parts of a vault at work.
pub struct WorkspaceParts {
    /// Its place.
    pub home: Home,
    /// Its configuration, as it was when it was opened.
    pub config: Config,
    /// The part of the configuration that counts at once.
    pub switches: Arc<Switches>,
    /// Where the derived stores are.
    pub index_dir: PathBuf,
    /// The progress, the index and the model.
    pub shared: Arc<Shared>,
    /// Who writes the index.
    pub syncer: Syncer,
    /// The right to write the index.
    pub lock: Arc<Lock>,
    /// Who writes the notes.
    pub files: Arc<Files>,
    /// Collections that are folders elsewhere.
    pub outside: Outside,
    /// What is not derived.
    pub state: Arc<State>,
    /// What stays forgotten.
    pub forgotten: Arc<ForgottenTexts>,
    /// What was changed.
    pub changes: Arc<ChangeTable>,
    /// The agents' pages and tokens.
    pub agents: Arc<AgentRegistry>,
    /// The facts.
    pub(crate) fact_store: Arc<FactStore>,
    /// The entries.
    pub(crate) entry_store: Arc<EntryStore>,
    /// What agents have told of their work.
    pub(crate) traces: Arc<TraceFiles>,
    /// Who reads what is no note.
    pub attachments: Arc<AttachmentReader>,
}

/// One vault at work.
pub struct Workspace {
    /// Ends before all else that it works with.
    pending: SweepPending,
    parts: WorkspaceParts,
    /// One save at a time, from the look for what is there already until it is found itself.
    saving: Mutex<()>,
    /// The chat model, and what it does for searches.
    pub chat: ChatHelp,
    /// The people of the server that has opened it, and its name there.
    pub(crate) people: OnceLock<(Arc<People>, String)>,
    /// The conflict copies on disk: when they were looked for, how long that took, and what was found.
    pub(crate) conflicts_seen: Mutex<Option<(Instant, Duration, Vec<ConflictCopy>)>>,
}

impl Deref for Workspace {
    type Target = WorkspaceParts;

    fn deref(&self) -> &WorkspaceParts {
        &self.parts
    }
}

/// Takes what is in its files, and what is switched off, out of where captured events wait, as what is purged must not be left there; gives how
/// many wait still, or why it could not, as a sentence. Waits so long for them to be written.
pub(crate) type SweepPending = Box<dyn Fn(Duration) -> Result<u64, String> + Send + Sync>;

impl Workspace {
    /// Of these parts.
    pub fn new(parts: WorkspaceParts, pending: SweepPending) -> Self {
        let chat = ChatHelp::of(&parts.config.chat);
        let (saving, people, conflicts_seen) = Default::default();
        Self { pending, parts, saving, chat, people, conflicts_seen }
    }

    /// Who writes summaries and digests.
    ///
    /// # Errors
    /// As [`Workspace::files`].
    pub(crate) fn summary_files(&self) -> Result<SummaryFiles<'_>, RequestError> {
        let (root, config, forgotten) = (self.home.root(), &self.config, &self.forgotten);
        Ok(SummaryFiles { root, files: self.files()?, config, forgotten })
    }

    /// Waits until no other save is under way, and holds up those that come while it is held.
    pub fn one_save(&self) -> MutexGuard<'_, ()> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a note is on disk.
    pub fn on_disk(&self, path: &VaultPath) -> PathBuf {
        self.outside.on_disk(self.home.root(), path)
    }

    /// Whether no folder on the way to a note has become a link.
    pub fn is_in_place(&self, path: &VaultPath) -> bool {
        self.files.check(path).is_ok()
    }

    /// The newest state of the index.
    ///
    /// # Errors
    /// When it is not open yet.
    pub fn reader(&self) -> Result<Arc<dyn Reader>, RequestError> {
        self.shared.snapshot().ok_or_else(|| {
            let failure = self.shared.progress().failure;
            let message = failure.unwrap_or_else(|| "the index is being opened".into());
            RequestError::unavailable(message, "try again in a moment; `vault status` shows the progress")
        })
    }

    /// Has everything checked, and mended where it is damaged; what to say meanwhile.
    pub fn suspect(&self, reason: &dyn std::fmt::Display) -> RequestError {
        self.syncer.suspect();
        RequestError::unavailable(reason.to_string(), "the index is being checked and repaired; try again in a moment")
    }

    /// A failure of the catalog: what is damaged is mended.
    pub fn damaged(&self, error: EngineError) -> RequestError {
        if error.is_damage() { self.suspect(&error) } else { error.into() }
    }

    /// Has places looked at, as if the watcher had named them.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn notice(&self, signals: Vec<Signal>) -> Result<(), RequestError> {
        Ok(self.syncer.notice(signals)?)
    }

    /// The one who writes notes, where the vault is and is ours.
    ///
    /// # Errors
    /// When it is not there, or another process has it.
    pub fn files(&self) -> Result<&Files, RequestError> {
        if !self.lock.is_held() {
            let message = format!("{} does not exist, or another process uses it", self.home.root().display());
            return Err(RequestError::unavailable(message, "nothing was written; `vault status` says more"));
        }
        Ok(&self.files)
    }

    /// Reads a note, or the text of an attachment, as it is on disk.
    ///
    /// # Errors
    /// When it is not there, changes as it is read, or has no text.
    pub fn source(&self, path: &VaultPath) -> Result<Source, ReadError> {
        let (folder, within) = self.outside.place(self.home.root(), path);
        let (within, max_bytes) = (within.ok_or(ReadError::Gone)?, self.config.index.max_file_bytes);
        if path.is_document() {
            return Ok(self.attachments.read(path, read_file(folder, &within, max_bytes)?)?.0);
        }
        read(folder, &within, max_bytes)
    }

    /// What a file says, or said, that has these bytes: of an attachment its text, which is empty where it cannot be read.
    pub(crate) fn text_of(&self, path: &VaultPath, bytes: Vec<u8>) -> String {
        if !path.is_document() {
            return String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        }
        let is_fit = bytes.len() as u64 <= self.config.index.max_file_bytes;
        if is_fit { self.attachments.text_of(path, bytes) } else { String::new() }
    }

    /// Keeps nothing any more of what an attachment said; gives what keeps it from that.
    pub(crate) fn forget_attachment(&self, path: &VaultPath) -> Option<String> {
        if path.is_document() { self.attachments.forget(path) } else { None }
    }

    /// Whether a file on disk is still as it was indexed.
    pub fn has_stamp(&self, file: &FileEntry) -> bool {
        let on_disk = self.on_disk(&file.path);
        on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == file.stamp)
    }

    /// Whether a note is left out of the index by its name.
    pub fn leaves_out(&self, path: &VaultPath) -> bool {
        self.rules().is_some_and(|rules| !rules.takes(path))
    }

    /// Whether agents read nothing of a note, by `[access] private` or as it is left out of the index. In doubt they do not.
    pub(crate) fn hides(&self, path: &VaultPath) -> bool {
        self.is_private(path) || self.leaves_out(path)
    }

    /// Whether `[access] private` hides a note from all agents. In doubt it does.
    pub(crate) fn is_private(&self, path: &VaultPath) -> bool {
        let private = globs("access.private", &self.config.access.private);
        private.map_or(true, |private| private.is_match(path.as_str()))
    }

    /// What belongs to the vault; `None` where a glob of the configuration cannot be read.
    pub(crate) fn rules(&self) -> Option<NoteRules> {
        let index = &self.config.index;
        let rules = NoteRules::new(self.home.root(), &index.exclude).ok()?;
        Some(rules.with(&self.outside, index.attachments))
    }

    /// Whether secrets are taken out of what is kept.
    pub fn redacts(&self) -> bool {
        self.switches.capture().redact
    }

    /// Leaves nothing of what was captured but in its files; gives how many events wait still.
    ///
    /// # Errors
    /// Why it could not, as a sentence.
    pub fn sweep_pending(&self, patience: Duration) -> Result<u64, String> {
        (self.pending)(patience)
    }
}

impl Owner {
    /// A note that says `text`, as what is forgotten of it remembers it. `gone` says that all of it goes.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn forgotten_place(
        &self,
        path: &VaultPath,
        text: &str,
        gone: bool,
    ) -> Result<ForgottenNote, RequestError> {
        let note = Note::of(path, text);
        let scope = self.now()?;
        let (mut tags, private) = match scope.reader().files().at(path.as_str()) {
            Some(file) => ([&file.tags[..], &file.doubtful[..]].concat(), file.private),
            None => (Vec::new(), self.workspace().is_private(path)),
        };
        tags.extend(note.tags.iter().chain(&note.doubtful).cloned());
        Ok(ForgottenNote {
            path: path.clone(),
            tags,
            private: private || note.is_private(),
            derived: !sources(&note.metadata).is_empty(),
            readers: self.readers(path),
            gone,
        })
    }

    /// The agents that can read a note.
    fn readers(&self, path: &VaultPath) -> Vec<String> {
        let agents = &self.workspace().agents;
        // By a request of its own: this one is not to hold on to the text that goes.
        let Ok(apart) = Self::of(self.by(Principal::Owner(None))) else { return Vec::new() };
        let mut readers = agents.slugs();
        readers.retain(|slug| {
            let seen = agents.named(slug).and_then(|caller| apart.as_seen_by(caller).ok());
            seen.is_some_and(|seen| {
                let file = seen.given.reader().files().at(path.as_str());
                file.is_some_and(|file| seen.given.has(file) || seen.own.has(file))
            })
        });
        readers
    }
}

/// What is written is found after milliseconds; a bulk import may hold it up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval at which the disk is looked at again, as it is whenever the index has changed.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Workspace {
    /// Waits until the index says of a file that was changed what the disk does: how the note is named and how many chunks it
    /// has, or that there is none. `None` when it does not in time, which does not undo the change.
    pub fn settled_in_time(&self, path: &VaultPath) -> Option<Option<(ChunkId, usize)>> {
        self.settled_within(path, PATIENCE).inspect_err(|error| tracing::warn!("{error}")).ok()
    }

    /// The same for those who wait no longer than `patience`.
    ///
    /// # Errors
    /// When the index does not follow in time.
    pub fn settled_within(
        &self,
        path: &VaultPath,
        patience: Duration,
    ) -> Result<Option<(ChunkId, usize)>, RequestError> {
        let behind = |why: String| {
            let message = format!("`{path}` is written, but not indexed yet{why}");
            RequestError::unavailable(message, "`vault status` shows what the indexer is doing")
        };
        let deadline = Instant::now() + patience;
        let mut left_out = None;
        // It is whole, as if its writer had closed it.
        let noticed = self.notice(vec![Signal::Changed(path.clone(), Change::Closed)]);
        noticed.map_err(|error| behind(format!(": {error}")))?;
        loop {
            let now = self.files()?.read(path)?.map(|(_, hash)| hash);
            let snapshot = self.shared.snapshot();
            let known = snapshot.as_ref().and_then(|snapshot| snapshot.files().at(path.as_str()));
            match (now, known) {
                (Some(hash), Some(file)) if *hash.as_bytes() == file.hash => {
                    return Ok(Some((ChunkId::of_note(path, &file.hash), file.chunks.len())));
                }
                (None, None) => return Ok(None),
                // What is left out of the index is there all the same.
                (Some(hash), None) if *left_out.get_or_insert_with(|| self.leaves_out(path)) => {
                    return Ok(Some((ChunkId::of_note(path, hash.as_bytes()), 0)));
                }
                // A document that cannot be read is a problem, and in no index.
                (Some(hash), None)
                    if path.is_document() && snapshot.as_ref().is_some_and(|now| is_unread(now, path)) =>
                {
                    return Ok(Some((ChunkId::of_note(path, hash.as_bytes()), 0)));
                }
                _ if Instant::now() > deadline => return Err(behind(" yet".into())),
                _ => {
                    // On a full disk it fails until somebody has made room.
                    let SyncProgress { phase, failure, .. } = self.shared.progress();
                    if let Some(failure) = failure.filter(|_| phase == Phase::Failing) {
                        return Err(behind(format!(": {failure}")));
                    }
                    self.shared.wait_for_other(snapshot.as_ref(), CHECK_INTERVAL);
                }
            }
        }
    }
}

/// Whether the index knows of a file that it could not be read.
fn is_unread(now: &Arc<dyn Reader>, path: &VaultPath) -> bool {
    now.problems().is_ok_and(|problems| problems.iter().any(|(of, _)| path.same_as(of)))
}
