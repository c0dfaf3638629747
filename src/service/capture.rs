//! What programs send in, and what of it is kept.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::error::ServiceError;
use super::start::Service;
use crate::access::Principal;
use crate::capture::{Capture, CaptureError};
use crate::config::{CaptureConfig, ConfigError};

/// What became of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsAccepted {
    /// Always true: those accepted are safe on disk, and in their files in a moment.
    pub ok: bool,
    /// So many were accepted.
    pub accepted: usize,
    /// So many are switched off, or were there already.
    pub ignored: usize,
}

/// How captured events are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaptureState {
    /// Accepted events that are not in their files yet.
    pub pending: usize,
    /// Why they are not, when something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CaptureSettings {
    pub capture_conversations: bool,
    pub capture_files: bool,
    pub capture_searches: bool,
    pub capture_notes: bool,
    pub capture_snippets: bool,
    pub capture_agent_activity: bool,
    pub capture_bookmarks: bool,
}

/// What is to be captured from now on; what is absent stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CaptureSettingsParams {
    pub capture_conversations: Option<bool>,
    pub capture_files: Option<bool>,
    pub capture_searches: Option<bool>,
    pub capture_notes: Option<bool>,
    pub capture_snippets: Option<bool>,
    pub capture_agent_activity: Option<bool>,
    pub capture_bookmarks: Option<bool>,
}

impl Service {
    /// Takes one event or an array of them. When it returns those accepted are safe on disk; none is when one is not right.
    ///
    /// # Errors
    /// When an event is not right, or none can be kept now.
    pub fn capture(&self, principal: &Principal, body: Value) -> Result<EventsAccepted, ServiceError> {
        let sender = match principal {
            Principal::Owner => "",
            Principal::Capture(name) => name,
            Principal::Agent(_) => return Err(ServiceError::forbidden("agents send no events; a capture token does")),
        };
        let elsewhere = || ServiceError::unavailable("no daemon serves this vault", "start `vault serve`");
        let taken = self.capture.as_ref().ok_or_else(elsewhere)?.take(body, sender);
        taken.map(|taken| EventsAccepted { ok: true, accepted: taken.accepted, ignored: taken.ignored }).map_err(
            |error| match error {
                CaptureError::Invalid(error) => ServiceError::invalid(error.to_string()),
                CaptureError::Unavailable(reason) => {
                    ServiceError::unavailable(reason, "nothing of it was taken: send it again later")
                }
            },
        )
    }

    /// What is captured.
    ///
    /// # Errors
    /// When it is not the person who asks.
    pub fn settings(&self, principal: &Principal) -> Result<CaptureSettings, ServiceError> {
        self.owner_only(principal)?;
        Ok(CaptureSettings::of(&self.switches.capture()))
    }

    /// Changes what is captured, in `memory.toml` and from now on.
    ///
    /// # Errors
    /// When `memory.toml` cannot be read or written, or is not right as it is.
    pub fn set_settings(
        &self,
        principal: &Principal,
        params: &CaptureSettingsParams,
    ) -> Result<CaptureSettings, ServiceError> {
        self.owner_only(principal)?;
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
        let now = self.switches.set(&switches).map_err(|error| match error {
            ConfigError::Fs(error) => ServiceError::unavailable(error.to_string(), "nothing was changed"),
            error => ServiceError::invalid(format!("{error}. Mend it first; nothing was changed")),
        })?;
        if switches.iter().any(|(_, on)| !on)
            && let Err(error) = self.sweep_queue(Duration::ZERO)
        {
            tracing::warn!("what waits and is switched off now is dropped later: {error}");
        }
        Ok(CaptureSettings::of(&now))
    }

    /// Takes what is in its files, and what is switched off, off the disk; gives how many events still wait there.
    pub(super) fn sweep_queue(&self, patience: Duration) -> Result<u64, CaptureError> {
        match (&self.capture, &self.lock) {
            (Some(capture), _) => capture.sweep(patience),
            (None, Some(_)) => Capture::sweep_at_rest(&self.state, &self.switches),
            (None, None) => Ok(0),
        }
    }

    /// How captured events are; nothing where no daemon takes any.
    pub(super) fn capture_state(&self) -> Option<CaptureState> {
        let status = self.capture.as_ref()?.status();
        Some(CaptureState { pending: usize::try_from(status.pending).unwrap_or(usize::MAX), failure: status.failure })
    }
}

impl CaptureSettings {
    fn of(config: &CaptureConfig) -> Self {
        Self {
            capture_conversations: config.conversations,
            capture_files: config.files,
            capture_searches: config.searches,
            capture_notes: config.notes,
            capture_snippets: config.snippets,
            capture_agent_activity: config.agent_activity,
            capture_bookmarks: config.bookmarks,
        }
    }
}
