//! The program from outside: the library with a deterministic embedder, and the real binary.

mod support;

mod agents;
mod annotations;
mod asking;
mod backup;
mod bad_files;
mod capture;
mod chunks;
mod cli;
mod collections;
mod concurrency;
mod conversations;
mod crash;
mod daemon;
mod damage;
mod disk;
mod docs;
mod endpoint;
mod eval;
mod forgetting;
mod fresh;
mod fuzzing;
mod large;
mod links;
mod mcp;
mod memory;
#[cfg(unix)]
mod model;
mod models;
mod page;
mod qmd;
mod reviewed;
mod search;
mod server;
mod smoke;
mod state;
mod status;
mod storms;
mod terminal;
mod torn;
mod trouble;
mod undoing;
mod watching;
mod ways_in;
mod writing;
