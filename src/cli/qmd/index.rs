//! An index, opened for one command, and the process in the background that answers for all indexes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use crate::access::request::{ErrorKind, RequestError};
use crate::base::config::FILE_NAME;
use crate::base::fs::create_private_dir;
use crate::cli::backend::{Backend, PATIENCE};
use crate::cli::exit;
use crate::cli::terminal::{Outcome, remark};
use crate::serve::api::{Endpoint, Input};
use crate::serve::daemon::{HostAnswer, HostOptions, HostRequest, VaultHost, ask_host};
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

    /// A connection to the process that answers, which opens the index where it is not. Where the process is gone by the time it is asked,
    /// another is started.
    ///
    /// # Errors
    /// When it cannot be started, or the index cannot be opened.
    pub(super) fn client(&self) -> anyhow::Result<Backend> {
        let folder = self.place.folder.clone();
        let home = Home::open(&folder)?;
        touch(&folder);
        let mut client = match connect(&home)? {
            Some(client) => client,
            None => started(&folder)?,
        };
        client.reconnect_by(move || started(&folder).map(Some));
        Ok(client)
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

/// Has the index in a folder opened, and waits until it has read its files.
fn started(folder: &Path) -> anyhow::Result<Backend> {
    let home = Home::open(folder)?;
    for _ in 0..OPENED_AT_MOST {
        open_in_process(folder)?;
        // It may be closed in this moment, for whoever changes its collections.
        if let Some(mut client) = connect(&home)? {
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

fn connect(home: &Home) -> anyhow::Result<Option<Backend>> {
    home.daemon().map_or(Ok(None), |daemon| Backend::connect(&daemon.socket, PATIENCE))
}

/// Idle timeout after which an index that gets no command is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Grace period for which the process goes on without an index: one whose collections are changed is opened again in a
/// moment.
const LINGER_PERIOD: Duration = Duration::from_secs(5);

/// Interval at which whoever stays says that it is still there.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum time for the process to be there, and for an index to be opened.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

const LOG_FILE: &str = "host.log";

/// Maximum size of a log, in bytes; a longer one begins anew with the next process.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// Answers for all indexes until it is told to stop, or none is open any more.
pub(super) fn keep() -> anyhow::Result<Outcome> {
    let options = HostOptions {
        folder: indexes_folder()?,
        is_unused: Arc::new(|folder| is_unused(folder, SystemTime::now())),
        lingers: LINGER_PERIOD,
    };
    exit::after(async {
        let stop = exit::told()?;
        match VaultHost::start(options).await? {
            Some(host) => Ok(host.run(stop).await),
            // Another was quicker.
            None => Ok(true),
        }
    })
}

/// Has the index in a folder opened by the process that answers for all; it is started where there is none.
///
/// # Errors
/// When the process cannot be started, or the index cannot be opened.
pub(super) fn open_in_process(folder: &Path) -> anyhow::Result<()> {
    let all = indexes_folder()?;
    let (socket, started) = (HostOptions::socket(&all), Instant::now());
    let (mut child, log): (Option<Child>, _) = (None, all.join(LOG_FILE).display().to_string());
    loop {
        let answer = ask_host(&socket, &HostRequest::Open(folder.to_owned()), STARTS_WITHIN);
        match answer.context("the process that answers for the indexes is stopped or stuck: end it, and ask again")? {
            Some(HostAnswer::Opened) => return Ok(()),
            Some(HostAnswer::Refused(why)) => bail!("{why}"),
            Some(HostAnswer::Ending | HostAnswer::Status(_)) => {}
            None => {
                let ended = child.as_mut().map(Child::try_wait).transpose()?.flatten();
                if ended.is_some_and(|status| !status.success()) {
                    bail!("the process that answers for the indexes cannot start; {log} says why");
                }
                if child.is_none() || ended.is_some() {
                    child = Some(start_process(&all)?);
                }
            }
        }
        if started.elapsed() > STARTS_WITHIN {
            bail!("the process that answers for the indexes does not start; {log} may say why");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// This program, to be started in the background, with a log of what it says.
pub(super) fn background(log: std::io::Result<File>) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("cannot tell where this program is")?);
    // The keys of a terminal are not for it.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.map_or_else(|_| Stdio::null(), Stdio::from));
    Ok(command)
}

fn start_process(all: &Path) -> anyhow::Result<Child> {
    create_private_dir(all)?;
    let log = all.join(LOG_FILE);
    if log.metadata().is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
        let _ = std::fs::remove_file(&log);
    }
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log);
    let mut command = background(log)?;
    // By its own name, or `qmd` would be taken for a command of qmd's where the program itself is called so.
    command.arg0("vault").args(["qmd", "keep"]).current_dir(all);
    // The model is unpacked once for all indexes, wherever each has its cache.
    command.env_remove("XDG_CACHE_HOME").env_remove("VAULT_DIR");
    command.spawn().context("cannot start the process that answers for the indexes")
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
