//! Who answers a command: the running daemon, or this process alone.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::Value;

use super::client::{Client, PATIENCE};
use super::progress::Bar;
use super::terminal::remark;
use crate::app::App;
use crate::config::{Config, FILE_NAME};
use crate::sync::SyncProgress;
use crate::vault::{Home, HomeError};
use crate::wire::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, AnnotateParams, Annotated,
    AttachmentsView, ChangesParams, ChangesView, CheckpointsParams, CheckpointsView, ChunkView, ClearParams, Cleared,
    ConflictParams, ConflictSettled, ConflictView, ConflictsView, ContextParams, ContextView, DigestParams, DigestView,
    DigestWritten, EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged, EntryEditParams,
    EntryRemoveParams, Explained, FactNameParams, FactRetractParams, FactSetParams, FactWrittenView, FactsParams,
    FactsView, ForgetParams, Forgotten, ForgottenView, GraphParams, GraphView, ImportParams, ImportTaken, KeepParams,
    KeptVectors, LiftedView, LinksParams, LinksView, LogParams, LogView, NotesParams, NotesView, ProcessingView,
    ProfileMade, ProfileView, Reindexing, RelatedParams, RelatedView, RestoreParams, Restored, Retried, RetryParams,
    ReviewDecisions, ReviewParams, ReviewView, Reviewed, RotateParams, SaveParams, Saved, SearchQuery, SearchResponse,
    Stats, Status, SummariesMade, SummariesParams, SummariesView, SummaryMakeParams, TagsView, TracesParams,
    TracesView, UnresolvedParams, UnresolvedView, UserSet, UserSetParams, Verification,
};

/// Who answers.
pub(super) enum Backend {
    /// The daemon of the vault.
    Daemon(Box<Client>),
    /// This process.
    Here(Box<App>),
}

/// Maximum time that a search which works alone waits for texts to be embedded; then it answers with what there is.
const EMBED_WAIT: Duration = Duration::from_secs(5);

/// Opens the vault that a command means.
pub(super) fn home(named: Option<&Path>) -> anyhow::Result<Home> {
    Ok(Home::find(named, &std::env::current_dir()?)?)
}

/// The vault's configuration, for how a command shows its answer. While `memory.toml` cannot be read, which is said, that of a vault
/// without one.
pub(super) fn shown_by(home: &Home) -> Config {
    Config::load(home.root()).unwrap_or_else(|error| {
        remark!("vault: {FILE_NAME} cannot be read: {}", error.reason());
        Config::default()
    })
}

impl Backend {
    /// Connects to the daemon of a vault whose folder is not there, if one runs; it knows what was there last.
    pub(super) fn open_missing(named: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let Some(root) = named.and_then(|named| std::path::absolute(named).ok()) else { return Ok(None) };
        // What is there of the path is without links, as the daemon knows it.
        let known = root.parent().and_then(|parent| Some(parent.canonicalize().ok()?.join(root.file_name()?)));
        for root in [known, Some(root)].into_iter().flatten() {
            if let Some(socket) = Home::socket_outside(&root)
                && let Some(client) = Client::reach(&socket, PATIENCE)?
            {
                return Ok(Some(Self::Daemon(Box::new(client))));
            }
        }
        Ok(None)
    }

    /// Connects to the vault's daemon, or starts to work alone. `adjust` changes the configuration for the latter.
    pub(super) fn open(named: Option<&Path>, adjust: impl FnOnce(&mut Config)) -> anyhow::Result<Self> {
        Self::open_for(named, false, adjust)
    }

    /// The same, and what is captured is brought into its files by this process, too; no model and no git is called.
    pub(super) fn open_capturing(named: Option<&Path>) -> anyhow::Result<Self> {
        Self::open_for(named, true, |config| {
            config.embed.model = "none".into();
            config.memory.enabled = false;
            config.backup.every.clear();
        })
    }

