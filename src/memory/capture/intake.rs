//! Takes events in: checks them, drops what is switched off, takes secrets out, and has the rest made safe on disk. And the tokens of programs
//! that say what happens, and read nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::event::{Captured, Event, FOLDERS, check_taken, read, takes};
use super::pages::Pages;
use super::private::{PrivacyCarryover, without_forgotten};
use super::queue::{CaptureWriter, Queue, sweep_at_rest};
use crate::access::request::{EventSender, Owner, RequestError, SweepPending, WorkspaceParts};
use crate::access::rules::{Authenticator, Principal, Token};
use crate::base::config::{CaptureConfig, ConfigError};
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::base::state::{EventReader, State, StateError, TokenRow, TokenTable};
use crate::serve::wire::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted, ImportTaken};
use crate::vault::disk::{Files, Globs, WriteError};

/// What a program does that could not send its events, and whoever could not import.
const SEND_AGAIN: &str = "nothing was stored; send it again later";
const IMPORT_AGAIN: &str = "the earlier part is stored; import it again";

/// The capture of one vault at work, until it is dropped.
pub(crate) struct Capture {
    pub(super) queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

/// What leaves nothing of captured events but in their files: of a capture at work, or of a vault that nobody serves, whose events wait in its
/// state.
pub(crate) fn pending(capture: Option<Arc<Capture>>, parts: &WorkspaceParts) -> SweepPending {
    let (state, switches) = (Arc::clone(&parts.state), Arc::clone(&parts.switches));
    Box::new(move |patience| match &capture {
        // What was sent a moment ago is about to be in its file: it is waited for.
        Some(capture) => {
            let waiting = capture.queue.settle(patience);
            capture.queue.sweep(true).map(|()| waiting)
        }
        None => sweep_at_rest(&state, &switches.capture()).map_err(|error| error.to_string()),
    })
}

impl Capture {
    /// Opens what was pending, and begins to write it into the vault. Notes are private by `private` whatever they say themselves.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(parts: &WorkspaceParts, files: &Arc<Files>, private: Globs) -> Result<Self, FsError> {
        let queue = Arc::new(Queue::open(parts, files));
        let kept = PrivacyCarryover { shared: Arc::clone(&parts.shared), globs: private };
        let writer = CaptureWriter {
            events: EventReader::new(&parts.state),
            queue: Arc::clone(&queue),
            pages: Pages::new(TimeZone::system(), kept),
        };
        let thread = std::thread::Builder::new().name("capture".into());
        let writer = thread.spawn(move || writer.run()).map_err(|source| FsError {
            operation: "start a thread for",
            path: parts.state.file().to_owned(),
            source,
        })?;
        Ok(Self { queue, writer: Some(writer) })
    }

    /// Takes events of an import, each once for good; with none it is only said what would be taken. When it returns they are safe on disk.
    ///
    /// # Errors
    /// When an event is not right, its kind is switched off, or the disk refuses.
    pub(super) fn take_imported(&self, body: Value, import: Option<i64>) -> Result<ImportTaken, RequestError> {
        let (mut events, sent) = read(body, None, Timestamp::now())?;
        let config = self.queue.switches.capture();
        events.iter().try_for_each(|event| check_taken(&config, event.event.folder()))?;
        let mut taken = ImportTaken { empty: sent - events.len(), ..ImportTaken::default() };
        without_secrets(&mut events, config.redact);
        let asked = self.queue.forgotten.look()?;
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
                self.queue.forgotten.note(&event.by(), event.event.folder(), true, left.tombstone);
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
            let known = self.queue.imports.known(&keys)?;
            taken.existing = known.into_iter().filter(|known| *known).count();
            taken.added = events.len() - taken.existing;
        } else {
            taken.added = self.append(&events, IMPORT_AGAIN)?;
            taken.existing = events.len() - taken.added;
        }
        Ok(taken)
    }

    /// Has events be safe on disk; gives how many were new. What could not be written is not taken either: nobody would hear of it.
    fn append(&self, events: &[Captured], again: &str) -> Result<usize, RequestError> {
        if events.is_empty() {
            return Ok(0);
        }
        for folder in events.iter().map(|event| event.event.folder()).collect::<BTreeSet<_>>() {
            // A name that no event has.
            let Ok(path) = VaultPath::new(format!("{folder}/-.md")) else { continue };
            if let Err(WriteError::Refused { reason, .. }) = self.queue.files.check(&path) {
                let reason = format!("nothing can be written into `{folder}`: {reason}");
                return Err(RequestError::unavailable(reason, again));
            }
        }
        self.queue.append(events).map_err(|refused| RequestError::unavailable(refused, again))
    }

    /// How it is: how many events are not in their files yet, and why not.
    pub(crate) fn state(&self) -> CaptureState {
        let progress = self.queue.progress();
        let pending = usize::try_from(progress.pending()).unwrap_or(usize::MAX);
        // What waited may have been switched off since the writer was told why it has to.
        CaptureState { pending, failure: progress.failure.filter(|_| pending > 0) }
    }
}

/// Takes secrets out.
fn without_secrets(events: &mut [Captured], redacts: bool) {
    for event in events.iter_mut().filter(|_| redacts) {
        event.event.change_texts(|_, text| {
            if let Cow::Owned(redacted) = redact(text) {
                *text = redacted;
            }
        });
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.queue.close();
        let _ = self.writer.take().map(JoinHandle::join);
        let _ = self.queue.sweep(false);
    }
}

