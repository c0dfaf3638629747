//! An index, opened for one command, and the way to the process that answers for it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::keep;
use crate::cli::client::{Client, PATIENCE};
use crate::cli::terminal::remark;
use crate::qmd::{AGENT, IndexPlace, QmdCollections, QmdDocuments};
use crate::request::{ErrorKind, RequestError};
use crate::vault::{Home, HomeError};

/// Maximum time for the index to be closed.
const CLOSES_WITHIN: Duration = Duration::from_secs(20);

/// Maximum number of times that it is opened for one command.
const OPENED_AT_MOST: usize = 10;

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

    /// Changes the collections: the process that answers closes the index for it, and opens it next with the new ones.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut QmdCollections) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
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
        change(&mut collections)?;
        let documents = QmdDocuments::open(&self.place, &collections)?;
        collections.save(&self.place)?;
        (self.collections, self.documents) = (collections, documents);
        drop(lock);
        Ok(())
    }

    /// A connection to the process that answers, as [`client`] makes it.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        client(&self.place)
    }

    /// Asks with `GET`, as the agent. Where the index is just being opened, for another command, it is waited for.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        client: &mut Client,
        path: &str,
        params: &impl Serialize,
    ) -> anyhow::Result<T> {
        let is_early = |error: &anyhow::Error| {
            error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::Unavailable)
        };
        match client.get(path, params) {
            Err(error) if is_early(&error) => {
                self.catch_up(client)?;
                client.get(path, params)
            }
            answer => answer,
        }
    }

    /// Waits until all files can be found by their words.
    pub(super) fn catch_up(&self, client: &mut Client) -> anyhow::Result<()> {
        client.ask_as(None);
        let caught_up = catch_up(client);
        client.ask_as(Some(AGENT));
        caught_up
    }
}

/// A connection to the process that answers, which opens the index where it is not; as the agent that sees no private note. Where the
/// process is gone by the time it is asked, another is started.
///
/// # Errors
/// When it cannot be started, or the index cannot be opened.
pub(super) fn client(place: &IndexPlace) -> anyhow::Result<Client> {
    let folder = place.folder.clone();
    let home = Home::open(&folder)?;
    keep::touch(&folder);
    let mut client = match connect(&home)? {
        Some(client) => client,
        None => started(&folder)?,
    };
    client.reconnect_by(move || started(&folder).map(Some));
    client.ask_as(Some(AGENT));
    Ok(client)
}

/// What the process says of itself, asked as the person.
///
/// # Errors
/// When it does not answer.
pub(super) fn process_status(client: &mut Client) -> anyhow::Result<Value> {
    client.ask_as(None);
    let status = client.get("/status", &());
    client.ask_as(Some(AGENT));
    status
}

/// Has the index in a folder opened, and waits until it has read its files.
fn started(folder: &Path) -> anyhow::Result<Client> {
    let home = Home::open(folder)?;
    for _ in 0..OPENED_AT_MOST {
        keep::open(folder)?;
        // It may be closed in this moment, for whoever changes its collections.
        if let Some(mut client) = connect(&home)? {
            catch_up(&mut client)?;
            return Ok(client);
        }
    }
    bail!("the index is closed as soon as it is open; ask again in a moment")
}

/// Waits until all files can be found by their words, asked as the person.
fn catch_up(client: &mut Client) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let status: Value = client.get("/status", &())?;
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

fn connect(home: &Home) -> anyhow::Result<Option<Client>> {
    match home.daemon() {
        Some(daemon) => Client::connect(&daemon.socket, PATIENCE),
        None => Ok(None),
    }
}