    fn open_for(named: Option<&Path>, captures: bool, adjust: impl FnOnce(&mut Config)) -> anyhow::Result<Self> {
        let home = home(named)?;
        for _ in 0..20 {
            if let Some(daemon) = home.daemon()
                && let Some(client) = Client::reach(&daemon.socket, PATIENCE)?
            {
                return Ok(Self::Daemon(Box::new(client)));
            }
            let mut config = Config::load(home.root())?;
            match home.lock() {
                Ok(lock) => {
                    adjust(&mut config);
                    return Ok(Self::Here(Box::new(App::start(home, config, lock, captures)?)));
                }
                // A daemon that is just starting says where it listens in a moment.
                Err(HomeError::Held(_)) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(error.into()),
            }
        }
        let config = Config::load(home.root())?;
        Ok(Self::Here(Box::new(App::read_only(home, config)?)))
    }

    /// Lets the index catch up with the files, when this process works alone; the daemon does so all the time.
    pub(super) fn catch_up(&self, embed: bool) -> anyhow::Result<()> {
        let Self::Here(app) = self else { return Ok(()) };
        let shared = app.shared();
        if app.is_read_only() {
            return Ok(());
        }
        let bar = Bar::files();
        let progress = loop {
            let progress =
                shared.wait(Duration::from_millis(100), |progress| progress.caught_up || progress.failure.is_some());
            bar.show(progress.files_done, progress.pending_files);
            if progress.caught_up || progress.failure.is_some() {
                break progress;
            }
        };
        bar.finish();
        if let Some(failure) = progress.failure {
            return Err(anyhow!(failure));
        }
        if embed {
            let bar = Bar::embeddings();
            let deadline = Instant::now() + EMBED_WAIT;
            let done = |progress: &SyncProgress| progress.is_complete() || progress.failure.is_some();
            while Instant::now() < deadline {
                let progress = shared.wait(Duration::from_millis(100), done);
                bar.show_passages(shared);
                if done(&progress) {
                    break;
                }
            }
            bar.finish();
        }
        Ok(())
    }

    /// Says so when the answers come from an index that another process is writing.
    pub(super) fn warn_if_read_only(&self) {
        if matches!(self, Self::Here(app) if app.is_read_only()) {
            remark!("vault: another process is writing the index; this is the index as it is now");
        }
    }
}

impl Deref for Backend {
    type Target = dyn CommandAnswers;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Daemon(client) => client.as_ref(),
            Self::Here(app) => app.as_ref(),
        }
    }
}

impl DerefMut for Backend {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Daemon(client) => client.as_mut(),
            Self::Here(app) => app.as_mut(),
        }
    }
}

