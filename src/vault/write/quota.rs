//! How much an agent gets.

/// How much one agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Checkpoints. When there are more, its oldest go.
    pub checkpoints: usize,
    /// Their bytes on disk, likewise.
    pub checkpoint_bytes: u64,
    /// Bytes that it writes within 24 hours.
    pub written_bytes_per_day: u64,
}
