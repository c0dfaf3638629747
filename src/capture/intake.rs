//! Takes events in: checks them, drops what is switched off, takes secrets out, and has the rest made safe on disk.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::check::{self, EventError};
use super::event::{Captured, Event, takes};
use super::forgotten::without_forgotten;
use super::kept::{FindPrivate, Kept};
use super::pages::{FindNote, Pages};
use super::queue::{Queue, sweep_at_rest};
use super::writer::CaptureWriter;
use crate::config::Switches;
use crate::fence::{is_of_recalled, without_fenced};
use crate::forgotten::ForgottenTexts;
use crate::fs::FsError;
use crate::path::VaultPath;
use crate::redact::redact;
use crate::state::{EventReader, ImportTable, State, StateError};
use crate::vault::{Files, Globs, WriteError};

/// Where captured events go.
pub(crate) struct Options {
    /// The vault's folder.
    pub root: PathBuf,
    /// What is not derived.
    pub state: Arc<State>,
    /// Who writes the notes.
    pub files: Arc<Files>,
    /// What is captured.
    pub switches: Arc<Switches>,
    /// What stays forgotten.
    pub forgotten: Arc<ForgottenTexts>,
    /// Finds notes by their title.
    pub find_note: FindNote,
    /// Finds what is private.
    pub find_private: FindPrivate,
    /// Notes that are private whatever they say themselves, by `[access] private`.
    pub private: Globs,
}

/// The capture of one vault at work, until it is dropped.
pub(crate) struct Capture {
    queue: Arc<Queue>,
    files: Arc<Files>,
    switches: Arc<Switches>,
    forgotten: Arc<ForgottenTexts>,
    imports: Arc<ImportTable>,
    failure: Arc<Mutex<Option<String>>>,
    writer: Option<JoinHandle<()>>,
}

/// What became of events that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// So many are safe on disk.
    pub accepted: usize,
    /// So many are switched off, or were there already.
    pub ignored: usize,
}

/// What became of events of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ImportedEvents {
    /// New ones.
    pub(super) added: usize,
    /// Those that came before.
    pub(super) existing: usize,
    /// What was forgotten for good.
    pub(super) forgotten: usize,
    /// Of which nothing is left without what was recalled.
    pub(super) empty: usize,
}