/// What commands ask, whoever answers.
pub(super) trait CommandAnswers {
    fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse>;
    fn related(&mut self, params: &RelatedParams) -> anyhow::Result<RelatedView>;
    fn links(&mut self, params: &LinksParams) -> anyhow::Result<LinksView>;
    fn unresolved(&mut self, params: &UnresolvedParams) -> anyhow::Result<UnresolvedView>;
    fn graph(&mut self, params: &GraphParams) -> anyhow::Result<GraphView>;
    fn tags(&mut self) -> anyhow::Result<TagsView>;
    fn notes(&mut self, params: &NotesParams) -> anyhow::Result<NotesView>;
    fn entries(&mut self, params: &EntriesParams) -> anyhow::Result<EntriesView>;
    fn add_entry(&mut self, params: &EntryAddParams) -> anyhow::Result<EntryAdded>;
    fn edit_entry(&mut self, params: &EntryEditParams) -> anyhow::Result<EntryChanged>;
    fn remove_entry(&mut self, params: &EntryRemoveParams) -> anyhow::Result<EntryChanged>;
    fn proposals(&mut self, params: &ReviewParams) -> anyhow::Result<ReviewView>;
    fn decide_proposals(&mut self, params: &ReviewDecisions) -> anyhow::Result<Reviewed>;
    fn facts(&mut self, params: &FactsParams) -> anyhow::Result<FactsView>;
    fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView>;
    fn profile(&mut self) -> anyhow::Result<ProfileView>;
    fn set_user(&mut self, params: &UserSetParams) -> anyhow::Result<UserSet>;
    fn make_profile(&mut self) -> anyhow::Result<ProfileMade>;
    /// Hands a piece of an import over.
    fn import(&mut self, params: ImportParams) -> anyhow::Result<ImportTaken>;
    /// Has events kept; without a daemon nobody takes them.
    fn send_events(&mut self, events: &[Value]) -> anyhow::Result<()>;
    fn set_fact(&mut self, params: &FactSetParams) -> anyhow::Result<FactWrittenView>;
    fn unset_fact(&mut self, params: &FactNameParams) -> anyhow::Result<FactWrittenView>;
    fn retract_fact(&mut self, params: &FactRetractParams) -> anyhow::Result<FactWrittenView>;
    fn summaries(&mut self, params: &SummariesParams) -> anyhow::Result<SummariesView>;
    fn make_summaries(&mut self, params: &SummaryMakeParams) -> anyhow::Result<SummariesMade>;
    fn digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestView>;
    fn write_digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestWritten>;
    fn save(&mut self, params: &SaveParams) -> anyhow::Result<Saved>;
    fn forget(&mut self, params: &ForgetParams) -> anyhow::Result<Forgotten>;
    fn forgotten(&mut self) -> anyhow::Result<ForgottenView>;
    fn lift(&mut self, id: i64) -> anyhow::Result<LiftedView>;
    fn processing(&mut self) -> anyhow::Result<ProcessingView>;
    fn retry_processing(&mut self, params: &RetryParams) -> anyhow::Result<Retried>;
    fn sync_memory(&mut self) -> anyhow::Result<ProcessingView>;
    fn clear_memory(&mut self, params: &ClearParams) -> anyhow::Result<Cleared>;
    fn changes(&mut self, params: &ChangesParams) -> anyhow::Result<ChangesView>;
    fn annotate(&mut self, params: &AnnotateParams) -> anyhow::Result<Annotated>;
    fn attachments(&mut self) -> anyhow::Result<AttachmentsView>;
    fn conflicts(&mut self) -> anyhow::Result<ConflictsView>;
    fn conflict(&mut self, params: &ConflictParams) -> anyhow::Result<ConflictView>;
    fn keep(&mut self, params: &KeepParams) -> anyhow::Result<ConflictSettled>;
    fn checkpoints(&mut self, params: &CheckpointsParams) -> anyhow::Result<CheckpointsView>;
    fn restore(&mut self, id: &str, params: RestoreParams) -> anyhow::Result<Restored>;
    fn chunk(&mut self, hash: &str) -> anyhow::Result<ChunkView>;
    fn stats(&mut self) -> anyhow::Result<Stats>;
    fn status(&mut self) -> anyhow::Result<Status>;
    fn reindex(&mut self, full: bool) -> anyhow::Result<Reindexing>;
    fn verify(&mut self) -> anyhow::Result<Verification>;
    fn drop_kept_vectors(&mut self) -> anyhow::Result<KeptVectors>;
    fn agents(&mut self) -> anyhow::Result<AgentsView>;
    fn agent(&mut self, slug: &str) -> anyhow::Result<AgentView>;
    fn add_agent(&mut self, params: &AgentParams) -> anyhow::Result<AgentWithToken>;
    fn change_agent(&mut self, slug: &str, rules: &AgentRules) -> anyhow::Result<AgentView>;
    fn rotate_agent(&mut self, slug: &str, params: &RotateParams) -> anyhow::Result<AgentWithToken>;
    fn remove_agent(&mut self, slug: &str) -> anyhow::Result<AgentRemoved>;
    fn explain_agent(&mut self, slug: &str, what: &str) -> anyhow::Result<Explained>;
    fn traces(&mut self, slug: &str, params: &TracesParams) -> anyhow::Result<TracesView>;
    fn agent_log(&mut self, slug: &str, params: &LogParams) -> anyhow::Result<LogView>;
}
