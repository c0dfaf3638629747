//! Who answers a command: the running daemon, or this process alone.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::client::{Client, PATIENCE};
use super::progress::Bar;
use crate::access::Principal;
use crate::config::Config;
use crate::service::{
    BrowseParams, ChunkView, ReindexParams, Reindexing, SaveParams, Saved, SearchParams, SearchResponse, Service,
    Stats, Status, Verification,
};
use crate::sync::Progress;
use crate::vault::{Home, HomeError};

/// Who answers.
pub(super) enum Backend {
    /// The daemon of the vault.
    Daemon(Box<Client>),
    /// This process.
    Here(Box<Service>),
}

/// A search that works alone waits so long for texts to be embedded, then answers with what there is.
const EMBED_WAIT: Duration = Duration::from_secs(5);

/// The daemon reads the whole index from a disk that may be slow.
const VERIFY_PATIENCE: Duration = Duration::from_secs(1800);

/// Opens the vault that a command means.
pub(super) fn home(named: Option<&Path>) -> anyhow::Result<Home> {
    Ok(Home::find(named, &std::env::current_dir()?)?)
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
                    return Ok(Self::Here(Box::new(Service::start(home, config, lock, false)?)));
                }
                // A daemon that is just starting says where it listens in a moment.
                Err(HomeError::Held(_)) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(error.into()),
            }
        }
        let config = Config::load(home.root())?;
        Ok(Self::Here(Box::new(Service::read_only(home, config)?)))
    }

    /// Lets the index catch up with the files, when this process works alone; the daemon does so all the time.
    pub(super) fn catch_up(&self, embed: bool) -> anyhow::Result<()> {
        let Self::Here(service) = self else { return Ok(()) };
        let shared = service.shared();
        if service.is_read_only() {
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
            let done = |progress: &Progress| progress.is_complete() || progress.failure.is_some();
            while Instant::now() < deadline {
                let progress = shared.wait(Duration::from_millis(100), done);
                bar.show(progress.embeddings_done, progress.pending_embeddings);
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
        if matches!(self, Self::Here(service) if service.is_read_only()) {
            eprintln!("vault: another process is writing the index; this is the index as it is now");
        }
    }

    pub(super) fn search(&mut self, params: &SearchParams) -> anyhow::Result<SearchResponse> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/search", params),
            Self::Here(service) => Ok(service.search(&Principal::Owner, params)?),
        }
    }

    pub(super) fn save(&mut self, params: &SaveParams) -> anyhow::Result<Saved> {
        match self {
            Self::Daemon(client) => client.post("/api/user-memory/save", params),
            Self::Here(service) => Ok(service.save(&Principal::Owner, params)?),
        }
    }

    pub(super) fn chunk(&mut self, hash: &str) -> anyhow::Result<ChunkView> {
        match self {
            Self::Daemon(client) => client.get(&format!("/api/user-memory/chunk/{hash}"), &()),
            Self::Here(service) => Ok(service.chunk(&Principal::Owner, hash)?),
        }
    }

    pub(super) fn stats(&mut self) -> anyhow::Result<Stats> {
        match self {
            Self::Daemon(client) => client.get("/api/user-memory/stats", &BrowseParams::default()),
            Self::Here(service) => Ok(service.stats(&Principal::Owner)?),
        }
    }

    pub(super) fn status(&mut self) -> anyhow::Result<Status> {
        match self {
            Self::Daemon(client) => client.get("/status", &()),
            Self::Here(service) => Ok(service.status()?),
        }
    }

    pub(super) fn reindex(&mut self, full: bool) -> anyhow::Result<Reindexing> {
        match self {
            Self::Daemon(client) => client.post("/reindex", &ReindexParams { full }),
            Self::Here(service) => Ok(service.reindex(full)?),
        }
    }

    pub(super) fn verify(&mut self) -> anyhow::Result<Verification> {
        match self {
            Self::Daemon(client) => client.be_patient(VERIFY_PATIENCE).post("/verify", &()),
            Self::Here(service) => Ok(service.verify()?),
        }
    }
}
