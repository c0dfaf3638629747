//! `vault serve`

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::spawn_blocking;

use super::backend::home;
use super::exit;
use super::exit::Outcome;
use super::progress::Bar;
use super::terminal::{count, remark, say, shell_quoted};
use crate::config::Config;
use crate::daemon::{Daemon, DaemonError};
use crate::sync::{ModelStatus, Phase, Shared, SyncProgress};
use crate::vault::{DaemonInfo, Home, HomeError};

/// Keep the vault searchable: watch its notes, index what changes, and answer over HTTP.
///
/// Runs in the foreground until Ctrl-C or SIGTERM. `vault service install` runs it in the background instead.
#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    /// The address to listen on, instead of `[server] host`.
    #[arg(long)]
    host: Option<String>,
    /// The port, instead of `[server] port`; 0 takes any free one.
    #[arg(long)]
    port: Option<u16>,
    /// Listen on an address that other machines can reach. The API is plain HTTP: put TLS and a firewall in front of it.
    #[arg(long)]
    allow_remote: bool,
}

/// A daemon that stands in for this one lets go of the vault within that time.
const GIVES_WAY_WITHIN: Duration = Duration::from_secs(10);

/// One that was told to stop, or another command, does so within that time, mostly.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Maximum time that one which is told to stop while it starts is waited for to have begun.
const STARTS_WITHIN: Duration = Duration::from_secs(1);

/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl ServeCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let mut config = Config::load(home.root())?;
        config.server.host = self.host.unwrap_or(config.server.host);
        config.server.port = self.port.unwrap_or(config.server.port);
        let (root, token) = (home.root().to_owned(), home.owner_token_file());
        exit::after(async {
            // Before anyone can know that it runs: who is told to stop in that moment closes the stores as well.
            let mut stop = std::pin::pin!(exit::told()?);
            let mut starting = spawn_blocking(move || start(&home, &config, self.allow_remote));
            let daemon = tokio::select! {
                daemon = &mut starting => daemon??,
                () = &mut stop => {
                    // What has begun is ended in order, if the disk lets it.
                    return match tokio::time::timeout(STARTS_WITHIN, starting).await {
                        Ok(daemon) => Ok(daemon??.run(std::future::ready(())).await),
                        Err(_) => Ok(false),
                    };
                }
            };
            say!("serving {}", root.display())?;
            let token = token.strip_prefix(&root).unwrap_or(&token).display();
            if let Some(address) = daemon.address() {
                say!("    at http://{address}   (token in {token})")?;
            }
            say!("    try: vault search --vault {} \"something you wrote\"", shell_quoted(&root))?;
            // Not the vault: the stores are closed when the daemon lets go of it.
            let shared = Arc::clone(daemon.app().shared());
            std::thread::spawn(move || show_progress(&shared));
            anyhow::Ok(daemon.run(stop).await)
        })
    }
}

/// Starts the daemon; a `vault mcp` that stands in for one gives way, and one that is ending is waited for.
fn start(home: &Home, config: &Config, allow_remote: bool) -> Result<Daemon, DaemonError> {
    let (started, mut asked) = (Instant::now(), false);
    loop {
        match Daemon::start(home.clone(), config.clone(), allow_remote) {
            // One that is giving way no longer says who it is.
            Err(DaemonError::Home(HomeError::Held(other)))
                if (asked || other.as_ref().is_some_and(DaemonInfo::is_stopgap))
                    && started.elapsed() < GIVES_WAY_WITHIN =>
            {
                asked = true;
                home.want_lock()?;
                std::thread::sleep(LOOK_AGAIN);
            }
            Err(DaemonError::Home(HomeError::Held(_))) if started.elapsed() < ENDS_WITHIN => {
                std::thread::sleep(LOOK_AGAIN);
            }
            result => return result,
        }
    }
}

/// Shows the first indexing: notes, then embeddings. Ends when the indexer does.
fn show_progress(shared: &Shared) {
    let follow = |bar: Bar, until: fn(&SyncProgress) -> bool, show: fn(&Bar, &Shared, &SyncProgress)| {
        loop {
            let progress = shared.wait(Duration::from_millis(100), until);
            show(&bar, shared, &progress);
            if until(&progress) || progress.failure.is_some() || progress.phase == Phase::Stopped {
                bar.finish();
                return progress;
            }
        }
    };
    let read = follow(
        Bar::files(),
        |progress| progress.caught_up,
        |bar, _, progress| bar.show(progress.files_done, progress.pending_files),
    );
    if let Some(failure) = read.failure {
        return remark!("vault: {failure}");
    }
    if !read.caught_up {
        return;
    }
    let notes = shared.snapshot().map_or(0, |snapshot| snapshot.files().len());
    let its = if notes == 1 { "its" } else { "their" };
    // Whoever closed the pipe has no use for it.
    let _ = say!("{} can be found by {its} words", count(notes, "note"));
    let done = follow(Bar::embeddings(), SyncProgress::is_complete, |bar, shared, _| bar.show_passages(shared));
    if !done.is_complete() {
        return;
    }
    match done.model {
        ModelStatus::Failed(reason) => remark!("vault: search is by keyword alone: {reason}"),
        ModelStatus::Ready { trouble: Some(trouble), .. } => {
            remark!("vault: {its} meaning waits for the model, which is tried again: {trouble}");
        }
        ModelStatus::Ready { .. } => {
            let _ = say!("and by {its} meaning");
        }
        ModelStatus::Off | ModelStatus::Loading => {}
    }
}
