use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use memory_vault::access::{OwnerKey, Token};
use memory_vault::api::{Guard, Live, guarded, local};
use memory_vault::config::Config;
use memory_vault::models::{Embedder, HashEmbedder};
use memory_vault::service::Service;
use memory_vault::vault::Home;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const NOTES: [(&str, &str); 5] = [
    ("facts.md", "- The spare key is with Ann.\n"),
    (
        "notes/bread.md",
        "---\ntags: [food/bread]\nupdated: 2025-03-04\n---\n# Bread\n\nFlour, water and salt.\n\n## Rye\n\nSour.\n",
    ),
    ("notes/東京.md", "# 東京\n\n東京の天気　晴れ serde_json::Value don't C++ naïve\n"),
    ("notes/secret.md", "---\nprivate: true\n---\nThe password is flour.\n"),
    ("journal/empty.md", ""),
];

/// A small vault at work, with its API.
pub struct Vault {
    service: Arc<Service>,
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
        let service = Service::with_model(home, Config::default(), lock, false, Some(model)).expect("it starts");
        let shared = service.shared();
        let ready = shared.wait(Duration::from_secs(60), |progress| progress.is_complete());
        assert!(ready.is_complete() && shared.embedder().is_some(), "{ready:?}");
        let service = Arc::new(service);
        // Its sender is gone, so that streams of events end at once.
        let live = Live::new(tokio::sync::watch::channel(false).1);
        let guard = Guard::new(vec![Arc::new(OwnerKey::new(&Token::from_text("token")))], []);
        Self {
            routers: [
                local(Arc::clone(&service), &live, Router::new()),
                guarded(Arc::clone(&service), &live, guard, Router::new()),
            ],
            service,
            runtime: tokio::runtime::Builder::new_current_thread().build().expect("a runtime"),
            _folder: folder,
        }
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }
}

impl Default for Vault {
    fn default() -> Self {
        Self::new()
    }
}
