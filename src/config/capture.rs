//! The sections of what programs send in.

use serde::{Deserialize, Serialize};

/// `[capture]`: which kinds of events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaptureConfig {
    /// Messages of conversations.
    pub conversations: bool,
    /// Which files were worked on.
    pub files: bool,
    /// What was searched for.
    pub searches: bool,
    /// Notes.
    pub notes: bool,
    /// What was put on the clipboard.
    pub snippets: bool,
    /// What agents did.
    pub agent_activity: bool,
    /// Pages.
    pub bookmarks: bool,
    /// Whether secrets are taken out before anything is written.
    pub redact: bool,
}

impl Default for CaptureConfig {
    fn default() -> Self {
        Self {
            conversations: true,
            files: true,
            searches: false,
            notes: true,
            snippets: true,
            agent_activity: true,
            bookmarks: true,
            redact: true,
        }
    }
}

/// `[retention]`: after so many days captured files go to `.trash/`; 0 means never.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    pub conversations_days: u64,
    pub files_days: u64,
    pub searches_days: u64,
    pub snippets_days: u64,
    pub agent_activity_days: u64,
    pub bookmarks_days: u64,
}
