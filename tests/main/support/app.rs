//! A vault that is served within the test's own process.

use std::sync::Arc;

use memory_vault::base::config::Config;
use memory_vault::models::{Embedder, ModelError};
use memory_vault::serve::app::App;
use memory_vault::serve::wire::Status;
use memory_vault::vault::disk::Home;

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

pub fn status(app: &App) -> Status {
    app.status(&app.owner()).unwrap()
}

/// The status, once so many passages are embedded.
#[track_caller]
pub fn embedded(app: &App, passages: usize) -> Status {
    eventually("passages to be embedded", || Some(status(app)).filter(|status| status.embedded == passages))
}
