//! The section of agents' traces.

use serde::{Deserialize, Serialize};

/// `[traces]`: what agents tell of their work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// Whether they are kept.
    pub enabled: bool,
    /// Bytes that the payload of an event may have, as JSON.
    pub max_payload_bytes: u64,
    /// After so many days they are removed; 0 means never.
    pub retention_days: u64,
    /// Events that an agent may send in a minute.
    pub events_per_minute: u32,
    /// Bytes that an agent may send in a day.
    pub max_bytes_per_day: u64,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            max_payload_bytes: 4_000_000,
            retention_days: 0,
            events_per_minute: 60_000,
            max_bytes_per_day: 10_000_000_000,
        }
    }
}

impl TracesConfig {
    /// Its numbers, each with the least and the most that it may be.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 4] {
        [
            ("traces.max_payload_bytes", self.max_payload_bytes, 1000, 15_000_000),
            ("traces.retention_days", self.retention_days, 0, 36_500),
            ("traces.events_per_minute", u64::from(self.events_per_minute), 1, 1_000_000),
            ("traces.max_bytes_per_day", self.max_bytes_per_day, 1000, 1 << 42),
        ]
    }
}
