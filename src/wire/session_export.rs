//! How sessions of other programs are kept.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::skipped::Skipped;

/// How the sessions of other programs are kept that `[[sessions]]` names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsState {
    /// How changes are noticed: `events` or `polling`; empty until the files were looked at.
    pub by: String,
    /// Why it polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Files that there are.
    pub sources: usize,
    /// Sessions that are kept in the vault.
    pub sessions: usize,
    /// Those whose files are gone; they stay until they are too old or too many.
    pub gone: usize,
    /// How often a file was begun anew: what was kept of it before stays in notes of its own.
    pub begun_anew: usize,
    /// Files that are shorter than they were: what was kept of them stays.
    pub cut_short: usize,
    /// Notes that you have edited: what comes is added to them.
    pub edited: usize,
    /// What could not be read or written, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Skipped>,
}
