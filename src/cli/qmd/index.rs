//! An index, opened for one command, and the process in the background that answers for it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::access::request::{ErrorKind, RequestError};
use crate::base::config::{Config, FILE_NAME};
use crate::base::fs::create_private_dir;
use crate::cli::backend::Backend;
use crate::cli::exit;
use crate::cli::terminal::{Outcome, remark, say};
use crate::serve::api::{Endpoint, Input};
use crate::serve::daemon::{Daemon, DaemonError, Serves, until};
use crate::serve::qmd::{AGENT, IndexPaths, QmdCollections, QmdDocument, QmdDocuments, QmdError, indexes_folder};
use crate::serve::wire::Status;
use crate::vault::disk::{Home, HomeError};

/// Maximum time for the index to be closed.
const CLOSES_WITHIN: Duration = Duration::from_secs(20);

/// Maximum number of times that it is opened for one command.
const OPENED_AT_MOST: usize = 10;

/// Maximum time that files are waited for which it has not read yet.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(60);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// An index.
pub(super) struct QmdIndex {
    pub(super) place: IndexPaths,
    pub(super) collections: QmdCollections,
    pub(super) documents: QmdDocuments,
}

impl QmdIndex {
    /// Opens an index; one that is new takes over what a QMD has left.
    pub(super) fn open(place: IndexPaths) -> anyhow::Result<Self> {
        let collections = match QmdCollections::load(&place)? {
            Some(collections) => collections,
            None => {
                let (collections, left) = QmdCollections::take_over(&place);
                for what in left {
                    remark!("qmd: not taken over from {}: {what}", place.former.display());
                }
                collections.save(&place)?;
                collections
            }
        };
        let documents = QmdDocuments::open(&place, &collections)?;
        Ok(Self { place, collections, documents })
    }

    /// Changes the collections: the process that answers closes the index for it, and opens it next with the new ones.
    pub(super) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut QmdCollections) -> Result<T, QmdError>,
    ) -> anyhow::Result<T> {
        let home = Home::open(&self.place.folder)?;
        let started = Instant::now();
        let lock = loop {
            match home.lock() {
                Err(HomeError::Held(_)) if started.elapsed() < CLOSES_WITHIN => {
                    home.want_lock()?;
                    std::thread::sleep(LOOK_AGAIN);
                }
                lock => break lock?,
            }
        };
        // As they are now that nobody else changes them.
        let mut collections = QmdCollections::load(&self.place)?.unwrap_or_default();
        let changed = change(&mut collections)?;
        let documents = QmdDocuments::open(&self.place, &collections)?;
        collections.save(&self.place)?;
        (self.collections, self.documents) = (collections, documents);
        drop(lock);
        Ok(changed)
    }

    /// What is said of a document, or nothing.
    pub(super) fn context_of(&self, document: &QmdDocument) -> Option<String> {
        self.collections.context_of(self.collections.named(&document.collection)?, &document.path)
    }

    /// The process that answers, which is started where there is none.
    ///
    /// # Errors
    /// When it cannot be started, or the index cannot be opened.
    pub(super) fn client(&self) -> anyhow::Result<Backend> {
        touch(&self.place.folder);
        match Backend::daemon_of(&Home::open(&self.place.folder)?)? {
            Some(client) => Ok(client),
            None => started(&self.place.folder),
        }
    }
}

/// Asks as the agent that sees no private note. Where the index is just being opened, for another command, it is waited for.
///
/// # Errors
/// When it does not answer.
pub(super) fn ask_as_agent<In: Input, Out: DeserializeOwned>(
    client: &mut Backend,
    endpoint: &Endpoint<In, Out>,
    params: &In::Params,
) -> anyhow::Result<Out> {
    let ask = |client: &mut Backend| {
        let answer = client.ask_as(Some(AGENT)).ask(endpoint, params);
        client.ask_as(None);
        answer
    };
    let is_early = |error: &anyhow::Error| {
        error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::Unavailable)
    };
    match ask(client) {
        Err(error) if is_early(&error) => {
            catch_up(client)?;
            ask(client)
        }
        answer => answer,
    }
}

/// Has a process answer for the index in a folder, and waits until that has read its files.
fn started(folder: &Path) -> anyhow::Result<Backend> {
    let home = Home::open(folder)?;
    for _ in 0..OPENED_AT_MOST {
        in_background::<()>(|command| {
            // The model is unpacked once for all indexes, wherever each has its cache.
            command.arg("keep").arg(folder).env_remove("XDG_CACHE_HOME").env_remove("VAULT_DIR");
        })?;
        // It may be closed in this moment, for whoever changes its collections.
        if let Some(mut client) = Backend::daemon_of(&home)? {
            catch_up(&mut client)?;
            return Ok(client);
        }
    }
    bail!("the index is closed as soon as it is open; ask again in a moment")
}

/// Waits until all files can be found by their words.
///
/// # Errors
/// When it does not answer.
pub(super) fn catch_up(client: &mut Backend) -> anyhow::Result<()> {
    let started = Instant::now();
    let is_read = |status: &Status| status.caught_up && status.pending_files == 0;
    let is_over = |status: &Status| Ok(is_read(status) || started.elapsed() > CATCHES_UP_WITHIN);
    let status = client.wait_until(LOOK_AGAIN, is_over)?;
    if !is_read(&status) {
        remark!("qmd: {} files are not read yet; they are found as soon as they are", status.pending_files);
    }
    Ok(())
}

