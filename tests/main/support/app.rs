//! A vault that is served within the test's own process.

use std::sync::Arc;

use memory_vault::base::config::{Config, Mode};
use memory_vault::models::{Embedder, ModelError};
use memory_vault::serve::app::App;
use memory_vault::serve::wire::{SearchQuery, Status};
use memory_vault::vault::disk::Home;
use memory_vault::vault::notes;

use super::{Daemon, Folder, eventually};

/// Opens a vault as the daemon does.
pub fn serve(vault: &Daemon, config: Config) -> App {
    let home = Home::open(&vault.path("")).unwrap();
    // The one before may be ending still.
    let lock = eventually("the lock", || home.lock().ok());
    App::start(home, config, lock, true).unwrap()
}

/// The same with a model of the test's own, and the settings as shipped; `watched` where changes are to be noticed.
pub fn serve_model(
    vault: &Daemon,
    watched: bool,
    model: impl FnMut() -> Result<Arc<dyn Embedder>, ModelError> + Send + 'static,
) -> App {
    let home = Home::open(&vault.path("")).unwrap();
    let lock = eventually("the lock", || home.lock().ok());
    App::with_model(home, Config::default(), lock, watched, Some(Box::new(model))).unwrap()
}

/// The paths that a search by meaning finds, the best first, and what was not as it was asked for.
pub fn by_meaning(app: &App, query: &str) -> (Vec<String>, Option<String>) {
    let params = SearchQuery { q: query.into(), mode: Some(Mode::Semantic), ..SearchQuery::default() };
    let found = notes::search(&app.owner(), &params).unwrap();
    (found.results.into_iter().map(|hit| hit.chunk.path).collect(), found.degraded)
}

pub fn status(app: &App) -> Status {
    app.status(&app.owner()).unwrap()
}

/// The status, once so many passages are embedded.
#[track_caller]
pub fn embedded(app: &App, passages: usize) -> Status {
    eventually("passages to be embedded", || Some(status(app)).filter(|status| status.embedded == passages))
}
