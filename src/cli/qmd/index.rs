//! An index, opened for one command, and the way to the process that answers for it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::keep;
use crate::cli::client::{Client, PATIENCE};
use crate::cli::terminal::remark;
use crate::qmd::{AGENT, IndexPlace, QmdCollections, QmdDocuments};
use crate::vault::{Home, HomeError};

/// Maximum time for the process to be there, and for one to end.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// Maximum time that files are waited for which it has not read yet.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(60);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// An index.
pub(super) struct QmdIndex {
    pub(super) place: IndexPlace,
    pub(super) collections: QmdCollections,
    pub(super) documents: QmdDocuments,
}

impl QmdIndex {
    /// Opens an index; one that is new takes over what a QMD has left.
    pub(super) fn open(place: IndexPlace) -> anyhow::Result<Self> {
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

    /// Changes the collections: the process that answers ends for it, and the next starts with the new ones.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut QmdCollections) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let home = Home::open(&self.place.folder)?;
        let started = Instant::now();
        let lock = loop {
            match home.lock() {
                Err(HomeError::Held(_)) if started.elapsed() < STARTS_WITHIN => {
                    home.want_lock()?;
                    std::thread::sleep(LOOK_AGAIN);
                }
                lock => break lock?,
            }
        };
        // As they are now that nobody else changes them.
        let mut collections = QmdCollections::load(&self.place)?.unwrap_or_default();
        change(&mut collections)?;
        let documents = QmdDocuments::open(&self.place, &collections)?;
        collections.save(&self.place)?;
        (self.collections, self.documents) = (collections, documents);
        drop(lock);
        Ok(())
    }

    /// A connection to the process that answers, which is started where there is none; as the agent that sees no private note.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        let home = Home::open(&self.place.folder)?;
        keep::touch(&self.place.folder);
        if let Some(mut client) = connect(&home)? {
            client.ask_as(Some(AGENT));
            return Ok(client);
        }
        let mut client = self.start(&home)?;
        self.catch_up(&mut client)?;
        client.ask_as(Some(AGENT));
        Ok(client)
    }

    fn start(&self, home: &Home) -> anyhow::Result<Client> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let mut command = Command::new(program);
        command.args(["qmd", "keep"]).arg(&self.place.folder).current_dir(&self.place.folder);
        // The model is unpacked once for all indexes, wherever each has its cache.
        command.env_remove("XDG_CACHE_HOME").env_remove("VAULT_DIR");
        // The keys of a terminal are not for it.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the process that answers")?;
        let started = Instant::now();
        loop {
            if let Some(client) = connect(home)? {
                return Ok(client);
            }
            if started.elapsed() > STARTS_WITHIN {
                bail!(
                    "the process that answers for this index does not start; `vault serve --vault {}` says why",
                    self.place.folder.display()
                );
            }
            match child.try_wait() {
                Ok(Some(status)) if !status.success() => bail!(
                    "the process that answers for this index cannot start; `vault serve --vault {}` says why",
                    self.place.folder.display()
                ),
                // It found another at work, which may have been about to end.
                Ok(Some(_)) => {
                    std::thread::sleep(LOOK_AGAIN);
                    if let Some(client) = connect(home)? {
                        return Ok(client);
                    }
                    child = command.spawn().context("cannot start the process that answers")?;
                }
                _ => {}
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// What the process says of itself.
    pub(super) fn status(&self, client: &mut Client) -> anyhow::Result<Value> {
        client.ask_as(None);
        let status = client.get("/status", &());
        client.ask_as(Some(AGENT));
        status
    }

    /// Waits until all files can be found by their words.
    pub(super) fn catch_up(&self, client: &mut Client) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            let status = self.status(client)?;
            if let Some(failure) = status["failure"].as_str() {
                bail!("{failure}");
            }
            if status["caught_up"] == true && status["pending_files"] == 0 {
                return Ok(());
            }
            if started.elapsed() > CATCHES_UP_WITHIN {
                remark!("qmd: {} files are not read yet; they are found as soon as they are", status["pending_files"]);
                return Ok(());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn connect(home: &Home) -> anyhow::Result<Option<Client>> {
    match home.daemon() {
        Some(daemon) => Client::connect(&daemon.socket, PATIENCE),
        None => Ok(None),
    }
}
