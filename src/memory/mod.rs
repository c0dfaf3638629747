//! What is remembered: conversations, facts, entries, summaries, the profile, and the context that is given of them.

pub(crate) mod agent;
pub(crate) mod answers;
pub(crate) mod capture;
pub(crate) mod checks;
pub(crate) mod context;
pub(crate) mod entries;
pub(crate) mod extraction;
pub(crate) mod facts;
pub(crate) mod generated_files;
pub(crate) mod imports;
pub(crate) mod items;
pub(crate) mod profile;
pub(crate) mod session_export;
pub(crate) mod summaries;
pub(crate) mod trace_files;
pub(crate) mod traces;
