//! What an import reads, handed over in pieces.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use super::backend::Backend;
use crate::api::endpoints;
use crate::imports::ImportItem;
use crate::request::{ErrorKind, RequestError};
use crate::wire::{ImportNote, ImportParams, ImportTaken};

/// Events and notes that are handed over at a time, and their bytes as JSON: a request may have a mebibyte.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 700 << 10;
/// Reasons why something was refused that are told apart.
const MOST_REASONS: usize = 20;
/// While more events wait for their files, no more are handed over.
const MOST_PENDING: usize = 20_000;
/// Interval at which it is asked how many wait.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Hands over what is read.
pub(super) struct Sending {
    backend: Backend,
    base: ImportParams,
    events: Vec<Value>,
    notes: Vec<ImportNote>,
    bytes: usize,
    /// What came of it.
    pub(super) taken: ImportTaken,
    /// What was refused, with the reason.
    pub(super) refused: BTreeMap<String, usize>,
}

impl Sending {
    /// Of an import as `base` says it.
    pub(super) fn new(backend: Backend, base: ImportParams) -> Self {
        Self {
            backend,
            base,
            events: Vec::new(),
            notes: Vec::new(),
            bytes: 0,
            taken: ImportTaken::default(),
            refused: BTreeMap::new(),
        }
    }

    /// So many events and notes were new so far.
    pub(super) fn taken_so_far(&self) -> usize {
        self.taken.added + self.taken.updated
    }

    /// Hands over what has gathered. The import stays open: what follows is undone with it.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        self.send(false)
    }

    /// Takes what was read, to be handed over with what follows.
    pub(super) fn add(&mut self, item: ImportItem) -> anyhow::Result<()> {
        let length = match &item {
            ImportItem::Event(event) => event.to_string().len(),
            ImportItem::Note(note) => serde_json::to_string(note)?.len(),
        };
        if self.bytes + length > BATCH_BYTES || self.events.len() + self.notes.len() >= BATCH {
            self.send(false)?;
        }
        self.bytes += length + 1;
        match item {
            ImportItem::Event(event) => self.events.push(event),
            ImportItem::Note(note) => self.notes.push(note),
        }
        Ok(())
    }

    /// Hands over what has gathered, and waits while too much is on its way.
    fn send(&mut self, done: bool) -> anyhow::Result<()> {
        let (events, notes) = (std::mem::take(&mut self.events), std::mem::take(&mut self.notes));
        self.bytes = 0;
        let piece = ImportParams { import: self.taken.import, done, events, notes, ..self.base.clone() };
        match self.backend.ask(&endpoints::import::IMPORT, &piece.clone()) {
            Ok(taken) => self.count(&taken),
            Err(error) if is_invalid(&error) && piece.events.len() + piece.notes.len() > 0 => self.one_by_one(piece)?,
            Err(error) => return Err(error),
        }
        while self.taken.pending > MOST_PENDING {
            self.wait()?;
        }
        Ok(())
    }

    /// What is refused keeps nothing else.
    fn one_by_one(&mut self, piece: ImportParams) -> anyhow::Result<()> {
        let ImportParams { events, notes, done, .. } = piece;
        let events = events.into_iter().map(|event| (vec![event], Vec::new()));
        for (events, notes) in events.chain(notes.into_iter().map(|note| (Vec::new(), vec![note]))) {
            let piece = ImportParams { import: self.taken.import, events, notes, ..self.base.clone() };
            match self.backend.ask(&endpoints::import::IMPORT, &piece) {
                Ok(taken) => self.count(&taken),
                Err(error) if is_invalid(&error) => self.refuse(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let last = ImportParams { import: self.taken.import, done, ..self.base.clone() };
        let taken = self.backend.ask(&endpoints::import::IMPORT, &last)?;
        self.count(&taken);
        Ok(())
    }

    /// Counts by the reason, as far as there are few.
    fn refuse(&mut self, reason: String) {
        let is_new = !self.refused.contains_key(&reason);
        let reason = if is_new && self.refused.len() >= MOST_REASONS { "for other reasons".into() } else { reason };
        *self.refused.entry(reason).or_default() += 1;
    }

    fn count(&mut self, taken: &ImportTaken) {
        let all = &mut self.taken;
        all.import = taken.import.or(all.import);
        all.added += taken.added;
        all.updated += taken.updated;
        all.existing += taken.existing;
        all.forgotten += taken.forgotten;
        all.edited += taken.edited;
        all.empty += taken.empty;
        all.went_on |= taken.went_on;
        (all.undoable, all.pending, all.failure) = (taken.undoable, taken.pending, taken.failure.clone());
    }

    /// Asks how many wait, after a while.
    fn wait(&mut self) -> anyhow::Result<()> {
        if let Some(failure) = &self.taken.failure {
            bail!("what was imported is safe, and waits for its files: {failure}");
        }
        std::thread::sleep(POLL_INTERVAL);
        let empty = ImportParams { import: self.taken.import, ..self.base.clone() };
        let taken = self.backend.ask(&endpoints::import::IMPORT, &empty)?;
        self.count(&taken);
        Ok(())
    }

    /// Hands over what is left, waits until it is in its files, and says that this is all: killed before, it is gone on with.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.send(false)?;
        while !self.base.dry_run && self.taken.pending > 0 {
            self.wait()?;
        }
        self.send(true)
    }
}

fn is_invalid(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::Invalid)
}
