//! A person's long-lived memory: plain Markdown in one folder, searchable the moment it is saved.
//!
//! `docs/architecture.md` shows how a saved note flows through these modules.
// Its documentation is for those who read the source, where what others do not use is found as well.
#![allow(rustdoc::private_intra_doc_links)]
#![warn(missing_docs)]
#![warn(unreachable_pub)]
// All that is printed goes through `cli/terminal.rs`, so that no note can steer a terminal.
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]
// What engines share, and one of them alone uses.
#![cfg_attr(not(feature = "postgres"), allow(dead_code, unused_imports))]

pub mod access;
pub mod base;
pub mod cli;
pub mod index;
pub mod memory;
pub mod models;
pub mod serve;
pub mod text;
pub mod vault;
