//! What everything stands on: time, paths, files, redaction, background tasks, the configuration, the state that is not derived.

pub(crate) mod address;
pub(crate) mod allocator;
#[cfg(test)]
pub(crate) mod chance;
pub mod clock;
pub mod config;
pub(crate) mod fence;
pub(crate) mod fs;
pub mod path;
pub(crate) mod redact;
pub mod state;
pub(crate) mod tasks;
