//! A person's long-lived memory: plain Markdown in one folder, searchable the moment it is saved.
//!
//! `docs/architecture.md` shows how a saved note flows through these modules.
#![warn(missing_docs)]

pub mod access;
pub mod agents;
pub mod allocator;
pub mod api;
pub mod app;
pub mod backup;
pub mod capture;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod derive;
pub mod engine;
pub mod engine_local;
pub mod fs;
pub mod jobs;
pub mod mcp;
pub mod memory;
pub mod models;
pub mod note;
pub mod notes;
pub mod page;
pub mod path;
pub mod policy;
pub mod redact;
pub mod request;
pub mod search;
pub mod state;
pub mod sync;
pub mod vault;
pub mod wire;
