//! What a checkpoint is called.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of a checkpoint: when it was made, to the millisecond in UTC, and four digits that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckpointId(String);

/// A text that is not the name of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a checkpoint's name looks like 20260105T183000123-a1b2")]
pub struct CheckpointIdError;

impl CheckpointId {
    pub(super) fn new(at: Timestamp, salt: blake3::Hash) -> Self {
        Self(format!("{}-{}", at.strftime("%Y%m%dT%H%M%S%3f"), &salt.to_hex()[..4]))
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = CheckpointIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = b"dddddddd\x54ddddddddd-xxxx";
        let fits = text.len() == pattern.len()
            && text.bytes().zip(pattern).all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                other => byte == *other,
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(CheckpointIdError) }
    }
}

impl TryFrom<String> for CheckpointId {
    type Error = CheckpointIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CheckpointId> for String {
    fn from(id: CheckpointId) -> Self {
        id.0
    }
}
