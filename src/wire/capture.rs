//! What programs send in, and what of it is kept.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
pub(crate) struct CaptureSettings {
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
pub(crate) struct CaptureSettingsParams {
    pub capture_conversations: Option<bool>,
    pub capture_files: Option<bool>,
    pub capture_searches: Option<bool>,
    pub capture_notes: Option<bool>,
    pub capture_snippets: Option<bool>,
    pub capture_agent_activity: Option<bool>,
    pub capture_bookmarks: Option<bool>,
}