/// Why events were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CaptureError {
    /// They are not right.
    #[error(transparent)]
    Invalid(#[from] EventError),
    /// They cannot be kept now. Later they may be.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StateError> for CaptureError {
    fn from(error: StateError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// How the capture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaptureStatus {
    /// Events that are not in their files yet.
    pub pending: u64,
    /// Why they are not, or what else is wrong.
    pub failure: Option<String>,
}

impl Capture {
    /// Opens what was pending, and begins to write it into the vault.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(options: Options) -> Result<Self, FsError> {
        let Options { root, state, files, switches, forgotten, find_note, find_private, private } = options;
        let imports = Arc::new(ImportTable::new(&state));
        let queue = Arc::new(Queue::open(root.clone(), &state, Arc::clone(&switches)));
        let failure = Arc::default();
        let writer = CaptureWriter {
            root,
            events: EventReader::new(&state),
            files: Arc::clone(&files),
            switches: Arc::clone(&switches),
            queue: Arc::clone(&queue),
            pages: Pages::new(TimeZone::system(), find_note, Kept::new(find_private, private)),
            forgotten: Arc::clone(&forgotten),
            imports: Arc::clone(&imports),
            failure: Arc::clone(&failure),
        };
        let thread = std::thread::Builder::new().name("capture".into());
        let writer = thread.spawn(move || writer.run()).map_err(|source| FsError {
            operation: "start a thread for",
            path: state.file().to_owned(),
            source,
        })?;
        Ok(Self { queue, files, switches, forgotten, imports, failure, writer: Some(writer) })
    }

    /// Takes one event or an array of them. When it returns they are safe on disk; none is, when one is not right. `sender`
    /// tells the ids of different programs apart.
    ///
    /// # Errors
    /// When an event is not right, or the disk refuses.
    pub(crate) fn take(&self, body: Value, sender: &str) -> Result<Accepted, CaptureError> {
        let mut events = check::read(body, sender, Timestamp::now())?;
        let sent = events.len();
        let config = self.switches.capture();
        events.retain(|event| takes(&config, event.event.kind()));
        prepare(&mut events, config.redact);
        if events.is_empty() {
            return Ok(Accepted { accepted: 0, ignored: sent });
        }
        self.check(&events)?;
        match self.queue.append(&events) {
            Ok(appended) => Ok(Accepted { accepted: appended.accepted, ignored: sent - appended.accepted }),
            Err(refused) => Err(CaptureError::Unavailable(refused.to_string())),
        }
    }

    /// Takes events of an import, each once for good; with none it is only said what would be taken. When it returns they are safe on disk.
    ///
    /// # Errors
    /// When an event is not right, its kind is switched off, or the disk refuses.
    pub(super) fn take_imported(&self, body: Value, import: Option<i64>) -> Result<ImportedEvents, CaptureError> {
        let mut events = check::read(body, "", Timestamp::now())?;
        let config = self.switches.capture();
        if let Some(off) = events.iter().map(|event| event.event.kind()).find(|kind| !takes(&config, *kind)) {
            return Err(EventError::is_off(off.folder()).into());
        }
        let sent = events.len();
        prepare(&mut events, config.redact);
        let mut taken = ImportedEvents { empty: sent - events.len(), ..ImportedEvents::default() };
        let asked = self.forgotten.look()?;
        let mut told_of = BTreeSet::new();
        events.retain_mut(|event| {
            event.import = import;
            let left = without_forgotten(&asked, event);
            let Some(left) = left.filter(|left| left.captured.is_none()) else { return true };
            taken.forgotten += 1;
            if let Event::Message(message) = &event.event {
                told_of.insert(message.session.clone());
            }
            if import.is_some() {
                self.forgotten.note(&event.by(), event.event.kind().folder(), true, left.tombstone);
            }
            false
        });
        // The title of a conversation may tell what was forgotten of it.
        for event in &mut events {
            if let Event::Message(message) = &mut event.event
                && told_of.contains(&message.session)
            {
                message.title = None;
            }
        }
        if import.is_none() {
            let keys: Vec<u64> = events.iter().filter_map(|event| event.key).collect();
            taken.existing = self.imports.known(&keys)?.into_iter().filter(|known| *known).count();
            taken.added = events.len() - taken.existing;
            return Ok(taken);
        }
        if !events.is_empty() {
            self.check(&events)?;
            let appended =
                self.queue.append(&events).map_err(|refused| CaptureError::Unavailable(refused.to_string()))?;
            (taken.added, taken.existing) = (appended.accepted, appended.doubles);
        }
        Ok(taken)
    }

    /// What is known of imports.
    pub(super) fn imports(&self) -> &ImportTable {
        &self.imports
    }

    /// What could not be written is not taken either: nobody would hear of it.
    fn check(&self, events: &[Captured]) -> Result<(), CaptureError> {
        for kind in events.iter().map(|event| event.event.kind()).collect::<BTreeSet<_>>() {
            let folder = kind.folder();
            // A name that no event has.
            let Ok(path) = VaultPath::new(format!("{folder}/-.md")) else { continue };
            if let Err(WriteError::Refused { reason, .. }) = self.files.check(&path) {
                return Err(CaptureError::Unavailable(format!("nothing can be written into `{folder}`: {reason}")));
            }
        }
        Ok(())
    }

    /// Takes what is in its files, and what is switched off, off the disk; gives how many events still wait there.
    /// What was sent a moment ago is about to be in its file: it is waited for.
    ///
    /// # Errors
    /// When the disk refuses. It is tried again.
    pub(crate) fn sweep(&self, patience: Duration) -> Result<u64, CaptureError> {
        let waiting = self.queue.settle(patience);
        self.queue.sweep(true).map(|()| waiting).map_err(|refused| CaptureError::Unavailable(refused.to_string()))
    }

    /// The same for a vault that no capture is at work on, whose lock the caller has.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn sweep_at_rest(state: &Arc<State>, switches: &Switches) -> Result<u64, CaptureError> {
        let swept = sweep_at_rest(state, &switches.capture());
        swept.map_err(|error| CaptureError::Unavailable(error.to_string()))
    }

    /// How many events of a vault wait, whoever is at work on it.
    pub(crate) fn waiting(state: &Arc<State>) -> u64 {
        EventReader::new(state).count().unwrap_or(0)
    }

    /// How it is.
    pub(crate) fn status(&self) -> CaptureStatus {
        let pending = self.queue.pending();
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // What waited may have been switched off since the writer was told why it has to.
        let failure = failure.filter(|_| pending > 0);
        CaptureStatus { pending, failure }
    }
}

/// Takes out what was recalled, which is known already and would come back as if somebody had said it, and secrets.
fn prepare(events: &mut Vec<Captured>, redacts: bool) {
    for event in events.iter_mut() {
        let Event::Message(message) = &mut event.event else { continue };
        if let std::borrow::Cow::Owned(said) = without_fenced(&message.text) {
            // The first line may be indented code.
            let said = said.trim_end().trim_start_matches('\n');
            message.text = if said.trim().is_empty() { String::new() } else { said.to_owned() };
        }
        // Programs name a conversation by how its first message begins.
        message.title = message.title.take().filter(|title| !is_of_recalled(title));
    }
    events.retain(|event| !matches!(&event.event, Event::Message(message) if message.text.is_empty()));
    for (_, _, text) in events.iter_mut().filter(|_| redacts).flat_map(|event| event.event.texts()) {
        if let std::borrow::Cow::Owned(redacted) = redact(text) {
            *text = redacted;
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.queue.close();
        let _ = self.writer.take().map(JoinHandle::join);
        let _ = self.queue.sweep(false);
    }
}
