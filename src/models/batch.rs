//! What is said of texts that are handed over as a batch.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ContentHash;

/// Where a batch is, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace {
    /// What the vectors are made by.
    pub fingerprint: String,
    /// The service's address.
    pub endpoint: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
}

/// A file of requests.
pub struct BatchFile {
    /// As it is uploaded.
    pub form: Vec<u8>,
    /// The texts that are in it.
    pub contents: Vec<ContentHash>,
}

/// How a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    Validating,
    InProgress,
    Finalizing,
    Completed,
    Failed,
    Expired,
    Cancelling,
    Cancelled,
    /// One that was thought of later.
    #[serde(other)]
    Unknown,
}

impl BatchStatus {
    /// As the service says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::InProgress => "in_progress",
            Self::Finalizing => "finalizing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether nothing more comes of it.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Expired | Self::Cancelled)
    }
}

/// A batch as it was found.
pub struct BatchLook {
    /// How it is.
    pub status: BatchStatus,
    /// The file of answers.
    pub output: Option<String>,
    /// The file of errors.
    pub errors: Option<String>,
    /// Why it failed as a whole.
    pub problem: Option<String>,
    /// When to look again, where the service says so.
    pub pause: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_later_is_none_that_has_ended() {
        let status = |text: &str| serde_json::from_str::<BatchStatus>(text).unwrap();
        assert_eq!(status("\"in_progress\""), BatchStatus::InProgress);
        assert!(!status("\"paused\"").has_ended() && status("\"expired\"").has_ended());
    }
}
