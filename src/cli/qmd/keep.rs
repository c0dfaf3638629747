//! The process in the background that answers for an index.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::cli::exit;
use crate::cli::outcome::Outcome;
use crate::cli::serve::stopped;
use crate::config::{Config, FILE_NAME};
use crate::daemon::{Daemon, DaemonError};
use crate::vault::{Home, HomeError};

/// After so long without a command it ends.
const IDLE: Duration = Duration::from_secs(600);

/// How often it looks whether it is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Whoever stays says so often that it is still there.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// Answers for the index in a folder, on its socket alone, until it is told to stop, another wants the folder, the folder is gone,
/// or nobody has asked for a while.
pub(super) fn keep(folder: &Path) -> anyhow::Result<Outcome> {
    let home = Home::open(folder)?;
    let config = Config::load(home.root())?;
    touch(home.root());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let closed = runtime.block_on(async {
        let stop = stopped()?;
        let daemon = match Daemon::start_locally(home.clone(), config).await {
            // Another was quicker.
            Err(DaemonError::Home(HomeError::Held(_))) => return Ok(true),
            daemon => daemon?,
        };
        let over = async move {
            while !(home.is_lock_wanted() || is_unused(home.root())) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let stop = async move {
            tokio::select! {
                () = stop => {}
                () = over => {}
            }
        };
        anyhow::Ok(daemon.run(stop).await)
    })?;
    // Blocking calls that outlived the drain must not hold the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    if !closed {
        exit::at_once(0);
    }
    Ok(Outcome::Done)
}

fn mark(folder: &Path) -> PathBuf {
    folder.join("asked")
}

/// Says that somebody has asked.
pub(super) fn touch(folder: &Path) {
    let options = File::options().write(true).create(true).truncate(false).open(mark(folder));
    // Where it cannot be said, the process ends sooner, and the next command starts it again.
    drop(options.and_then(|file| file.set_modified(SystemTime::now())));
}

fn is_unused(folder: &Path) -> bool {
    let asked = mark(folder).metadata().and_then(|meta| meta.modified()).ok();
    let idle = asked.and_then(|asked| asked.elapsed().ok()).unwrap_or_default();
    idle > IDLE || !folder.join(FILE_NAME).exists()
}

/// Says so now and then, until it is dropped.
pub(super) struct StillAsked(Arc<AtomicBool>);

/// For as long as what this gives lives, the process does not end for want of questions.
pub(super) fn asking(folder: &Path) -> StillAsked {
    let (over, folder) = (Arc::new(AtomicBool::new(false)), folder.to_owned());
    let until = Arc::clone(&over);
    std::thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            touch(&folder);
            std::thread::sleep(TOUCH_EVERY);
        }
    });
    StillAsked(over)
}

impl Drop for StillAsked {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
