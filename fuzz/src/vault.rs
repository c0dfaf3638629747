use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use memory_vault::access::rules::{OwnerToken, Token};
use memory_vault::base::config::Config;
use memory_vault::models::{Embedder, HashEmbedder};
use memory_vault::serve::api::{Guard, Live, guarded, local};
use memory_vault::serve::app::App;
use memory_vault::vault::disk::Home;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const NOTES: [(&str, &str); 7] = [
    ("facts.md", "- The spare key is with Ann.\n"),
    (
        "notes/bread.md",
        "---\ntags: [food/bread]\nupdated: 2025-03-04\n---\n# Bread\n\nFlour, water and salt.\n\n## Rye\n\nSour.\n",
    ),
    ("notes/東京.md", "# 東京\n\n東京の天気　晴れ serde_json::Value don't C++ naïve\n"),
    ("notes/secret.md", "---\nprivate: true\n---\nThe password is flour.\n"),
    ("journal/empty.md", ""),
    (
        "notes/film.md",
        "---\naliases: [Bladerunner]\nrating: 8.5\nstatus: seen\ndirector: Ridley Scott\ndue: 2025-03-04\n---\n\n- [ ] Watch it again.\n",
    ),
    (
        "conversations/2026-01-05-s1.md",
        "---\nsource: capture\nsession: s1\n---\n\n**10:00 · user:** Who has the ladder?\n\n**10:01 · assistant:** Jonas has it.\n",
    ),
];

/// A small vault at work, with its API.
pub struct Vault {
    app: Arc<App>,
    /// As served over the Unix socket, and over TCP with the token `token`.
    pub(super) routers: [Router; 2],
    pub(super) runtime: Runtime,
    _folder: TempDir,
}

impl Vault {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("vault-").tempdir().expect("a temporary folder");
        let files = NOTES.into_iter().chain([("memory.toml", "")]);
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            fs::write(path, text).expect("a file can be written");
        }
        let home = Home::open(folder.path()).expect("a vault");
        let lock = home.lock().expect("nobody else has it");
        let model = Box::new(|| Ok(Arc::new(HashEmbedder::default()) as Arc<dyn Embedder>));
        let app = App::with_model(home, Config::default(), lock, false, Some(model)).expect("it starts");
        let shared = &app.shared;
        let ready = shared.wait(Duration::from_secs(60), |progress| progress.is_complete());
        assert!(ready.is_complete() && shared.embedder().is_some(), "{ready:?}");
        let app = Arc::new(app);
        // Its sender is gone, so that streams of events end at once.
        let live = Live::new(&app, tokio::sync::watch::channel(false).1);
        let guard = Guard::new(vec![Arc::new(OwnerToken::new(&Token::from_text("token")))], []);
        Self {
            routers: [
                local(Arc::clone(&app), &live, Router::new()),
                guarded(Arc::clone(&app), &live, guard, Router::new()),
            ],
            app,
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime"),
            _folder: folder,
        }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }
}

impl Default for Vault {
    fn default() -> Self {
        Self::new()
    }
}
