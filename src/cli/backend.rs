//! Who answers a command: the running daemon, or this process alone.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use hyper::Method;
use serde_json::Value;

use super::client::{Client, PATIENCE};
use super::progress::Bar;
use super::terminal::remark;
use crate::agents;
use crate::app::App;
use crate::config::{Config, FILE_NAME};
use crate::entries;
use crate::facts;
use crate::graph;
use crate::jobs;
use crate::notes;
use crate::profile;
use crate::summaries;
use crate::sync::SyncProgress;
use crate::traces;
use crate::vault::{Home, HomeError};
use crate::wire::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, ExplainParams, Explained, LogParams,
    LogView, RotateParams,
};
use crate::wire::{
    AnnotateParams, Annotated, AttachmentsView, ChangesParams, ChangesView, CheckpointsParams, CheckpointsView,
    ForgetParams, Forgotten, ForgottenView, LiftedView, RestoreParams, Restored,
};
use crate::wire::{
    BrowseParams, ChunkView, KeptVectors, LinksParams, LinksView, NotesParams, NotesView, ReindexParams, Reindexing,
    RelatedParams, RelatedView, SaveParams, Saved, SearchQuery, SearchResponse, Stats, Status, TagsView, Verification,
    percent_encode,
};
use crate::wire::{ClearParams, Cleared, ProcessingView, Retried, RetryParams};
use crate::wire::{ConflictParams, ConflictSettled, ConflictView, ConflictsView, KeepParams};
use crate::wire::{ContextParams, ContextView, EventsAccepted, ImportParams, ImportTaken};
use crate::wire::{
    DigestParams, DigestView, DigestWritten, SummariesMade, SummariesParams, SummariesView, SummaryMakeParams,
};
use crate::wire::{
    EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged, EntryEditParams, EntryRemoveParams,
    FactNameParams, FactRetractParams, FactSetParams, FactWrittenView, FactsParams, FactsView, GraphParams, GraphView,
    ReviewDecisions, ReviewParams, ReviewView, Reviewed,
};
use crate::wire::{ProfileMade, ProfileView, TracesParams, TracesView, UserSet, UserSetParams};
use crate::wire::{UnresolvedParams, UnresolvedView};

/// Who answers.
pub(super) enum Backend {
    /// The daemon of the vault.
    Daemon(Box<Client>),
    /// This process.
    Here(Box<App>),
}

/// Maximum time that a search which works alone waits for texts to be embedded; then it answers with what there is.
const EMBED_WAIT: Duration = Duration::from_secs(5);

