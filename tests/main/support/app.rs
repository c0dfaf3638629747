//! A vault that is served within the test's own process.

use memory_vault::base::config::Config;
use memory_vault::serve::app::App;
use memory_vault::serve::wire::Status;
use memory_vault::vault::disk::Home;

use super::{Daemon, eventually};

/// Opens a vault as the daemon does.
pub fn serve(vault: &Daemon, config: Config) -> App {
    let home = Home::open(&vault.path("")).unwrap();
    // The one before may be ending still.
    let lock = eventually("the lock", || home.lock().ok());
    App::start(home, config, lock, true).unwrap()
}

pub fn status(app: &App) -> Status {
    app.status(&app.owner()).unwrap()
}

/// The status, once so many passages are embedded.
#[track_caller]
pub fn embedded(app: &App, passages: usize) -> Status {
    eventually("passages to be embedded", || Some(status(app)).filter(|status| status.embedded == passages))
}
