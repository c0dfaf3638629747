//! The use cases of what programs send in, and of what is kept of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::intake::{Capture, CaptureError};
use crate::config::{CaptureConfig, ConfigError, Switches};
use crate::request::{EventSender, Owner, PendingEvents, RequestError};
use crate::state::State;
use crate::wire::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted};

/// Events of a vault that nobody serves: they wait in the vault's state.
pub(crate) struct AtRest {
    /// The vault's state.
    pub state: Arc<State>,
    /// What is captured.
    pub switches: Arc<Switches>,
}

impl PendingEvents for AtRest {
    fn sweep(&self, _: Duration) -> Result<u64, String> {
        Capture::sweep_at_rest(&self.state, &self.switches).map_err(|error| error.to_string())
    }
}

impl PendingEvents for Capture {
    fn sweep(&self, patience: Duration) -> Result<u64, String> {
        Self::sweep(self, patience).map_err(|error| error.to_string())
    }
}

/// Takes one event or an array of them. When it returns those accepted are safe on disk; none is when one is not right.
///
/// # Errors
/// When an event is not right, or none can be kept now.
pub(crate) fn accept(capture: &Capture, sender: &EventSender, body: Value) -> Result<EventsAccepted, RequestError> {
    let taken = capture.take(body, sender.name());
    taken.map(|taken| EventsAccepted { ok: true, accepted: taken.accepted, ignored: taken.ignored }).map_err(|error| {
        match error {
            CaptureError::Invalid(error) => RequestError::invalid(error.to_string()),
            CaptureError::Unavailable(reason) => {
                RequestError::unavailable(reason, "nothing of it was taken: send it again later")
            }
        }
    })
}

/// What is captured.
pub(crate) fn settings(owner: &Owner) -> CaptureSettings {
    shown(&owner.workspace().switches().capture())
}

/// Changes what is captured, in `memory.toml` and from now on.
///
/// # Errors
/// When `memory.toml` cannot be read or written, or is not right as it is.
pub(crate) fn set_settings(owner: &Owner, params: &CaptureSettingsParams) -> Result<CaptureSettings, RequestError> {
    let switches: Vec<(&str, bool)> = [
        ("conversations", params.capture_conversations),
        ("files", params.capture_files),
        ("searches", params.capture_searches),
        ("notes", params.capture_notes),
        ("snippets", params.capture_snippets),
        ("agent_activity", params.capture_agent_activity),
        ("bookmarks", params.capture_bookmarks),
    ]
    .into_iter()
    .filter_map(|(key, on)| Some((key, on?)))
    .collect();
    let now = owner.workspace().switches().set(&switches).map_err(|error| match error {
        ConfigError::Fs(error) => RequestError::unavailable(error.to_string(), "nothing was changed"),
        error => RequestError::invalid(format!("{error}. Mend it first; nothing was changed")),
    })?;
    if switches.iter().any(|(_, on)| !on)
        && let Err(error) = owner.workspace().sweep_pending(Duration::ZERO)
    {
        tracing::warn!("what waits and is switched off now is dropped later: {error}");
    }
    Ok(shown(&now))
}

/// How captured events are.
pub(crate) fn state(capture: &Capture) -> CaptureState {
    let status = capture.status();
    CaptureState { pending: usize::try_from(status.pending).unwrap_or(usize::MAX), failure: status.failure }
}

fn shown(config: &CaptureConfig) -> CaptureSettings {
    CaptureSettings {
        capture_conversations: config.conversations,
        capture_files: config.files,
        capture_searches: config.searches,
        capture_notes: config.notes,
        capture_snippets: config.snippets,
        capture_agent_activity: config.agent_activity,
        capture_bookmarks: config.bookmarks,
    }
}
