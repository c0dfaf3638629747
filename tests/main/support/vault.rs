//! A vault in a temporary folder, indexed in this process.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use memory_vault::access::request::Owner;
use memory_vault::access::rules::Turn;
use memory_vault::base::clock::Clock;
use memory_vault::base::config::{Config, Mode};
use memory_vault::index::engine::Filter;
use memory_vault::index::search::SearchRequest;
use memory_vault::index::sync::SyncProgress;
use memory_vault::models::{Embedder, HashEmbedder};
use memory_vault::serve::app::App;
use memory_vault::serve::wire::{SearchQuery, SearchResponse, Status, Verification};
use memory_vault::vault::disk::Home;
use memory_vault::{serve::jobs, vault::notes};
use tempfile::TempDir;

use super::{Answers, Folder, PATIENCE, eventually, set_time};

/// A vault with an index that is brought up to date when a test says so, and a model that counts what it embeds.
pub struct TestVault {
    folder: TempDir,
    pub config: Config,
    pub embedder: Arc<HashEmbedder>,
    /// So many milliseconds the indexer's clock is ahead.
    ahead_ms: Arc<AtomicI64>,
    app: Option<App>,
}

/// What a search found.
pub struct Found(pub SearchResponse);

impl Found {
    pub fn paths(&self) -> Vec<&str> {
        self.0.results.iter().map(|hit| hit.chunk.path.as_str()).collect()
    }
}

impl Folder for TestVault {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

impl TestVault {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("vault-").tempdir().unwrap();
        fs::write(folder.path().join("memory.toml"), "").unwrap();
        Self::of(folder)
    }

    /// A vault that is in the folder already.
    pub fn of(folder: TempDir) -> Self {
        Self { folder, config: Config::default(), embedder: Arc::default(), ahead_ms: Arc::default(), app: None }
    }

    /// The vault's folder, without symbolic links.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub fn index_dir(&self) -> PathBuf {
        self.path(".vault/index")
    }

    pub fn synced(mut self) -> Self {
        self.sync();
        self
    }

    pub fn rename(&mut self, from: &str, to: &str) -> &mut Self {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path(from), to).unwrap();
        self
    }

    pub fn remove(&mut self, path: &str) -> &mut Self {
        fs::remove_file(self.path(path)).unwrap();
        self
    }

    /// Sets a file's time of change, in seconds since 1970.
    pub fn touch(&mut self, path: &str, seconds: u64) -> &mut Self {
        set_time(self.path(path), SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        self
    }

    /// Makes the index agree with the files: reads every file where the indexer runs, else starts it.
    pub fn sync(&mut self) -> &mut Self {
        match &self.app {
            Some(app) => jobs::reindex(&app.owner(), false).unwrap(),
            None => {
                self.app = Some(self.start(self.config.clone()));
                return self;
            }
        };
        settle(self.app());
        self
    }

    /// Builds the index anew while it is open.
    pub fn rebuild(&mut self) -> &mut Self {
        jobs::reindex(&self.owner(), true).unwrap();
        settle(self.app());
        self
    }

    /// Stops the indexer and starts it again, so that what changed is told by the files' stamps.
    pub fn restart(&mut self) -> &mut Self {
        self.stop().sync()
    }

    /// Sets the indexer's clock ahead of the system's.
    pub fn set_clock_ahead(&self, milliseconds: i64) {
        self.ahead_ms.store(milliseconds, Ordering::Relaxed);
    }

    pub fn stop(&mut self) -> &mut Self {
        self.app = None;
        self
    }

    /// Waits until everything that was noticed is read and embedded.
    pub fn settle(&mut self) -> &mut Self {
        settle(self.app());
        self
    }

    fn start(&self, config: Config) -> App {
        let home = Home::open(self.folder.path()).unwrap();
        // A process that another test is about to start holds on to what is open here, for a moment.
        let lock = eventually("the lock", || home.lock().ok());
        let embedder: Arc<dyn Embedder> = self.embedder.clone();
        let ahead_ms = Arc::clone(&self.ahead_ms);
        let clock =
            Clock::new(move || Timestamp::now() + SignedDuration::from_millis(ahead_ms.load(Ordering::Relaxed)));
        let app = App::with_clock(home, config, lock, false, Some(Box::new(move || Ok(Arc::clone(&embedder)))), clock)
            .unwrap();
        settle(&app);
        app
    }

    pub fn owner(&self) -> Owner {
        self.app().owner()
    }

    pub fn app(&self) -> &App {
        self.app.as_ref().expect("the vault was synced")
    }

    pub fn status(&self) -> Status {
        self.app().status(&self.owner()).unwrap()
    }

    /// Why a path is not indexed, or not as it was meant.
    pub fn problem(&self, path: &str) -> Option<String> {
        let problems = self.status().problems;
        problems.into_iter().find(|problem| problem.path == path).map(|problem| problem.reason)
    }

    pub fn search(&self, query: &str) -> Found {
        self.search_by(Mode::Hybrid, query)
    }

    pub fn words(&self, query: &str) -> Found {
        self.search_by(Mode::Keyword, query)
    }

    pub fn search_by(&self, mode: Mode, query: &str) -> Found {
        self.search_with(&SearchQuery { q: query.into(), mode: Some(mode), ..SearchQuery::default() })
    }

    pub fn search_with(&self, params: &SearchQuery) -> Found {
        Found(notes::search(&self.owner(), params).unwrap())
    }

    /// Compares the whole index with its checksums, and waits until what is damaged is mended.
    pub fn verify(&self) -> Verification {
        let verification = jobs::verify(&self.owner()).unwrap();
        settle(self.app());
        verification
    }

    /// Moves the vault's folder. Stops the indexer.
    pub fn relocate(&mut self) -> &mut Self {
        self.stop();
        let folder = tempfile::Builder::new().prefix("vault-").tempdir().unwrap();
        fs::rename(self.folder.path(), folder.path()).unwrap();
        let _ = std::mem::replace(&mut self.folder, folder).keep();
        self
    }

    /// What the index answers.
    pub fn answers(&self, queries: &[&str]) -> Answers {
        Answers::of(self.app(), queries)
    }

    /// What an index made of the same files from nothing answers. Stops the indexer.
    pub fn fresh_answers(&mut self, queries: &[&str]) -> Answers {
        self.stop();
        let folder = tempfile::tempdir().unwrap();
        let mut config = self.config.clone();
        config.index.dir = folder.path().join("index");
        Answers::of(&self.start(config), queries)
    }

    /// How many texts `change` makes the model embed, the sync after it included.
    pub fn embedded_by(&mut self, change: impl FnOnce(&mut Self)) -> usize {
        let before = self.embedder.documents_embedded();
        change(self);
        self.sync();
        self.embedder.documents_embedded() - before
    }
}

/// Waits until everything is read and embedded.
fn settle(app: &App) {
    let shared = &app.shared;
    let ready = |progress: &SyncProgress| progress.is_complete() && shared.embedder().is_some();
    let progress = shared.wait(PATIENCE, |progress| ready(progress) || progress.failure.is_some());
    assert!(ready(&progress), "the index did not settle: {progress:?}");
}

/// Asks for a text in a mode, and nothing else.
pub fn search_request(text: &str, mode: Mode, limit: usize) -> SearchRequest {
    SearchRequest {
        parts: Vec::new(),
        text: text.to_owned(),
        mode,
        limit,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: Turn::default(),
    }
}
