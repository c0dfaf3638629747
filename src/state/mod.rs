//! What cannot be derived again, in one SQLite file: whose tokens count, what agents asked, and
//! events on their way into their files.
//!
//! It is a file of its own beside the index, for its owner's eyes only. Several processes read and write it: the daemon, and
//! commands beside it. What is deleted of it is overwritten, and what it says is safe on disk when a call returns.

mod agents;
mod damage;
mod error;
mod former;
mod queue;
mod read_log;
mod schema;
mod store;
mod tokens;

pub use agents::{AgentRow, AgentTable};
pub use error::StateError;
pub use queue::{Appended, Batch, EventQueue, EventReader, Extent, NewEvent, WaitingEvent};
pub use read_log::LogTable;
pub use store::State;
pub use tokens::{TokenRow, TokenTable};