/// Takes one event or an array of them. When it returns those accepted are safe on disk; none is when one is not right.
///
/// # Errors
/// When an event is not right, or none can be kept now.
pub(crate) fn accept(capture: &Capture, sender: &EventSender, body: Value) -> Result<EventsAccepted, RequestError> {
    let (mut events, sent) = read(body, Some(&sender.name), Timestamp::now())?;
    let config = capture.queue.switches.capture();
    events.retain(|event| takes(&config, event.event.folder()));
    without_secrets(&mut events, config.redact);
    let accepted = capture.append(&events, SEND_AGAIN)?;
    Ok(EventsAccepted { ok: true, accepted, ignored: sent - accepted })
}

/// What is captured.
pub(crate) fn settings(owner: &Owner) -> CaptureSettings {
    shown(&owner.workspace().switches.capture())
}

/// Changes what is captured, in `memory.toml` and from now on.
///
/// # Errors
/// When `memory.toml` cannot be read or written, or is not right as it is.
pub(crate) fn set_settings(owner: &Owner, params: &CaptureSettingsParams) -> Result<CaptureSettings, RequestError> {
    let params = json!(params);
    let switches = params.as_object().into_iter().flatten();
    let switches = switches.filter_map(|(name, on)| Some((name.strip_prefix("capture_")?, on.as_bool()?)));
    let switches: Vec<(&str, bool)> = switches.collect();
    let now = owner.workspace().switches.set(&switches).map_err(|error| match error {
        ConfigError::Fs(error) => RequestError::unavailable(error.to_string(), "nothing was changed"),
        error => RequestError::invalid(format!("{error}. Correct this first; nothing was changed")),
    })?;
    if switches.iter().any(|(_, on)| !on)
        && let Err(error) = owner.workspace().sweep_pending(Duration::ZERO)
    {
        tracing::warn!("what waits and is switched off now is dropped later: {error}");
    }
    Ok(shown(&now))
}

fn shown(config: &CaptureConfig) -> CaptureSettings {
    let switch = |folder: &str| (format!("capture_{}", folder.replace('-', "_")), takes(config, folder).into());
    let switches: Map<String, Value> = FOLDERS.into_iter().map(switch).collect();
    serde_json::from_value(switches.into()).expect("each folder has a switch")
}

/// The tokens of one vault, kept as hashes.
#[derive(Debug)]
pub(crate) struct CaptureTokens(TokenTable);

impl CaptureTokens {
    /// Those of a vault's state.
    pub(crate) fn new(state: &Arc<State>) -> Self {
        Self(TokenTable::new(state))
    }

    /// Makes a token for a program. It is shown this once.
    ///
    /// # Errors
    /// When the name is taken or is none, or the disk refuses.
    pub(crate) fn add(&self, name: &str) -> Result<Token, RequestError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
            let takes = "use up to 40 letters, digits, `-`, `_` and `.`";
            return Err(RequestError::invalid(format!("`{name}` cannot be the name of a program: {takes}")));
        }
        let random = |error| RequestError::internal(format!("cannot get random numbers from the system: {error}"));
        let token = Token::random().map_err(random)?;
        let row = TokenRow { name: name.to_owned(), created_at: Timestamp::now(), hash: token.hash() };
        let exists = || format!("the token `{name}` already exists; `vault token remove {name}` revokes it");
        self.0.add(&row)?.then_some(token).ok_or_else(|| RequestError::conflict(exists()))
    }

    /// Takes a token back: it counts no more, from this moment.
    ///
    /// # Errors
    /// When there is none of that name, or the disk refuses.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RequestError> {
        let absent = || format!("there is no token `{name}`; `vault token list` lists all tokens");
        self.0.remove(name)?.then_some(()).ok_or_else(|| RequestError::invalid(absent()))
    }

    /// All of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<TokenRow>, StateError> {
        self.0.list()
    }
}

impl Authenticator for CaptureTokens {
    /// While they cannot be read, nobody has one.
    fn holder(&self, token: &blake3::Hash) -> Option<Principal> {
        let holder = self.0.holder(token).inspect_err(|error| tracing::warn!("{error}"));
        Some(Principal::Capture(holder.ok().flatten()?.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let (ours, others) = (CaptureTokens::new(&state), CaptureTokens::new(&State::in_folder(folder.path())));
        let token = others.add("browser").unwrap();
        assert!(matches!(ours.holder(&token.hash()), Some(Principal::Capture(name)) if name == "browser"));
        assert!(ours.holder(&Token::from_text("x").hash()).is_none());
        assert!(others.add("browser").is_err_and(|error| error.message.contains("already exists")));
        for bad in ["", "a b", "../x", "ä", &"x".repeat(41)] {
            assert!(others.add(bad).is_err_and(|error| error.message.contains("cannot be the name")), "{bad}");
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(token.reveal()));
        }
        others.remove("browser").unwrap();
        assert!(others.remove("browser").is_err_and(|error| error.message.contains("there is no token")));
        assert!(ours.holder(&token.hash()).is_none());
    }

    #[test]
    fn tokens_that_cannot_be_read_let_nobody_in_and_new_ones_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let token = CaptureTokens::new(&state).add("browser").unwrap();
        std::fs::write(state.file(), "{").unwrap();
        let tokens = CaptureTokens::new(&state);
        assert!(tokens.holder(&token.hash()).is_none());
        assert!(state.trouble().is_some_and(|trouble| trouble.contains("state.db.damaged")), "{:?}", state.trouble());
        assert_eq!(std::fs::read(state.put_aside().unwrap()).unwrap(), b"{");
        let token = tokens.add("browser").unwrap();
        assert!(matches!(tokens.holder(&token.hash()), Some(Principal::Capture(name)) if name == "browser"));
    }
}
