//! The engine on a PostgreSQL server with pgvector: a copy of what the engine of this process has, kept by pushing, and read by any number of
//! servers.
//!
//! `connection` (blocking, with an end) · `sql` (all of it) · `pack` (rows of files and passages) · `push` (what differs, in transactions) ·
//! `reader` (candidates from the server, scores from the engine's own code).

mod connection;
mod pack;
mod push;
mod reader;
mod sql;

pub use connection::{Address, PostgresError};
pub use push::{Copied, Holder, PrincipalRow, PushOptions, Pusher};
pub use reader::{Backend, OpenedVault, PostgresReader};
