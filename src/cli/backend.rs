//! Who answers a command: the running daemon, or this process alone.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;

use super::client::{Client, PATIENCE};
use super::terminal::{follow_embeddings, follow_files, remark};
use crate::base::config::{Config, FILE_NAME};
use crate::serve::api::{alone, endpoints};
use crate::serve::app::App;
use crate::serve::wire::{ContextParams, ContextView, EventsAccepted, SearchQuery, SearchResponse, Status};
use crate::vault::disk::{Home, HomeError};

/// Who answers: the daemon of the vault, or this process.
pub(super) struct Backend {
    client: Client,
    /// The vault, where this process has it open.
    app: Option<Arc<App>>,
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
                return Ok(Some(Self { client, app: None }));
            }
        }
        Ok(None)
    }

    /// Connects to the vault's daemon, or starts to work alone. `adjust` changes the configuration for the latter.
    pub(super) fn open(named: Option<&Path>, adjust: impl FnOnce(&mut Config)) -> anyhow::Result<Self> {
        Self::open_for(named, false, adjust)
    }

    /// The same without a model: what is asked is no question of meaning.
    pub(super) fn without_model(named: Option<&Path>) -> anyhow::Result<Self> {
        Self::open(named, |config| config.embed.model = "none".into())
    }

    /// The same when all files have been read.
    pub(super) fn caught_up(named: Option<&Path>) -> anyhow::Result<Self> {
        let backend = Self::without_model(named)?;
        backend.catch_up(false)?;
        Ok(backend)
    }

    /// The same for who reads: where another process is writing the index, it is said.
    pub(super) fn reading(named: Option<&Path>) -> anyhow::Result<Self> {
        let backend = Self::caught_up(named)?;
        backend.warn_if_read_only();
        Ok(backend)
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
                return Ok(Self { client, app: None });
            }
            let mut config = Config::load(home.root())?;
            match home.lock() {
                Ok(lock) => {
                    adjust(&mut config);
                    return Self::of(App::start(home, config, lock, captures)?);
                }
                // A daemon that is just starting says where it listens in a moment.
                Err(HomeError::Held(_)) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(error.into()),
            }
        }
        let config = Config::load(home.root())?;
        Self::of(App::read_only(home, config)?)
    }

    /// This process, which has the vault open.
    ///
    /// # Errors
    /// When there is no room to ask it.
    pub(super) fn of(app: App) -> anyhow::Result<Self> {
        let app = Arc::new(app);
        Ok(Self { client: Client::within(alone(Arc::clone(&app)))?, app: Some(app) })
    }

    /// Whether the daemon answers.
    pub(super) fn is_served(&self) -> bool {
        self.app.is_none()
    }

    /// Finds passages.
    pub(super) fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        let mut found = self.client.ask(&endpoints::routes::SEARCH, params)?;
        if let Some(app) = &self.app {
            // All that was saved before has been read before.
            found.fresh = (!app.is_read_only()).then_some(true);
        }
        Ok(found)
    }

    /// What is worth giving for a question.
    pub(super) fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView> {
        self.client.post_repeatable("/api/context", params)
    }

    /// How the vault and its index are.
    pub(super) fn status(&mut self) -> anyhow::Result<Status> {
        self.client.ask(&endpoints::routes::STATUS.answering(), &())
    }

    /// Has events kept; without a daemon nobody takes them.
    pub(super) fn send_events(&mut self, events: &[Value]) -> anyhow::Result<()> {
        if self.app.is_some() {
            return Err(anyhow!("no daemon serves this vault; start `vault serve`"));
        }
        self.client.post::<EventsAccepted>("/api/user-memory/events", &events).map(drop)
    }

    /// Lets the index catch up with the files, when this process works alone; the daemon does so all the time.
    pub(super) fn catch_up(&self, embed: bool) -> anyhow::Result<()> {
        let Some(app) = &self.app else { return Ok(()) };
        let shared = app.shared();
        if app.is_read_only() {
            return Ok(());
        }
        if let Some(failure) = follow_files(shared).failure {
            return Err(anyhow!(failure));
        }
        if embed {
            follow_embeddings(shared, EMBED_WAIT);
        }
        Ok(())
    }

    /// Says so when the answers come from an index that another process is writing.
    pub(super) fn warn_if_read_only(&self) {
        if self.app.as_ref().is_some_and(|app| app.is_read_only()) {
            remark!("vault: another process is writing the index; this answer uses the index as it is now");
        }
    }
}

impl Deref for Backend {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Backend {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}