/// The daemon reads the whole index from a disk that may be slow.
const VERIFY_PATIENCE: Duration = Duration::from_secs(1800);

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
                && let Some(client) = Client::connect(&socket, PATIENCE)?
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
                && let Some(client) = Client::connect(&daemon.socket, PATIENCE)?
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

    pub(super) fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/search", params),
            Self::Here(app) => {
                let mut found = notes::search(&app.owner(), params)?;
                // All that was saved before has been read before.
                found.fresh = (!app.is_read_only()).then_some(true);
                Ok(found)
            }
        }
    }

    pub(super) fn related(&mut self, params: &RelatedParams) -> anyhow::Result<RelatedView> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/related", params),
            Self::Here(app) => Ok(notes::related(&app.owner(), params)?),
        }
    }

    pub(super) fn links(&mut self, params: &LinksParams) -> anyhow::Result<LinksView> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/links", params),
            Self::Here(app) => Ok(notes::links(&app.owner(), params)?),
        }
    }

    pub(super) fn unresolved(&mut self, params: &UnresolvedParams) -> anyhow::Result<UnresolvedView> {
        match self {
            Self::Daemon(client) => client.be_patient(VERIFY_PATIENCE).get("/api/user-memory/links/unresolved", params),
            Self::Here(app) => Ok(notes::unresolved(&app.owner(), params)?),
        }
    }

    pub(super) fn graph(&mut self, params: &GraphParams) -> anyhow::Result<GraphView> {
        match self {
            Self::Daemon(client) => client.get("/api/graph", params),
            Self::Here(app) => Ok(graph::graph(&app.owner(), params)?),
        }
    }

    pub(super) fn tags(&mut self) -> anyhow::Result<TagsView> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/tags", &()),
            Self::Here(app) => Ok(notes::tags(&app.owner())?),
        }
    }

    pub(super) fn notes(&mut self, params: &NotesParams) -> anyhow::Result<NotesView> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/notes", params),
            Self::Here(app) => Ok(notes::list(&app.owner(), params)?),
        }
    }

    pub(super) fn entries(&mut self, params: &EntriesParams) -> anyhow::Result<EntriesView> {
        match self {
            Self::Daemon(client) => client.get("/api/entries", params),
            Self::Here(app) => Ok(entries::entries(&app.owner(), params)?),
        }
    }

    pub(super) fn add_entry(&mut self, params: &EntryAddParams) -> anyhow::Result<EntryAdded> {
        match self {
            Self::Daemon(client) => client.post("/api/entries", params),
            Self::Here(app) => Ok(entries::add(&app.owner(), params)?),
        }
    }

    pub(super) fn edit_entry(&mut self, params: &EntryEditParams) -> anyhow::Result<EntryChanged> {
        match self {
            Self::Daemon(client) => client.post("/api/entries/edit", params),
            Self::Here(app) => Ok(entries::edit(&app.owner(), params)?),
        }
    }

    pub(super) fn remove_entry(&mut self, params: &EntryRemoveParams) -> anyhow::Result<EntryChanged> {
        match self {
            Self::Daemon(client) => client.post("/api/entries/remove", params),
            Self::Here(app) => Ok(entries::remove(&app.owner(), params)?),
        }
    }

    pub(super) fn proposals(&mut self, params: &ReviewParams) -> anyhow::Result<ReviewView> {
        match self {
            Self::Daemon(client) => client.get("/api/review", params),
            Self::Here(app) => Ok(entries::review(&app.owner(), params)?),
        }
    }

    pub(super) fn decide_proposals(&mut self, params: &ReviewDecisions) -> anyhow::Result<Reviewed> {
        match self {
            Self::Daemon(client) => client.post("/api/review", params),
            Self::Here(app) => Ok(entries::decide(&app.owner(), params)?),
        }
    }

    pub(super) fn facts(&mut self, params: &FactsParams) -> anyhow::Result<FactsView> {
        match self {
            Self::Daemon(client) => client.get("/api/facts", params),
            Self::Here(app) => Ok(facts::facts(&app.owner(), params)?),
        }
    }

    pub(super) fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView> {
        match self {
            Self::Daemon(client) => client.post_idempotent("/api/context", params),
            Self::Here(app) => Ok(app.context(&app.owner(), params)?),
        }
    }

    pub(super) fn profile(&mut self) -> anyhow::Result<ProfileView> {
        match self {
            Self::Daemon(client) => client.get("/api/profile", &()),
            Self::Here(app) => Ok(profile::profile(&app.owner())?),
        }
    }

    pub(super) fn set_user(&mut self, params: &UserSetParams) -> anyhow::Result<UserSet> {
        match self {
            Self::Daemon(client) => client.ask(Method::PUT, "/api/profile/user", params),
            Self::Here(app) => Ok(profile::set_user(&app.owner(), params)?),
        }
    }

    pub(super) fn make_profile(&mut self) -> anyhow::Result<ProfileMade> {
        match self {
            Self::Daemon(client) => client.post("/api/profile/regenerate", &()),
            Self::Here(app) => Ok(profile::regenerate(&app.owner())?),
        }
    }

    /// Hands a piece of an import over.
    pub(super) fn import(&mut self, params: ImportParams) -> anyhow::Result<ImportTaken> {
        match self {
            Self::Daemon(client) => client.post("/api/import", &params),
            Self::Here(app) => Ok(app.import(&app.owner(), params)?),
        }
    }

    /// Has events kept; without a daemon nobody takes them.
    pub(super) fn send_events(&mut self, events: &[Value]) -> anyhow::Result<()> {
        match self {
            Self::Daemon(client) => client.post::<EventsAccepted>("/api/user-memory/events", &events).map(drop),
            Self::Here(_) => Err(anyhow!("no daemon serves this vault; start `vault serve`")),
        }
    }

    pub(super) fn set_fact(&mut self, params: &FactSetParams) -> anyhow::Result<FactWrittenView> {
        match self {
            Self::Daemon(client) => client.ask(Method::PUT, "/api/facts", params),
            Self::Here(app) => Ok(facts::set(&app.owner(), params)?),
        }
    }

    pub(super) fn unset_fact(&mut self, params: &FactNameParams) -> anyhow::Result<FactWrittenView> {
        match self {
            Self::Daemon(client) => client.post("/api/facts/unset", params),
            Self::Here(app) => Ok(facts::unset(&app.owner(), params)?),
        }
    }

    pub(super) fn retract_fact(&mut self, params: &FactRetractParams) -> anyhow::Result<FactWrittenView> {
        match self {
            Self::Daemon(client) => client.post("/api/facts/retract", params),
            Self::Here(app) => Ok(facts::retract(&app.owner(), params)?),
        }
    }

    pub(super) fn summaries(&mut self, params: &SummariesParams) -> anyhow::Result<SummariesView> {
        match self {
            Self::Daemon(client) => client.get("/api/summaries", params),
            Self::Here(app) => Ok(summaries::list(&app.owner(), params)?),
        }
    }

    pub(super) fn make_summaries(&mut self, params: &SummaryMakeParams) -> anyhow::Result<SummariesMade> {
        match self {
            Self::Daemon(client) => client.be_patient(VERIFY_PATIENCE).post("/api/summaries/make", params),
            Self::Here(app) => Ok(summaries::make(&app.owner(), params)?),
        }
    }

    pub(super) fn digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestView> {
        match self {
            Self::Daemon(client) => client.get("/api/digest", params),
            Self::Here(app) => Ok(summaries::digest(&app.owner(), params)?),
        }
    }

    pub(super) fn write_digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestWritten> {
        match self {
            Self::Daemon(client) => client.post("/api/digest", params),
            Self::Here(app) => Ok(summaries::write_digest(&app.owner(), params)?),
        }
    }

    pub(super) fn save(&mut self, params: &SaveParams) -> anyhow::Result<Saved> {
        match self {
            Self::Daemon(client) => client.post("/api/user-memory/save", params),
            Self::Here(app) => Ok(notes::save(&app.owner(), params)?),
        }
    }

    pub(super) fn forget(&mut self, params: &ForgetParams) -> anyhow::Result<Forgotten> {
        match self {
            Self::Daemon(client) => client.post("/api/user-memory/forget", params),
            Self::Here(app) => Ok(notes::forget(&app.owner(), params)?),
        }
    }

    pub(super) fn forgotten(&mut self) -> anyhow::Result<ForgottenView> {
        match self {
            Self::Daemon(client) => client.get("/api/forgotten", &()),
            Self::Here(app) => Ok(notes::forgotten(&app.owner())?),
        }
    }

    pub(super) fn lift(&mut self, id: i64) -> anyhow::Result<LiftedView> {
        match self {
            Self::Daemon(client) => client.post(&format!("/api/forgotten/{id}/lift"), &()),
            Self::Here(app) => Ok(notes::lift(&app.owner(), id)?),
        }
    }

    pub(super) fn processing(&mut self) -> anyhow::Result<ProcessingView> {
        match self {
            Self::Daemon(client) => client.get("/api/processing", &()),
            Self::Here(app) => Ok(app.processing(&app.owner())?),
        }
    }

    pub(super) fn retry_processing(&mut self, params: &RetryParams) -> anyhow::Result<Retried> {
        match self {
            Self::Daemon(client) => client.post("/api/processing/retry", params),
            Self::Here(app) => Ok(app.retry_processing(&app.owner(), params)?),
        }
    }

    pub(super) fn sync_memory(&mut self) -> anyhow::Result<ProcessingView> {
        match self {
            Self::Daemon(client) => client.post("/api/processing/sync", &()),
            Self::Here(app) => Ok(app.sync_memory(&app.owner())?),
        }
    }

    pub(super) fn clear_memory(&mut self, params: &ClearParams) -> anyhow::Result<Cleared> {
        match self {
            Self::Daemon(client) => client.post("/api/processing/clear", params),
            Self::Here(app) => Ok(app.clear_memory(&app.owner(), params)?),
        }
    }

    pub(super) fn changes(&mut self, params: &ChangesParams) -> anyhow::Result<ChangesView> {
        match self {
            Self::Daemon(client) => client.get("/api/log", params),
            Self::Here(app) => Ok(notes::changes(&app.owner(), params)?),
        }
    }

    pub(super) fn annotate(&mut self, params: &AnnotateParams) -> anyhow::Result<Annotated> {
        match self {
            Self::Daemon(client) => client.post("/api/user-memory/annotate", params),
            Self::Here(app) => Ok(notes::annotate(&app.owner(), params)?),
        }
    }

    pub(super) fn attachments(&mut self) -> anyhow::Result<AttachmentsView> {
        match self {
            Self::Daemon(client) => client.get("/api/attachments", &()),
            Self::Here(app) => Ok(notes::attachments(&app.owner())?),
        }
    }

    pub(super) fn conflicts(&mut self) -> anyhow::Result<ConflictsView> {
        match self {
            Self::Daemon(client) => client.get("/api/conflicts", &()),
            Self::Here(app) => Ok(notes::conflicts(&app.owner())?),
        }
    }

    pub(super) fn conflict(&mut self, params: &ConflictParams) -> anyhow::Result<ConflictView> {
        match self {
            Self::Daemon(client) => client.get("/api/conflicts/difference", params),
            Self::Here(app) => Ok(notes::conflict(&app.owner(), params)?),
        }
    }

    pub(super) fn keep(&mut self, params: &KeepParams) -> anyhow::Result<ConflictSettled> {
        match self {
            Self::Daemon(client) => client.post("/api/conflicts/keep", params),
            Self::Here(app) => Ok(notes::keep(&app.owner(), params)?),
        }
    }

    pub(super) fn checkpoints(&mut self, params: &CheckpointsParams) -> anyhow::Result<CheckpointsView> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/checkpoints", params),
            Self::Here(app) => Ok(notes::checkpoints(&app.owner(), params)?),
        }
    }

    pub(super) fn restore(&mut self, id: &str, params: RestoreParams) -> anyhow::Result<Restored> {
        match self {
            Self::Daemon(client) => {
                let id = percent_encode(id);
                client.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &params)
            }
            Self::Here(app) => Ok(notes::restore(&app.owner(), id, params)?),
        }
    }

    pub(super) fn chunk(&mut self, hash: &str) -> anyhow::Result<ChunkView> {
        match self {
            Self::Daemon(client) => client.get(&format!("/api/user-memory/chunk/{hash}"), &()),
            Self::Here(app) => Ok(notes::chunk(&app.owner(), hash)?),
        }
    }

    pub(super) fn stats(&mut self) -> anyhow::Result<Stats> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/stats", &BrowseParams::default()),
            Self::Here(app) => Ok(notes::stats(&app.owner())?),
        }
    }

    pub(super) fn status(&mut self) -> anyhow::Result<Status> {
        match self {
            Self::Daemon(client) => client.get("/status", &()),
            Self::Here(app) => Ok(app.status(&app.owner())?),
        }
    }

    pub(super) fn reindex(&mut self, full: bool) -> anyhow::Result<Reindexing> {
        match self {
            Self::Daemon(client) => client.post_idempotent("/reindex", &ReindexParams { full }),
            Self::Here(app) => Ok(jobs::reindex(&app.owner(), full)?),
        }
    }

    pub(super) fn verify(&mut self) -> anyhow::Result<Verification> {
        match self {
            Self::Daemon(client) => client.be_patient(VERIFY_PATIENCE).post_idempotent("/verify", &()),
            Self::Here(app) => Ok(jobs::verify(&app.owner())?),
        }
    }

    pub(super) fn drop_kept_vectors(&mut self) -> anyhow::Result<KeptVectors> {
        match self {
            Self::Daemon(client) => client.post("/model/gc", &()),
            Self::Here(app) => Ok(jobs::drop_kept_vectors(&app.owner())?),
        }
    }

    pub(super) fn agents(&mut self) -> anyhow::Result<AgentsView> {
        match self {
            Self::Daemon(client) => client.get("/api/agents", &()),
            Self::Here(app) => Ok(agents::list(&app.owner())?),
        }
    }

    pub(super) fn agent(&mut self, slug: &str) -> anyhow::Result<AgentView> {
        match self {
            Self::Daemon(client) => client.get(&agent_path(slug, ""), &()),
            Self::Here(app) => Ok(agents::view(&app.owner(), slug)?),
        }
    }

    pub(super) fn add_agent(&mut self, params: &AgentParams) -> anyhow::Result<AgentWithToken> {
        match self {
            Self::Daemon(client) => client.post("/api/agents", params),
            Self::Here(app) => Ok(agents::add(&app.owner(), params)?),
        }
    }

    pub(super) fn change_agent(&mut self, slug: &str, rules: &AgentRules) -> anyhow::Result<AgentView> {
        match self {
            Self::Daemon(client) => client.ask(Method::PATCH, &agent_path(slug, ""), rules),
            Self::Here(app) => Ok(agents::change(&app.owner(), slug, rules)?),
        }
    }

    pub(super) fn rotate_agent(&mut self, slug: &str, params: &RotateParams) -> anyhow::Result<AgentWithToken> {
        match self {
            Self::Daemon(client) => client.post(&agent_path(slug, "/rotate"), params),
            Self::Here(app) => Ok(agents::rotate(&app.owner(), slug, params.clone())?),
        }
    }

    pub(super) fn remove_agent(&mut self, slug: &str) -> anyhow::Result<AgentRemoved> {
        match self {
            Self::Daemon(client) => client.ask(Method::DELETE, &agent_path(slug, ""), &()),
            Self::Here(app) => Ok(agents::remove(&app.owner(), slug)?),
        }
    }

    pub(super) fn explain_agent(&mut self, slug: &str, what: &str) -> anyhow::Result<Explained> {
        match self {
            Self::Daemon(client) => client.get(&agent_path(slug, "/explain"), &ExplainParams { what: what.to_owned() }),
            Self::Here(app) => Ok(agents::explain(&app.owner(), slug, what)?),
        }
    }

    pub(super) fn traces(&mut self, slug: &str, params: &TracesParams) -> anyhow::Result<TracesView> {
        match self {
            Self::Daemon(client) => client.get(&agent_path(slug, "/trace"), params),
            Self::Here(app) => Ok(traces::list(&app.owner(), slug, params)?),
        }
    }

    pub(super) fn agent_log(&mut self, slug: &str, params: &LogParams) -> anyhow::Result<LogView> {
        match self {
            Self::Daemon(client) => client.get(&agent_path(slug, "/log"), params),
            Self::Here(app) => Ok(agents::log(&app.owner(), slug, params)?),
        }
    }
}

fn agent_path(slug: &str, rest: &str) -> String {
    format!("/api/agents/{}{rest}", percent_encode(slug))
}
