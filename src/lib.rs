//! A person's long-lived memory: plain Markdown in one folder, searchable the moment it is saved.
//!
//! `docs/architecture.md` shows how a saved note flows through these modules.
// Its documentation is for those who read the source, where what others do not use is found as well.
#![allow(rustdoc::private_intra_doc_links)]
#![warn(missing_docs)]
#![warn(unreachable_pub)]
// All that is printed goes through `cli/terminal.rs`, so that no note can steer a terminal.
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod access;
pub mod agents;
mod allocator;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
pub mod api;
pub mod app;
pub mod attachments;
mod backup;
mod capture;
#[cfg(test)]
mod chance;
pub mod cli;
pub mod clock;
pub mod config;
mod context;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
mod daemon;
pub mod derive;
pub mod engine;
pub mod engine_local;
mod entries;
mod eval;
mod extraction;
mod facts;
mod fence;
mod forgotten;
mod fs;
mod generated_files;
pub mod graph;
mod imports;
mod items;
pub mod jobs;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
mod mcp;
mod memory;
pub mod models;
pub mod note;
pub mod notes;
mod page;
pub mod path;
pub mod policy;
mod profile;
mod qmd;
mod redact;
pub mod request;
pub mod search;
mod session_export;
pub mod state;
mod summaries;
pub mod sync;
mod tasks;
mod trace_files;
mod traces;
pub mod vault;
pub mod wire;