/// Idle timeout after which an index that gets no command is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Interval at which it is looked whether an index is to be closed.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Interval at which whoever stays says that it is still there.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

const LOG_FILE: &str = "qmd.log";

/// Maximum size of a log, in bytes; a longer one begins anew with the next process.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// Answers for the index in a folder until it is told to stop, nobody has asked for a while, or the index is gone or to be changed.
pub(super) fn keep(folder: &Path) -> anyhow::Result<Outcome> {
    let answer = |home: Home| {
        exit::after(async {
            let (stop, opened) = (exit::told()?, home.clone());
            let daemon = spawn_blocking(move || open(&opened)).await??;
            tell_starter(&Ok(()));
            // Else another was quicker.
            let Some(daemon) = daemon else { return Ok(true) };
            let is_over = move || home.is_lock_wanted() || is_unused(home.root(), SystemTime::now());
            let over = async {
                tokio::select! {
                    () = stop => {}
                    () = until(CHECK_INTERVAL, is_over) => {}
                }
            };
            Ok(daemon.run(over).await)
        })
    };
    let answered = Home::open(folder).map_err(anyhow::Error::from).and_then(answer);
    answered.inspect_err(|error| tell_starter::<()>(&Err(format!("{error:#}"))))
}

/// Opens an index; `None` where another process answers for it already.
fn open(home: &Home) -> anyhow::Result<Option<Daemon>> {
    let started = Instant::now();
    loop {
        match Daemon::start(home.clone(), Config::load(home.root())?, Serves::Locally) {
            Err(DaemonError::Home(HomeError::Held(_))) if Backend::daemon_of(home)?.is_some() => return Ok(None),
            // It is just being closed, or changed.
            Err(DaemonError::Home(HomeError::Held(_))) if started.elapsed() < CLOSES_WITHIN => {
                std::thread::sleep(LOOK_AGAIN);
            }
            opened => return Ok(Some(opened?)),
        }
    }
}

/// Starts this program as `qmd` in the background, and waits until that says that it serves; gives its id and what it says.
///
/// # Errors
/// When it cannot be started or serve.
pub(super) fn in_background<T: DeserializeOwned>(asked: impl FnOnce(&mut Command)) -> anyhow::Result<(u32, T)> {
    let all = indexes_folder()?;
    create_private_dir(&all)?;
    let log = all.join(LOG_FILE);
    if log.metadata().is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
        let _ = std::fs::remove_file(&log);
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&log);
    let mut command = Command::new(std::env::current_exe().context("cannot tell where this program is")?);
    // By its own name, or `qmd` would be taken for a command of qmd's where the program itself is called so. The keys of a terminal are not
    // for it.
    command.arg0("vault").arg("qmd").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file.map_or_else(|_| Stdio::null(), Stdio::from));
    command.current_dir(&all);
    asked(&mut command);
    let mut child = command.spawn().context("cannot start a process in the background")?;
    let (mut line, stdout) = (String::new(), child.stdout.take().context("the process has no output")?);
    BufReader::new(stdout).read_line(&mut line)?;
    let said: Result<T, String> = serde_json::from_str(&line)
        .with_context(|| format!("a process in the background ended; {} may say why", log.display()))?;
    Ok((child.id(), said.map_err(anyhow::Error::msg)?))
}

/// Tells whoever has started this process that it serves, or why it cannot: in a line.
pub(super) fn tell_starter<T: Serialize>(said: &Result<T, String>) {
    say!("{}", json!(said));
}

fn mark(folder: &Path) -> PathBuf {
    folder.join("asked")
}

/// Says that somebody has asked.
pub(super) fn touch(folder: &Path) {
    let options = File::options().write(true).create(true).truncate(false).open(mark(folder));
    // Where it cannot be said, the index is closed sooner, and the next command opens it again.
    drop(options.and_then(|file| file.set_modified(SystemTime::now())));
}

/// Whether nobody has asked for a while, as of a time, or the index is gone.
fn is_unused(folder: &Path, now: SystemTime) -> bool {
    let asked = mark(folder).metadata().and_then(|meta| meta.modified()).ok();
    let idle = asked.and_then(|asked| now.duration_since(asked).ok()).unwrap_or_default();
    idle > IDLE_TIMEOUT || !folder.join(FILE_NAME).exists()
}

/// Says so now and then from here on, so that the index is not closed for want of questions while this process lives.
pub(super) fn keep_open(folder: PathBuf) {
    std::thread::spawn(move || {
        loop {
            touch(&folder);
            std::thread::sleep(TOUCH_INTERVAL);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_closed_when_nobody_asks_for_ten_minutes_or_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE_NAME), "").unwrap();
        let (path, now) = (folder.path(), SystemTime::now());
        assert!(!is_unused(path, now), "it is new");
        touch(path);
        for (seconds, unused) in [(0, false), (590, false), (610, true)] {
            assert_eq!(is_unused(path, now + Duration::from_secs(seconds)), unused, "{seconds}");
        }
        std::fs::remove_file(path.join(FILE_NAME)).unwrap();
        assert!(is_unused(path, now));
    }
}
